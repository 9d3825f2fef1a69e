// The code of the README runs as it is written, on a local endpoint.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { dynamodb } from "./kit.mjs";

const folder = new URL("..", import.meta.url);
let database;

before(async () => (database = await dynamodb()));
after(() => database.stop());

const readme = await readFile(new URL("README.md", folder), "utf8");
const [enforces, inspects, ...more] = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);

const run = (code) => {
  const program = code.replace('"http://127.0.0.1:8000"', JSON.stringify(database.endpoint));
  const node = ["--input-type=module", "--eval", program];
  return execFileSync(process.execPath, node, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
};

test("the README's limiter", () => {
  assert.equal(more.length, 0);
  assert.match(run(enforces), /^true admitted\n.*available: 99n/s);
});

test("the README's pure functions", () => {
  assert.match(run(inspects), /available: 70n.*true UpdateItem.*name: 'tk'/s);
});
