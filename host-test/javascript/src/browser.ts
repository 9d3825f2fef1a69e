// A page: the modules are fetched.

import { Core, MODULES, type Modules } from "./core.js";

/** The core, compiled from the files in `folder`; default: where this package has them. */
export async function loadCore(folder: string | URL = new URL("../core/", import.meta.url)): Promise<Core> {
  const base = new URL(folder, globalThis.location?.href);
  const compiled = MODULES.map(async (name) => {
    const response = await fetch(new URL(name, base));
    if (!response.ok) throw new Error(`${response.url} answers ${response.status}, expected a module of the core`);
    return [name, await WebAssembly.compile(await response.arrayBuffer())] as const;
  });
  return new Core(Object.fromEntries(await Promise.all(compiled)) as Modules);
}
