// Makes the bundle as it is deployed, in dist/: one minified script, and the core's modules.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import binaryen from "binaryen";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const [main, ...ties] = ["core.core.wasm", "core.core2.wasm", "core.core3.wasm"];

const core = dirname(fileURLToPath(import.meta.resolve("onewindow/core")));
if (!existsSync(join(core, main))) {
  execFileSync("npm", ["run", "build"], { cwd: dirname(core), stdio: "inherit" });
}
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const module = (name) => [`onewindow/core/${name}`, `./${name}`];
await build({
  entryPoints: [join(here, "src/index.ts")],
  outfile: join(dist, "worker.js"),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker"],
  alias: Object.fromEntries([main, ...ties].map(module)),
  external: ["*.wasm"],
});
writeFileSync(join(dist, main), used(readFileSync(join(core, main))));
for (const name of ties) copyFileSync(join(core, name), join(dist, name));

const gzip = (names) => names.reduce((sum, name) => sum + gzipSync(readFileSync(join(dist, name)), { level: 9 }).length, 0);
/** Bytes, gzipped: our script with the glue, and the core's modules. */
export const sizes = { script: gzip(["worker.js"]), core: gzip([main, ...ties]) };
const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
console.log(`bundle, gzipped: ${kb(sizes.script + sizes.core)} = script ${kb(sizes.script)} + core ${kb(sizes.core)}`);

/** The module without what the Worker never calls: it takes, settles and looks. */
function used(bytes) {
  const unused = /quota\/(window|cascade)@|#decode-item$/;
  const module = binaryen.readBinary(bytes);
  module.setFeatures(binaryen.Features.All);
  for (const { name } of WebAssembly.Module.exports(new WebAssembly.Module(bytes))) {
    // What ends a resource is tied to the glue.
    if (unused.test(name) && !name.includes("[dtor]")) module.removeExport(name);
  }
  binaryen.setOptimizeLevel(2);
  binaryen.setShrinkLevel(2);
  module.optimize();
  return module.emitBinary();
}
