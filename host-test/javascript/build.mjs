// Makes core/ and inspect/ out of the two components: the wasm of each, the glue that carries values across,
// and the types.
//
//   node build.mjs [QUOTA INSPECT]
//
// Without components, the checkout around this folder is asked for the ones it builds. The licences are
// copied beside them: npm packs no links.
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transpile } from "@bytecodealliance/jco";

const here = dirname(fileURLToPath(import.meta.url));

async function fromCheckout() {
  const scratch = await mkdtemp(join(tmpdir(), "onewindow-"));
  const command = ["run", "--release", "--quiet", "--package", "onewindow-cli", "--", "component"];
  const written = (name, ...world) => {
    const file = join(scratch, name);
    execFileSync("cargo", [...command, ...world, file], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
    return readFile(file);
  };
  try {
    return [await written("quota.wasm"), await written("inspect.wasm", "--world", "inspect")];
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** Makes the folder `name` out of a component. */
async function make(name, component) {
  const out = join(here, name);
  // Compiled modules are handed in, never bytes: a Worker may not compile at run time.
  const { files } = await transpile(component, { name, instantiation: "sync", nodejsCompat: false, minify: true });
  await rm(out, { recursive: true, force: true });
  for (const [file, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(out, file)), { recursive: true });
    await writeFile(join(out, file), bytes);
    console.log(`${name}/${file}: ${bytes.length} bytes`);
  }
}

const given = process.argv.slice(2);
if (given.length !== 0 && given.length !== 2) throw new Error("expected two components, QUOTA and INSPECT, or none");
const [quota, inspect] = given.length === 2 ? await Promise.all(given.map((file) => readFile(file))) : await fromCheckout();
await make("core", quota);
await make("inspect", inspect);
for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) {
  await copyFile(join(here, "../..", licence), join(here, licence));
}
