import { render } from "preact";
import { loadCore } from "onewindow/browser";
import { App } from "./ui/app.js";

const root = document.getElementById("app")!;
try {
  const core = await loadCore("./");
  root.replaceChildren();
  render(<App core={core} />, root);
} catch (error) {
  const told = document.createElement("p");
  told.setAttribute("role", "alert");
  told.textContent = `The page could not start: ${error instanceof Error ? error.message : error}`;
  root.append(told);
}
