// Node: the modules are read from this package's files.

import { readFileSync } from "node:fs";
import { Core, MODULES, type Modules } from "./core.js";
import { Inspect, INSPECT_MODULES, type InspectModules } from "./inspect.js";

/** The core, compiled from this package's files. */
export function loadCore(): Core {
  return new Core(compiled("core", MODULES) as Modules);
}

/** The pure functions, compiled from this package's files. */
export function loadInspect(): Inspect {
  return new Inspect(compiled("inspect", INSPECT_MODULES) as InspectModules);
}

function compiled(folder: string, names: readonly string[]): Record<string, WebAssembly.Module> {
  const read = (name: string) => readFileSync(new URL(`../${folder}/${name}`, import.meta.url));
  return Object.fromEntries(names.map((name) => [name, new WebAssembly.Module(read(name))]));
}
