// A real DynamoDB for the tests: the embedded engine of the checkout.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Starts it on a free port; its address, and a way to end it. */
export async function dynamodb() {
  // The command as it is installed or built, where ONEWINDOW says; else the checkout's.
  const cargo = ["cargo", "run", "--release", "--quiet", "--package", "onewindow-cli", "--"];
  const [program, ...before] = process.env.ONEWINDOW ? [process.env.ONEWINDOW] : cargo;
  const child = spawn(program, [...before, "dynamodb", "--listen", "127.0.0.1:0"], {
    cwd: dirname(fileURLToPath(import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Its first line: `listening http://127.0.0.1:PORT`.
  const [line] = await once(createInterface(child.stdout), "line");
  return { endpoint: line.replace("listening ", ""), stop: () => child.kill() };
}
