// Node: the modules are read from this package's files.

import { readFileSync } from "node:fs";
import { Core, type Modules } from "./core.js";

/** The core, compiled from the files beside this one. */
export function loadCore(): Core {
  const names = ["core.core.wasm", "core.core2.wasm", "core.core3.wasm"];
  const compiled = names.map((name) => {
    const bytes = readFileSync(new URL(`../core/${name}`, import.meta.url));
    return [name, new WebAssembly.Module(bytes)] as const;
  });
  return new Core(Object.fromEntries(compiled) as Modules);
}
