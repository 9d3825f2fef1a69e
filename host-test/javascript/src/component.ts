// A component: its compiled modules, and one instance of them at a time. After a fault it is replaced.

import type { Error as ContractError, ErrorCode } from "../core/interfaces/onewindow-quota-types.js";

/** The error of a function of the contract: the request or the item is at fault. */
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

/** Makes an instance; the glue's own function. */
export type Instantiate<Exports> = (module: (name: string) => WebAssembly.Module, imports: object) => Exports;

/**
 * A component, ready for calls.
 *
 * After a fault the instance may be in any state. It is dropped together with the machines on it, and
 * the next call gets a new instance.
 */
export class Component<Exports> {
  readonly #make: () => Exports;
  #exports: Exports | undefined;

  constructor(instantiate: Instantiate<Exports>, modules: Readonly<Record<string, WebAssembly.Module | undefined>>) {
    const module = (name: string) => {
      const module = modules[name];
      if (!module) throw new TypeError(`the module ${name} is missing, expected it compiled`);
      return module;
    };
    this.#make = () => instantiate(module, {});
  }

  /**
   * Calls the component. Throws a `Refusal` where that is its answer, and a `CoreFault` where it failed.
   */
  call<T>(use: (exports: Exports) => T): T {
    const exports = (this.#exports ??= this.#make());
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
}

/** A machine under way. */
export interface Running<M> {
  call<T>(use: (machine: M) => T): T;
  /** Frees its memory. */
  end(): void;
}

// As the glue names it, where the platform has no name for it yet.
const DISPOSE = (Symbol as { dispose?: symbol }).dispose ?? Symbol.for("dispose");
