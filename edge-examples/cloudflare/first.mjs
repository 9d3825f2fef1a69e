// Measures what the first request meets: workerd is started ten times, with the Worker and with one that
// does nothing. Prints medians, and the least and the most.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import "./build.mjs";
import { dynamodb, workerd } from "./local.mjs";

const TIMES = 10;
const EMPTY = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (compatibilityDate = "2026-01-01", modules = [
    (name = "worker.js", esModule = "export default { fetch: () => new Response() }")]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]);
`;

const folder = mkdtempSync(join(tmpdir(), "onewindow-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
const empty = join(folder, "empty.capnp");
writeFileSync(empty, EMPTY);
const endpoint = await dynamodb();
let entity = 0;

/** Milliseconds that acquiring for an entity that is new takes, on a connection of its own. */
async function ask(port) {
  const since = performance.now();
  const asked = request({ port, host: "127.0.0.1", path: "/acquire", method: "POST", agent: false });
  asked.end(JSON.stringify({ entity: `user-${entity++}`, resource: "gpt-4", consume: { session: 1 } }));
  const [answer] = await once(asked, "response");
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
  answer.resume();
  await once(answer, "end");
  return performance.now() - since;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await once(server.close(), "close");
  return port;
}

async function listens(port) {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const there = await once(socket, "connect").then(() => true, () => false);
    socket.destroy();
    if (there) return;
    await sleep(1);
  }
}

/** Starts workerd, asks it three times, ends it. */
async function measure(config) {
  const port = await freePort();
  const since = performance.now();
  const child = workerd(`127.0.0.1:${port}`, endpoint, { config, stdio: "ignore" });
  await listens(port);
  const first = await ask(port);
  const start = performance.now() - since;
  const [second, third] = [await ask(port), await ask(port)];
  child.kill();
  await once(child, "exit");
  return { start, first, second, third };
}

/** So often, each after the other; what each measured, in order of size. */
async function measured(config) {
  const runs = [];
  while (runs.length < TIMES) runs.push(await measure(config));
  return (name) => runs.map((run) => run[name]).sort((one, other) => one - other);
}

// Once before it counts: files are read, and this client and the table have warmed up.
await measure();
const workers = [["the Worker", await measured()], ["nothing", await measured(empty)]];
const cells = (...cells) => cells.map((cell, index) => (index ? cell.padStart(9) : cell.padEnd(50))).join("");
console.log(`\n${cells("milliseconds", "median", "least", "most")}`);
for (const [what, name] of [
  ["start of workerd to the first answer", "start"],
  ["first request", "first"],
  ["second request", "second"],
  ["third request", "third"],
]) {
  for (const [worker, all] of workers) {
    const sorted = all(name);
    const median = (sorted[TIMES / 2 - 1] + sorted[TIMES / 2]) / 2;
    console.log(cells(`${what}: ${worker}`, ...[median, sorted[0], sorted[TIMES - 1]].map((ms) => ms.toFixed(1))));
  }
}
process.exit();
