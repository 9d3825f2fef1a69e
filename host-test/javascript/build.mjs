// Makes core/ out of the component: its wasm, the glue that carries values across, and the types.
//
//   node build.mjs [COMPONENT]
//
// Without a component, the checkout around this folder is asked for the one it builds. The licences are
// copied beside core/: npm packs no links.
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transpile } from "@bytecodealliance/jco";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "core");

async function fromCheckout() {
  const scratch = await mkdtemp(join(tmpdir(), "onewindow-"));
  try {
    const file = join(scratch, "onewindow.wasm");
    const cargo = ["run", "--release", "--quiet", "--package", "onewindow-cli", "--", "component", file];
    execFileSync("cargo", cargo, { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
    return await readFile(file);
  } finally {
    await rm(scratch, { recursive: true });
  }
}

const component = process.argv[2] ? await readFile(process.argv[2]) : await fromCheckout();
// Compiled modules are handed in, never bytes: a Worker may not compile at run time.
const { files } = await transpile(component, {
  name: "core",
  instantiation: "sync",
  nodejsCompat: false,
  minify: true,
});
await rm(out, { recursive: true, force: true });
for (const [name, bytes] of Object.entries(files)) {
  await mkdir(dirname(join(out, name)), { recursive: true });
  await writeFile(join(out, name), bytes);
  console.log(`core/${name}: ${bytes.length} bytes`);
}
for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) {
  await copyFile(join(here, "../..", licence), join(here, licence));
}
