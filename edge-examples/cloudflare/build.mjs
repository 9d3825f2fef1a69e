// Bundles the Worker as it is deployed: one minified script, and the core's modules beside it.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const modules = ["core.core.wasm", "core.core2.wasm", "core.core3.wasm"];

const core = dirname(fileURLToPath(import.meta.resolve("onewindow/core")));
if (!existsSync(join(core, modules[0]))) {
  execFileSync("npm", ["run", "build"], { cwd: dirname(core), stdio: "inherit" });
}
mkdirSync(dist, { recursive: true });
await build({
  entryPoints: [join(here, "src/index.ts")],
  outfile: join(dist, "worker.js"),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker"],
  external: ["*.wasm"],
});
for (const name of modules) copyFileSync(join(core, name), join(dist, name));

const gzip = (names) => names.reduce((sum, name) => sum + gzipSync(readFileSync(join(dist, name)), { level: 9 }).length, 0);
/** Bytes, gzipped: our script with the glue, and the core's modules. */
export const sizes = { script: gzip(["worker.js"]), core: gzip(modules) };
const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
console.log(`bundle, gzipped: ${kb(sizes.script + sizes.core)} = script ${kb(sizes.script)} + core ${kb(sizes.core)}`);
