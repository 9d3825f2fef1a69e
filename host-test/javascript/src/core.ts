// The core: an instance of the component. After a fault it is replaced.

import { instantiate, type Root } from "../core/core.js";
import type { Error as ContractError, ErrorCode } from "../core/interfaces/onewindow-quota-types.js";

export type * from "../core/interfaces/onewindow-quota-types.js";
export type { Settlement } from "../core/interfaces/onewindow-quota-settle.js";
export type {
  LimitPreview,
  PreviewOutcome,
  PreviewReport,
  ShardView,
  WindowState,
} from "../core/interfaces/onewindow-quota-preview.js";
export type { Grant, LimitMaterialisation, Materialisation, Sibling } from "../core/interfaces/onewindow-quota-window.js";
export type { Classification, LimitState, ShardState } from "../core/interfaces/onewindow-quota-wire.js";

/** The component's exports: its whole contract, the pure functions too. */
export type Exports = Root;

/** The files of the component's modules: itself, and two of a few bytes that tie it to the glue. */
export const MODULES = ["core.core.wasm", "core.core2.wasm", "core.core3.wasm"] as const;

/** Those modules, compiled. */
export type Modules = Readonly<Record<(typeof MODULES)[number], WebAssembly.Module>>;

/** The error of a pure function, as the contract has it: the request or the item is at fault. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly code: ErrorCode;

  constructor({ code, message }: ContractError) {
    super(message);
    this.code = code;
  }
}

/** The core failed: a fault of this package, or memory ran out. */
export class CoreFault extends Error {
  override name = "CoreFault";
}

/**
 * The core, ready for calls.
 *
 * After a fault the instance may be in any state. It is dropped together with the machines on it, and
 * the next call gets a new instance.
 */
export class Core {
  readonly #modules: Modules;
  #exports: Exports | undefined;

  constructor(modules: Modules) {
    this.#modules = modules;
  }

  /**
   * Calls the component, the pure functions too. Throws a `Refusal` where that is its answer, and a
   * `CoreFault` where it failed.
   */
  call<T>(use: (exports: Exports) => T): T {
    const exports = (this.#exports ??= this.#instantiate());
    try {
      return use(exports);
    } catch (error) {
      // The glue throws what the contract calls an error.
      if (error instanceof Error && "payload" in error) throw new Refusal(error.payload as ContractError);
      this.#exports = undefined;
      throw new CoreFault(`the core failed: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** A machine on the present instance. It ends when that instance is dropped. */
  begin<M extends object>(make: (exports: Exports) => M): Running<M> {
    const machine = this.call(make);
    const origin = this.#exports;
    return {
      call: (use) => {
        if (this.#exports !== origin) throw new CoreFault("the core failed on another request");
        return this.call(() => use(machine));
      },
      end: () => {
        if (this.#exports === origin) (machine as Record<symbol, () => void>)[DISPOSE]?.();
      },
    };
  }

  #instantiate(): Exports {
    return instantiate((name) => {
      const module = (this.#modules as Record<string, WebAssembly.Module | undefined>)[name];
      if (!module) throw new TypeError(`the module ${name} is missing, expected it compiled`);
      return module;
    }, {});
  }
}

/** A machine under way. */
export interface Running<M> {
  call<T>(use: (machine: M) => T): T;
  /** Frees its memory. */
  end(): void;
}

// As the glue names it, where the platform has no name for it yet.
const DISPOSE = (Symbol as { dispose?: symbol }).dispose ?? Symbol.for("dispose");
