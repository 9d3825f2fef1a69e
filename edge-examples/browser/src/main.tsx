import { render } from "preact";
import { loadCore } from "onewindow/browser";
import { App } from "./ui/app.js";

const root = document.getElementById("app")!;
try {
  const core = await loadCore("./");
  root.replaceChildren();
  render(<App core={core} />, root);
} catch (error) {
  const alert = document.createElement("p");
  alert.setAttribute("role", "alert");
  alert.textContent = `The page could not start: ${error instanceof Error ? error.message : error}`;
  root.append(alert);
}
