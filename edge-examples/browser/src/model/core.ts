// The component, and the few things the page asks of it.

import { Refusal, type AcquireRequest, type Amount, type Core, type Decision, type Hint, type Limit, type PreviewReport, type ShardState, type Subject } from "onewindow";
import type { Item } from "./item.js";
import { Table, type Made } from "./table.js";

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

/** Previews a bucket at an instant, with the machine that every host runs. */
export function view(core: Core, { subject, items }: Bucket, nowMs: number): View {
  const table = new Table(items);
  const machine = core.begin((exports) => new exports.preview.Previewing(subject, [], undefined));
  try {
    let replies: Made["reply"][] = [];
    for (;;) {
      const step = machine.call((looking) => looking.advance(BigInt(nowMs), replies));
      if (step.tag === "perform") {
        replies = step.val.map((call) => table.make(call).reply);
        continue;
      }
      const outcome = step.val;
      if (outcome.tag === "report") return { report: outcome.val, hint: machine.call((looking) => looking.hint()) };
      throw new Refused(outcome.tag === "failed" ? outcome.val.message : outcome.val);
    }
  } finally {
    machine.end();
  }
}

/** What happens on the table when somebody asks. */
export interface Attempt {
  nowMs: number;
  request: AcquireRequest;
  /** The items it met. */
  before: Item[];
  /** The calls, round by round. */
  rounds: Made[][];
  decision: Decision;
  /** The calls after the answer. */
  followUps: Made[];
  /** The items after the decision, before the follow-ups; and after them. */
  decided: Item[];
  after: Item[];
}

/** Asks for tokens at an instant, on a copy of the items. `seed` draws the shard. */
export function attempt(
  core: Core,
  { subject, items }: Bucket,
  { consume, nowMs, seed, hint }: { consume: Amount[]; nowMs: number; seed: number; hint?: Hint | undefined },
): Attempt {
  const table = new Table(items);
  const limits = limitsOf(core, items);
  const request: AcquireRequest = {
    ...{ subject, consume, limits, authoritative: false, permanent: false, seed: BigInt(seed) },
    ...(hint && { hint }),
  };
  const machine = core.begin((exports) => new exports.acquire.Acquisition(request));
  try {
    const rounds: Made[][] = [];
    for (;;) {
      const replies = rounds.at(-1)?.map(({ reply }) => reply) ?? [];
      const step = machine.call((asking) => asking.advance(BigInt(nowMs), replies));
      if (step.tag === "perform") {
        rounds.push(step.val.map((call) => table.make(call)));
        continue;
      }
      const decided = table.items();
      const followUps = step.val.followUps.map((call) => table.make(call));
      return { nowMs, request, before: items, rounds, decision: step.val, followUps, decided, after: table.items() };
    }
  } finally {
    machine.end();
  }
}

/** The shard that a seed draws first. */
export function drawn({ rounds }: Attempt): number | undefined {
  const request = rounds[0]?.[0]?.request;
  return request?.kind === "write" ? request.writes[0]?.shard : undefined;
}

/** An item, read by the core; or its words about what is wrong. */
export function decode(core: Core, item: Item): ShardState | { refused: string } {
  try {
    return core.call(({ wire }) => wire.decodeItem(JSON.stringify(item)));
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message };
    throw error;
  }
}

/** The limits as the items have them: the configuration of a slot that has no item yet. */
export function limitsOf(core: Core, items: Item[]): Limit[] {
  const limits = new Map<string, Limit>();
  for (const item of items) {
    const state = decode(core, item);
    if ("refused" in state) continue;
    for (const limit of state.limits) {
      if (limits.has(limit.name)) continue;
      const { resetAfterSeconds, refillAmountMilli, refillPeriodMs } = limit;
      limits.set(limit.name, {
        name: limit.name,
        capacity: limit.capacityMilli / 1000n,
        recovery:
          resetAfterSeconds !== undefined
            ? { tag: "session", val: resetAfterSeconds }
            : {
                tag: "drip",
                val: { refillAmount: refillAmountMilli / 1000n, refillPeriodSeconds: refillPeriodMs / 1000n },
              },
      });
    }
  }
  return [...limits.values()];
}
