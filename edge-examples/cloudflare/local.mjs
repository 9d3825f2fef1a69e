// What runs here: an embedded DynamoDB from the checkout, and workerd. Both end with this process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const program = fileURLToPath(import.meta.resolve("@cloudflare/workerd-linux-64/bin/workerd"));
const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill()));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));

function run(command, args, options) {
  const child = spawn(command, args, { cwd: here, ...options });
  children.add(child);
  child.on("exit", () => children.delete(child));
  return child;
}

/** Starts the engine on a free port; says its endpoint. */
export async function dynamodb() {
  // The command as it is installed or built, where ONEWINDOW says; else the checkout's.
  const cargo = ["cargo", "run", "--release", "--quiet", "--package", "onewindow-cli", "--"];
  const [command, ...before] = process.env.ONEWINDOW ? [process.env.ONEWINDOW] : cargo;
  const child = run(command, [...before, "dynamodb", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  child.on("exit", (code) => process.exit(code ?? 1));
  // Its first line: `listening http://127.0.0.1:PORT`.
  const [line] = await once(createInterface(child.stdout), "line");
  return line.replace("listening ", "");
}

/** Starts workerd on `address` and the table at `endpoint`; the bundle, or what another configuration names. */
export function workerd(address, endpoint, { config = "workerd.capnp", stdio = "inherit" } = {}) {
  return run(program, ["serve", config, `--socket-addr=http=${address}`], {
    stdio,
    env: {
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "any",
      AWS_SECRET_ACCESS_KEY: "any",
      TABLE: "onewindow",
      NAMESPACE: "default",
      LIMITS: JSON.stringify([{ name: "session", capacity: 100, reset_after_seconds: 18_000 }]),
      ...process.env,
      DYNAMODB_ENDPOINT: endpoint,
    },
  });
}
