// What the core found, in words. The numbers in brackets are the protocol's rules.

import type { LimitStatus, ShardView } from "onewindow";
import type { Attempt, Stored } from "./core.js";
import { clockOn, plural, span, tokens, whole } from "./format.js";
import { placeOf, textOf, wholeOf, type Value } from "./item.js";
import type { Change, Term } from "./write.js";

export const STATE_NAMES: Record<ShardView["state"], string> = {
  absent: "No item",
  unstarted: "No window",
  live: "Live",
  pending: "Pending",
  ended: "Ended",
};

/** A sentence or two, and the rules they come from. */
export interface Reason {
  text: string;
  rules: string[];
}

/** Why a shard is in its state, and what it counts with. */
export function reason(view: ShardView, { nowMs, drips, state }: { nowMs: number; drips: boolean; state?: Stored | undefined }): Reason[] {
  const at = (ms: bigint | undefined) => (ms === undefined ? "an unknown time" : clockOn(Number(ms), nowMs));
  const counts = tokens(view.countedMilli);
  const reasons: Reason[] = [];
  switch (view.state) {
    case "live":
      reasons.push({
        text: `Its window began at ${at(view.startsAtMs)} and ends at ${at(view.endsAtMs)}. Until then nothing moves the start, however much is spent.`,
        rules: ["R1"],
      });
      break;
    case "pending":
      reasons.push({
        text: `The window that began at ${at(view.startsAtMs)} was propagated to it, but its balance is still from before: ${tokens(view.balanceMilli)}.`,
        rules: ["R2", "R3"],
      });
      reasons.push({
        text: `The next request here resets it to its share of ${tokens(view.ceilingMilli)}, less what was spent since the propagation. It counts with ${counts}.`,
        rules: ["R4"],
      });
      break;
    case "ended":
      reasons.push({
        text: `Its window ended at ${at(view.endsAtMs)}. The next request that lands here opens a new one and restores the full share.`,
        rules: ["R1"],
      });
      reasons.push({ text: `Until then it counts as restored, with ${counts}.`, rules: ["R13"] });
      break;
    case "absent":
      if (drips) {
        reasons.push({ text: `There is no item yet. The first request makes it, with the share of ${counts}.`, rules: ["R12"] });
        break;
      }
      reasons.push({
        text: "There is no item yet. The first request makes it, and it joins the window that is running.",
        rules: ["R7"],
      });
      reasons.push({
        text:
          view.countedMilli > 0n
            ? `Its slot was never granted in this window, so it counts with ${counts}.`
            : "What its slot was granted is held by another shard, and counted there. It moves over when the item is made: nothing is made out of nothing.",
        rules: ["R8"],
      });
      break;
    case "unstarted":
      reasons.push(
        drips
          ? { text: `A dripping limit has no window: it refills steadily, up to ${tokens(view.ceilingMilli)} on this shard.`, rules: ["R12"] }
          : { text: "No window was ever opened here. The next request opens one.", rules: ["R1"] },
      );
      break;
  }
  if (view.balanceMilli < 0n && view.state === "live") {
    reasons.push({
      text: `It is ${tokens(-view.balanceMilli)} in debt: a request turned out to have used more than it had taken. The debt counts against the total until the reset.`,
      rules: ["6.8"],
    });
  }
  if (state?.marks.has("disabled")) reasons.push({ text: "The item is switched off: every request is refused.", rules: ["6.1"] });
  if (state?.marks.has("sched")) reasons.push({ text: "A calendar schedule is in force; this core does not evaluate it.", rules: ["§7"] });
  return reasons;
}

/** What was answered, as a headline and a sentence. */
export function verdict(decision: Attempt["decision"], servers: string, nowMs: number): { good: boolean; title: string; text: string } {
  const { outcome, limits } = decision;
  const rejects = (limits: LimitStatus[]) =>
    limits
      .map(({ name, available, resetsAtMs }) => {
        const until = resetsAtMs === undefined ? "" : `, resets at ${clockOn(Number(resetsAtMs), nowMs)}`;
        return `${name}: ${whole(available)} left over all shards${until}`;
      })
      .join("; ");
  switch (outcome.tag) {
    case "admitted":
      return { good: true, title: "Admitted", text: servers };
    case "rejected":
      return { good: false, title: "Rejected", text: `Ask again in ${span(Number(outcome.val))}. ${rejects(limits)}.` };
    case "contended":
      return { good: false, title: "Contended", text: `Other writers won every round. Ask again in ${span(Number(outcome.val))}.` };
    case "never-fits":
      return { good: false, title: "Never fits", text: `It is more than the whole capacity of ${outcome.val}.` };
    case "disabled":
      return { good: false, title: "Switched off", text: "The bucket is disabled: nothing is admitted." };
    case "failed":
      return { good: false, title: "Refused", text: outcome.val.message };
    default:
      return { good: false, title: "Not answered", text: outcome.val };
  }
}

// ---- attributes ----

type Unit = "milli" | "ms" | "seconds" | "plain";

const ITEM_ATTRIBUTES: Record<string, [name: string, unit: Unit]> = {
  rf: ["last materialised", "ms"],
  vu: ["valid until", "ms"],
  ttl: ["expiry", "seconds"],
  shard_count: ["shard count", "plain"],
  disabled: ["switched off", "plain"],
  cascade: ["cascade", "plain"],
  parent_id: ["parent", "plain"],
  bypass: ["bypass until", "ms"],
  PK: ["the item", "plain"],
  sched: ["schedule", "plain"],
  rsched: ["reset schedule", "plain"],
};

const LIMIT_FIELDS: Record<string, [name: string, unit: Unit]> = {
  tk: ["balance", "milli"],
  cp: ["capacity", "milli"],
  ra: ["refill", "milli"],
  rp: ["refill period", "ms"],
  tc: ["consumed in all", "milli"],
  rsa: ["window length", "seconds"],
  ws: ["window start", "ms"],
  wa: ["window applied", "ms"],
  wtc: ["consumed mark", "milli"],
  gc: ["grant count", "plain"],
  tu: ["top-up", "milli"],
  soft: ["soft until", "ms"],
  rn: ["reset number", "plain"],
  sched: ["schedule", "plain"],
  rsched: ["reset schedule", "plain"],
};

/** An attribute for a person: whose it is, what it is, its short name, its unit. */
export function attribute(stored: string): { of?: string; name: string; short: string; unit: Unit } {
  const parts = /^b_(.+)_([a-z]+)$/.exec(stored);
  if (parts) {
    const [, limit = "", field = ""] = parts;
    const [name, unit] = LIMIT_FIELDS[field] ?? [field, "plain"];
    return { of: limit === "wcu" ? "write budget" : limit, name, short: field, unit };
  }
  const [name, unit] = ITEM_ATTRIBUTES[stored] ?? [stored, "plain"];
  return { name, short: stored, unit };
}

const named = (stored: string): string => {
  const { of, name } = attribute(stored);
  return of ? `${of} ${name}` : name;
};

/** A value in its attribute's unit. */
export function shown(stored: string, value: Value): string {
  const text = textOf(value);
  if (text !== undefined) return text;
  const number = wholeOf(value);
  if (number === undefined) return "BOOL" in value ? String(value.BOOL) : JSON.stringify(value);
  const { unit, short } = attribute(stored);
  if (unit === "milli") return tokens(number);
  if (unit === "plain") return number.toString();
  if (number === 0n && short === "vu") return "0, so that the next request brings it up to date";
  if (short === "rp") return span(Number(number));
  if (short === "rsa") return span(Number(number) * 1000);
  return clockOn(Number(unit === "seconds" ? number * 1000n : number), Date.now());
}

const TESTS: Record<Term["test"], string> = {
  exists: "exists",
  absent: "is absent",
  "=": "is",
  "<>": "is not",
  "<": "is less than",
  "<=": "is at most",
  ">": "is more than",
  ">=": "is at least",
};

const TIME_TESTS: Partial<Record<Term["test"], string>> = {
  "<": "is before",
  "<=": "is not after",
  ">": "is after",
  ">=": "is not before",
};

/** A condition, "session balance is at least 5". */
export function condition({ attribute: stored, test, operand }: Term): string {
  if (!operand) return `${named(stored)} ${TESTS[test]}`;
  const { unit, short } = attribute(stored);
  const timed = (unit === "ms" || unit === "seconds") && short !== "rp" && short !== "rsa";
  const how = (timed && TIME_TESTS[test]) || TESTS[test];
  return `${named(stored)} ${how} ${"value" in operand ? shown(stored, operand.value) : `its ${named(operand.attribute)}`}`;
}

/** A change, "session balance − 5". */
export function changeText(change: Change): { what: string; how: string } {
  const what = named(change.attribute);
  switch (change.kind) {
    case "set":
      return { what, how: `= ${shown(change.attribute, change.value)}` };
    case "snapshot":
      return { what, how: `= ${attribute(change.source).name}, as it stands` };
    case "add": {
      const milli = wholeOf(change.value) ?? 0n;
      return { what, how: `${milli < 0n ? "−" : "+"} ${tokens(milli < 0n ? -milli : milli)}` };
    }
    case "remove":
      return { what, how: "removed" };
  }
}

/** What a write is about, "Shard 3". */
export function target(pk: string, sk: string): string {
  const place = placeOf(pk);
  if (place && sk === "#STATE") return `Shard ${place.shard}`;
  if (sk === "#META") return "The entity's record";
  return `${pk} ${sk}`;
}

export const shards = (ids: number[]): string =>
  ids.length === 1 ? `shard ${ids[0]}` : `shards ${ids.slice(0, -1).join(", ")} and ${ids.at(-1)}`;

export { plural };
