// A real DynamoDB for the tests: the embedded engine of the checkout.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Starts it on a free port; its address, and a way to end it. */
export async function dynamodb() {
  const cargo = ["run", "--release", "--quiet", "--package", "onewindow-host", "--", "dynamodb", "--listen", "127.0.0.1:0"];
  const child = spawn("cargo", cargo, {
    cwd: dirname(fileURLToPath(import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Its first line: `listening http://127.0.0.1:PORT`.
  const [line] = await once(createInterface(child.stdout), "line");
  return { endpoint: line.replace("listening ", ""), stop: () => child.kill() };
}
