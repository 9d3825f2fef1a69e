// A caller's request in JavaScript's types, and as the contract has it.

import type { AcquireRequest, Amount, Limit, Subject } from "./core.js";
import { InvalidRequest, text, u64 } from "./number.js";

/** A whole number: exact as it is up to 2^53 - 1, a bigint above. */
export type Whole = number | bigint;

/** A limit: a session quota, or a dripping one (a token bucket). */
export type LimitInput =
  | { name: string; capacity: Whole; resetAfterSeconds: Whole }
  | { name: string; capacity: Whole; refillAmount: Whole; refillPeriodSeconds: Whole };

export interface AcquireInput {
  subject: Subject;
  /** Tokens by limit, all or nothing. All 0: a question, answered from a read. */
  consume: Readonly<Record<string, Whole>>;
  limits?: readonly LimitInput[];
  /** Whether `limits` is the truth of this moment (R15). */
  authoritative?: boolean;
  /** Whether items made by this request live forever. */
  permanent?: boolean;
}

/** Checks the types; the core checks names and bounds. Throws `InvalidRequest`. */
export function acquireRequest(input: AcquireInput): Omit<AcquireRequest, "seed" | "hint"> {
  return {
    subject: subject(input.subject),
    consume: amounts(input.consume),
    limits: limits(input.limits),
    authoritative: input.authoritative === true,
    permanent: input.permanent === true,
  };
}

export function subject({ table, namespace, entity, resource }: Subject): Subject {
  return {
    table: text(table, "the table"),
    namespace: text(namespace, "the namespace"),
    entity: text(entity, "the entity"),
    resource: text(resource, "the resource"),
  };
}

/** Tokens by limit, as the contract has them. */
export function amounts(consume: Readonly<Record<string, Whole>>): Amount[] {
  return Object.entries(consume).map(([limit, tokens]) => ({
    limit,
    tokens: u64(tokens, `the amount of limit ${JSON.stringify(limit)}`),
  }));
}

/** Configured limits, as the contract has them. */
export function limits(inputs: readonly LimitInput[] = []): Limit[] {
  return inputs.map((input) => {
    const name = text(input.name, "a limit's name");
    const of = (key: string) => u64((input as Record<string, unknown>)[key], `${key} of limit ${JSON.stringify(name)}`);
    const session = "resetAfterSeconds" in input;
    if (session === "refillAmount" in input || session === "refillPeriodSeconds" in input) {
      throw new InvalidRequest(
        `limit ${JSON.stringify(name)}: expected either resetAfterSeconds, or refillAmount and refillPeriodSeconds`,
      );
    }
    return {
      name,
      capacity: of("capacity"),
      recovery: session
        ? { tag: "session", val: of("resetAfterSeconds") }
        : { tag: "drip", val: { refillAmount: of("refillAmount"), refillPeriodSeconds: of("refillPeriodSeconds") } },
    };
  });
}
