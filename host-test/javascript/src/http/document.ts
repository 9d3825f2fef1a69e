// What goes out about a decision, a settlement and a preview.

import type { LimitStatus, Settlement, ShardView, Subject } from "../core.js";
import type { Whole } from "../input.js";
import type { Answer, PreviewOutcome } from "../limiter.js";
import * as problems from "./problem.js";
import type { Problem } from "./problem.js";

/** A document, or a problem. */
export type Payload = { document: object } | { problem: Problem; retryAfterMs?: bigint };

export function ofAnswer(asked: Record<string, Whole>, { outcome, lease, degraded, limits: statuses }: Answer): Payload {
  const limits = statuses.map(limit);
  switch (outcome.tag) {
    case "admitted":
      return { document: { admitted: true, limits, lease } };
    case "rejected":
    case "contended": {
      const contended = outcome.tag === "contended";
      const detail = contended ? "other requests won every round" : "there is not enough left";
      const violated = contended ? [] : short(asked, statuses);
      const details = {
        ...(violated.length > 0 && { "violated-policies": violated }),
        limits,
        retry_after_ms: number(outcome.val),
        ...(contended && { contended }),
      };
      const problem = problems.quotaExceeded(`${detail}; ask again in ${outcome.val} ms`, details);
      return { problem, retryAfterMs: outcome.val };
    }
    case "never-fits":
      return { problem: problems.neverFits(outcome.val) };
    case "disabled":
      return { problem: problems.disabled() };
    case "unavailable":
      if (degraded) {
        const detail = `admitted without the table, no tokens debited: ${outcome.val}`;
        return { document: { admitted: false, degraded, detail, limits } };
      }
      return failure(outcome);
    default:
      return failure(outcome);
  }
}

export function ofSettlement(settlement: Settlement): Payload {
  switch (settlement.tag) {
    case "settled":
      return { document: { settled: true } };
    case "window-over":
    case "item-gone":
      return { document: { settled: false, reason: settlement.tag } };
    default:
      return failure(settlement);
  }
}

export function ofPreview({ entity, resource }: Subject, outcome: PreviewOutcome): Payload {
  if (outcome.tag !== "report") return failure(outcome);
  const { shardCount, disabled, limits } = outcome.val;
  return {
    document: {
      entity,
      resource,
      shard_count: shardCount,
      disabled,
      limits: limits.map(({ status, shards }) => ({ ...limit(status), shards: shards.map(shard) })),
    },
  };
}

/** The failures that every operation shares. */
type Failure = Extract<Settlement, { tag: "failed" | "unavailable" | "misconfigured" }>;

function failure(outcome: Failure): Payload {
  if (outcome.tag === "failed") return { problem: problems.failed(outcome.val) };
  const { unavailable, misconfigured } = problems;
  return { problem: outcome.tag === "unavailable" ? unavailable(outcome.val) : misconfigured(outcome.val) };
}

/** The limits that hold less than the request asked for. */
function short(asked: Record<string, Whole>, statuses: LimitStatus[]): string[] {
  const holdsLess = ({ name, available }: LimitStatus) => {
    const amount = asked[name];
    return amount !== undefined && BigInt(amount) > available;
  };
  return statuses.filter(holdsLess).map(({ name }) => name);
}

function limit({ name, capacity, available, resetsAtMs }: LimitStatus): object {
  return {
    name,
    capacity: number(capacity),
    available: number(available),
    ...(resetsAtMs !== undefined && { resets_at_ms: number(resetsAtMs), resets_at: rfc3339(resetsAtMs) }),
  };
}

function shard(view: ShardView): object {
  return {
    shard: view.shard,
    state: view.state,
    ...(view.startsAtMs !== undefined && { starts_at_ms: number(view.startsAtMs) }),
    ...(view.endsAtMs !== undefined && { ends_at_ms: number(view.endsAtMs) }),
    balance_milli: number(view.balanceMilli),
    counted_milli: number(view.countedMilli),
    ceiling_milli: number(view.ceilingMilli),
  };
}

/** A number up to 2^53 either way, where every JSON reader is exact; a string above. */
function number(value: bigint): number | string {
  const most = 1n << 53n;
  return value >= -most && value <= most ? Number(value) : value.toString();
}

/** RFC 3339 in UTC; none beyond the year 9999. */
function rfc3339(ms: bigint): string | undefined {
  if (ms > 253_402_300_799_999n) return undefined;
  return new Date(Number(ms)).toISOString().replace(/\.?0+Z$/, "Z");
}
