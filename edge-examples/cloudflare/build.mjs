// Makes the bundle as it is deployed, in dist/: a minified script, the glue, and the core's modules. Says
// what its bytes are.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
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
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
// A module of its own, as small as jco makes it: minified once more with the rest, it gzips to half a KB more.
const glue = {
  name: "glue",
  setup: ({ onResolve }) => onResolve({ filter: /\/core\/core\.js$/ }, () => ({ path: "./core.js", external: true })),
};
const script = (external, write) =>
  build({
    entryPoints: [join(here, "src/index.ts")],
    outfile: join(dist, "worker.js"),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker"],
    alias: Object.fromEntries(modules.map((name) => [`onewindow/core/${name}`, `./${name}`])),
    plugins: [glue],
    external,
    write,
  });
await script(["*.wasm"], true);
for (const name of ["core.js", ...modules]) copyFileSync(join(core, name), join(dist, name));

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length;
const files = (...names) => names.reduce((sum, name) => sum + gzip(readFileSync(join(dist, name))), 0);
const own = gzip((await script(["*.wasm", "aws4fetch"], false)).outputFiles[0].contents);
/** Bytes, gzipped: the core's modules, jco's glue around them, the signer, and our own code. */
export const sizes = { core: files(...modules), glue: files("core.js"), aws4fetch: files("worker.js") - own, own };
const row = (name, bytes) => console.log(`${name.padEnd(10)}${(bytes / 1024).toFixed(1).padStart(6)} KB gzipped`);
for (const [name, bytes] of Object.entries(sizes)) row(name, bytes);
row("bundle", Object.values(sizes).reduce((sum, bytes) => sum + bytes));
