// The two components of the contract, and the few things the page asks of them.

import {
  Refusal,
  type AcquireRequest,
  type Amount,
  type Call,
  type Core,
  type Decision,
  type Ending,
  type Exports,
  type Hint,
  type Limit,
  type Machine,
  type PreviewReport,
  type Reply,
  type Subject,
} from "onewindow";
import type { Inspect, NamedNumber } from "onewindow/inspect";
import type { Item } from "./item.js";
import { Table, type Made } from "./table.js";

/** What decides, and what reads an item. */
export interface Engine {
  core: Core;
  inspect: Inspect;
}

/** One bucket: the items of one entity and resource. */
export interface Bucket {
  subject: Subject;
  items: Item[];
}

/** What is left at an instant. */
export interface View {
  report: PreviewReport;
  hint: Hint;
}

/** The core says no; its own words. */
export class Refused extends Error {
  override name = "Refused";
}

/** Runs a machine to its end; `make` makes the calls of one round. */
function run(core: Core, start: (exports: Exports) => Machine, nowMs: number, make: (calls: Call[]) => Reply[]): Ending {
  const machine = core.begin(start);
  try {
    let replies: Reply[] = [];
    for (;;) {
      const step = machine.call((machine) => machine.advance(BigInt(nowMs), replies));
      if (step.tag === "done") return step.val;
      replies = make(step.val);
    }
  } finally {
    machine.end();
  }
}

/** The core's words about an operation that came to nothing. */
function refused(ending: Ending): Refused {
  if (ending.tag === "failed") return new Refused(ending.val.message);
  return new Refused(typeof ending.val === "string" ? ending.val : `the core ended with ${ending.tag}`);
}

/** Previews a bucket at an instant, with the machine that every host runs. */
export function view({ core }: Engine, { subject, items }: Bucket, nowMs: number): View {
  const table = new Table(items);
  const start = ({ enforce }: Exports) => enforce.preview(subject, [], undefined);
  const ending = run(core, start, nowMs, (calls) => calls.map((call) => table.make(call).reply));
  if (ending.tag !== "previewed") throw refused(ending);
  return ending.val;
}

/** What happens on the table when somebody asks. */
export interface Attempt {
  nowMs: number;
  request: AcquireRequest;
  /** The items it met. */
  before: Item[];
  /** The calls, round by round. */
  rounds: Made[][];
  /** The answer, and what it says of the limits. */
  decision: Pick<Decision, "outcome"> & Pick<Decision["levels"][number], "limits" | "lease">;
  /** The calls after the answer. */
  followUps: Made[];
  /** The items after the decision, before the follow-ups; and after them. */
  decided: Item[];
  after: Item[];
}

/** Asks for tokens at an instant, on a copy of the items. `seed` draws the shard. */
export function attempt(
  engine: Engine,
  { subject, items }: Bucket,
  { consume, nowMs, seed, hint }: { consume: Amount[]; nowMs: number; seed: number; hint?: Hint | undefined },
): Attempt {
  const table = new Table(items);
  const limits = limitsOf(engine, items);
  const request: AcquireRequest = {
    ...{ subject, consume, limits, authoritative: false, permanent: false, seed: BigInt(seed) },
    ...(hint && { hint }),
  };
  const rounds: Made[][] = [];
  const ending = run(engine.core, ({ enforce }) => enforce.acquire([request], false), nowMs, (calls) => {
    const round = calls.map((call) => table.make(call));
    rounds.push(round);
    return round.map(({ reply }) => reply);
  });
  if (ending.tag !== "acquired") throw refused(ending);
  const { outcome, levels, followUps: calls } = ending.val;
  const { limits: statuses = [], lease } = levels[0] ?? {};
  const decision = { outcome, limits: statuses, ...(lease !== undefined && { lease }) };
  const decided = table.items();
  const followUps = calls.map((call) => table.make(call));
  return { nowMs, request, before: items, rounds, decision, followUps, decided, after: table.items() };
}

/** The shard that a seed draws first. */
export function drawn({ rounds }: Attempt): number | undefined {
  const request = rounds[0]?.[0]?.request;
  return request?.kind === "write" ? request.writes[0]?.shard : undefined;
}

/** Numbers by the names that the table has for them, in the table's units. */
export type Numbers = ReadonlyMap<string, bigint>;

/** What an item says. */
export interface Stored {
  /** `rf`, `vu`, `shard_count`, … */
  numbers: Numbers;
  /** `disabled`, `sched`, … where they are set. */
  marks: ReadonlySet<string>;
  /** `tk`, `cp`, `rsa`, … of each limit, and of the write budget `wcu`. */
  limits: ReadonlyMap<string, Numbers>;
}

/** An item, read by the core; or its words about what is wrong. */
export function decode({ inspect }: Engine, item: Item): Stored | { refused: string } {
  const named = (numbers: NamedNumber[]) => new Map(numbers.map(({ name, value }) => [name, value]));
  try {
    const { numbers, marks, limits } = inspect.call(({ rules }) => rules.decodeItem(JSON.stringify(item)));
    const each = limits.map(({ name, numbers }) => [name, named(numbers)] as const);
    return { numbers: named(numbers), marks: new Set(marks), limits: new Map(each) };
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message };
    throw error;
  }
}

/** The limits as the items have them: the configuration of a slot that has no item yet. */
export function limitsOf(engine: Engine, items: Item[]): Limit[] {
  const limits = new Map<string, Limit>();
  for (const item of items) {
    const state = decode(engine, item);
    if ("refused" in state) continue;
    for (const [name, numbers] of state.limits) {
      if (name === "wcu" || limits.has(name)) continue;
      const [resetAfterSeconds, number] = [numbers.get("rsa"), (field: string) => numbers.get(field) ?? 0n];
      limits.set(name, {
        name,
        capacity: number("cp") / 1000n,
        recovery:
          resetAfterSeconds !== undefined
            ? { tag: "session", val: resetAfterSeconds }
            : { tag: "drip", val: { refillAmount: number("ra") / 1000n, refillPeriodSeconds: number("rp") / 1000n } },
      });
    }
  }
  return [...limits.values()];
}
