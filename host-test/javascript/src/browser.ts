// A page: the modules are fetched.

import { Core, MODULES, type Modules } from "./core.js";
import { Inspect, INSPECT_MODULES, type InspectModules } from "./inspect.js";

/** The core, compiled from the files in `folder`; default: where this package has them. */
export async function loadCore(folder: string | URL = new URL("../core/", import.meta.url)): Promise<Core> {
  return new Core((await compiled(folder, MODULES)) as Modules);
}

/** The pure functions, compiled from the files in `folder`; default: where this package has them. */
export async function loadInspect(folder: string | URL = new URL("../inspect/", import.meta.url)): Promise<Inspect> {
  return new Inspect((await compiled(folder, INSPECT_MODULES)) as InspectModules);
}

async function compiled(folder: string | URL, names: readonly string[]): Promise<Record<string, WebAssembly.Module>> {
  const base = new URL(folder, globalThis.location?.href);
  const modules = names.map(async (name) => {
    const response = await fetch(new URL(name, base));
    if (!response.ok) throw new Error(`${response.url} answers ${response.status}, expected a module of the core`);
    return [name, await WebAssembly.compile(await response.arrayBuffer())] as const;
  });
  return Object.fromEntries(await Promise.all(modules));
}
