import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const folder = new URL("..", import.meta.url);

test("the package has all that it exports, the licences, and nothing besides", async () => {
  const { exports } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
  const exported = Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : Object.values(entry)));
  const due = [
    ...["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"],
    ...["core/core.core.wasm", "inspect/inspect.core.wasm"],
    ...exported.map((path) => path.replace("./", "")),
  ];
  const npm = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const [{ files }] = JSON.parse(execFileSync("npm", npm, { cwd: folder, encoding: "utf8" }));
  const packed = files.map(({ path }) => path);
  assert.deepEqual(due.filter((path) => !packed.includes(path)), []);
  const made = /^((core|inspect)\/.+\.wasm|(core|inspect|dist)\/.+(\.js|\.d\.ts))$/;
  assert.deepEqual(packed.filter((path) => !made.test(path) && !due.includes(path)), []);
});
