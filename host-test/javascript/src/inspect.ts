// The component of the world `inspect`: the rules as pure functions of stored items, for tools and pages.

import { instantiate, type Root } from "../inspect/inspect.js";
import { Component } from "./component.js";

export type {
  Grant,
  Item,
  ItemLimit,
  LimitMaterialisation,
  Materialisation,
  NamedNumber,
  Sibling,
} from "../inspect/interfaces/onewindow-quota-rules.js";

/** The component's exports. */
export type InspectExports = Root;

/** The files of the component's modules. */
export const INSPECT_MODULES = ["inspect.core.wasm"] as const;

/** Those modules, compiled. */
export type InspectModules = Readonly<Record<(typeof INSPECT_MODULES)[number], WebAssembly.Module>>;

/** The rules, ready for calls: `inspect.call(({ rules }) => rules.survey(…))`. */
export class Inspect extends Component<InspectExports> {
  constructor(modules: InspectModules) {
    super(instantiate, modules);
  }
}
