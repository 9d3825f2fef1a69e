// The bundle as it is deployed must stay small. The script is this folder's and the package's; the
// core's modules are as the checkout builds them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sizes } from "../build.mjs";

const KB = 1024;
const CEILINGS = { script: 30 * KB, core: 152 * KB };

for (const [part, ceiling] of Object.entries(CEILINGS)) {
  test(`the ${part} is at most ${ceiling} bytes, gzipped`, () => {
    assert.ok(sizes[part] <= ceiling, `${sizes[part]} bytes`);
  });
}
