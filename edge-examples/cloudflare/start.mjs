// Runs the Worker here: bundles it, starts an embedded DynamoDB from the checkout, and workerd.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import "./build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const children = [];
const run = (command, args, options) => {
  const child = spawn(command, args, { cwd: here, ...options });
  child.on("exit", (code) => process.exit(code ?? 0));
  children.push(child);
  return child;
};
process.on("exit", () => children.forEach((child) => child.kill()));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));

// Its first line says where it is: `listening http://127.0.0.1:PORT`.
const cargo = ["run", "--release", "--quiet", "--package", "onewindow-host", "--", "dynamodb", "--listen", "127.0.0.1:0"];
const database = run("cargo", cargo, { stdio: ["ignore", "pipe", "inherit"] });
const first = await new Promise((resolve) => createInterface(database.stdout).once("line", resolve));

const address = "127.0.0.1:8787";
const workerd = fileURLToPath(import.meta.resolve("@cloudflare/workerd-linux-64/bin/workerd"));
run(workerd, ["serve", "workerd.capnp", `--socket-addr=http=${address}`], {
  stdio: "inherit",
  env: {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "any",
    AWS_SECRET_ACCESS_KEY: "any",
    TABLE: "onewindow",
    NAMESPACE: "default",
    LIMITS: JSON.stringify([{ name: "session", capacity: 100, reset_after_seconds: 18_000 }]),
    ...process.env,
    DYNAMODB_ENDPOINT: first.replace("listening ", ""),
  },
});
console.log(`the Worker is on http://${address}; Ctrl-C ends it. Ask it:
  curl -i http://${address}/acquire -d '{"entity":"user-1","resource":"gpt-4","consume":{"session":1}}'`);
