import { render } from "preact";
import { loadCore, loadInspect } from "onewindow/browser";
import { App } from "./ui/app.js";

const root = document.getElementById("app")!;
try {
  const [core, inspect] = await Promise.all([loadCore("./"), loadInspect("./")]);
  root.replaceChildren();
  render(<App engine={{ core, inspect }} />, root);
} catch (error) {
  const alert = document.createElement("p");
  alert.setAttribute("role", "alert");
  alert.textContent = `The page could not start: ${error instanceof Error ? error.message : error}`;
  root.append(alert);
}
