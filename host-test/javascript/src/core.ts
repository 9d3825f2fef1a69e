// The core: the component of the world `quota`, which enforces limits.

import { instantiate, type Root } from "../core/core.js";
import { Component } from "./component.js";

export type * from "../core/interfaces/onewindow-quota-types.js";
export type {
  Classification,
  Ending,
  Machine,
  Previewed,
  Settled,
  Step,
} from "../core/interfaces/onewindow-quota-enforce.js";

/** The component's exports. */
export type Exports = Root;

/** The files of the component's modules: itself, and two of a few bytes that tie it to the glue. */
export const MODULES = ["core.core.wasm", "core.core2.wasm", "core.core3.wasm"] as const;

/** Those modules, compiled. */
export type Modules = Readonly<Record<(typeof MODULES)[number], WebAssembly.Module>>;

/** The core, ready for calls. */
export class Core extends Component<Exports> {
  constructor(modules: Modules) {
    super(instantiate, modules);
  }
}
