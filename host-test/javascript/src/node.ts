// Node: the modules are read from this package's files.

import { readFileSync } from "node:fs";
import { Core, MODULES, type Modules } from "./core.js";

/** The core, compiled from the files beside this one. */
export function loadCore(): Core {
  const compiled = MODULES.map((name) => {
    const bytes = readFileSync(new URL(`../core/${name}`, import.meta.url));
    return [name, new WebAssembly.Module(bytes)] as const;
  });
  return new Core(Object.fromEntries(compiled) as Modules);
}
