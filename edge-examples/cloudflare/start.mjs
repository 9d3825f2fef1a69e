// Runs the Worker here: bundles it, starts an embedded DynamoDB from the checkout, and workerd.
import "./build.mjs";
import { dynamodb, workerd } from "./local.mjs";

const address = "127.0.0.1:8787";
workerd(address, await dynamodb()).on("exit", (code) => process.exit(code ?? 0));
console.log(`the Worker is on http://${address}; Ctrl-C ends it. Ask it:
  curl -i http://${address}/acquire -d '{"entity":"user-1","resource":"gpt-4","consume":{"session":1}}'`);
