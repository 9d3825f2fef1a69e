// Builds the page into dist/: static files, to be put on any server.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import binaryen from "binaryen";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
/** All of the page, gzipped, bytes. */
const MOST = 150 * 1024;

const core = dirname(fileURLToPath(import.meta.resolve("onewindow/core")));
const library = fileURLToPath(import.meta.resolve("onewindow"));
if (!existsSync(join(core, "core.core.wasm")) || !existsSync(library)) {
  execFileSync("npm", ["run", "build"], { cwd: dirname(core), stdio: "inherit" });
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await build({
  entryPoints: [join(here, "src/main.tsx"), join(here, "src/style.css")],
  outdir: dist,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", name), join(dist, name));
for (const name of readdirSync(core).filter((name) => name.endsWith(".wasm"))) copyFileSync(join(core, name), join(dist, name));
writeFileSync(join(dist, "inspect.core.wasm"), used(readFileSync(join(core, "../inspect/inspect.core.wasm"))));

const sizes = readdirSync(dist).map((name) => [name, gzipSync(readFileSync(join(dist, name)), { level: 9 }).length]);
const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
console.log(`dist/, gzipped: ${kb(total)} = ${sizes.map(([name, bytes]) => `${name} ${kb(bytes)}`).join(" + ")}`);
if (total > MOST) {
  console.error(`the page may have ${kb(MOST)} gzipped`);
  process.exit(1);
}

/** The component of the pure functions, without those that the page never calls: it decodes items. */
function used(bytes) {
  const module = binaryen.readBinary(bytes);
  module.setFeatures(binaryen.Features.All);
  for (const { name } of WebAssembly.Module.exports(new WebAssembly.Module(bytes))) {
    if (/quota\/rules@/.test(name) && !name.endsWith("#decode-item")) module.removeExport(name);
  }
  binaryen.setOptimizeLevel(2);
  binaryen.setShrinkLevel(2);
  module.optimize();
  return module.emitBinary();
}
