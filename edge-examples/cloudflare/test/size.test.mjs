// The bundle as it is deployed must not grow: 50 KB are the aim, and the core alone is above it yet.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sizes } from "../build.mjs";

const KB = 1024;
// The script is this folder's and the package's; the core's modules are as the checkout builds them.
const CEILINGS = { script: 22 * KB, core: 72 * KB };

for (const [part, ceiling] of Object.entries(CEILINGS)) {
  test(`the ${part} is at most ${ceiling} bytes, gzipped`, () => {
    assert.ok(sizes[part] <= ceiling, `${sizes[part]} bytes`);
  });
}
