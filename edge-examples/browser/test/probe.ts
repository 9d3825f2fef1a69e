// What the page's model comes to, as text that the native core can be held against. Runs in the
// browser, on the page's own modules.

import type { PreviewReport } from "onewindow";
import { loadCore } from "onewindow/browser";
import { Inspect } from "onewindow/inspect";
import { attempt, view, type Attempt, type Bucket } from "../src/model/core.js";
import type { Item } from "../src/model/item.js";
import { encode } from "../src/model/link.js";
import { SAMPLES } from "../src/model/samples.js";
import { walk } from "../src/model/walk.js";
import type { Made } from "../src/model/table.js";

// All of the pure functions: the page's own module has no survey.
const whole = await WebAssembly.compileStreaming(fetch("whole.wasm"));
const engine = { core: await loadCore("./"), inspect: new Inspect({ "inspect.core.wasm": whole }) };

/** One line for each thing that was asked: of the walk whose old window ends then, and of the samples. */
export function record(endMs: number): string[] {
  const lines: object[] = [];
  for (const { title, bucket, nowMs, attempt } of walk(engine, endMs)) {
    lines.push({ about: `walk: ${title}`, ...looked(bucket, nowMs), ...(attempt && { attempt: tried(attempt, bucket.items) }) });
  }
  for (const { id, make } of SAMPLES) {
    const bucket = make(endMs);
    const { hint, report } = view(engine, bucket, endMs);
    const resetsAtMs = Number(report.limits.find(({ status }) => status.resetsAtMs !== undefined)!.status.resetsAtMs);
    for (const [tokens, nowMs, seed] of [
      [3000, endMs, 2],
      [1, resetsAtMs - 1, 3],
      [40, resetsAtMs, 4],
    ] as const) {
      const consume = [{ limit: "session", tokens: BigInt(tokens) }];
      const asked = attempt(engine, bucket, { consume, nowMs, seed, hint });
      lines.push({ about: `sample ${id}: ${tokens}`, ...looked(bucket, nowMs), attempt: tried(asked, bucket.items) });
    }
  }
  return lines.map((line) => JSON.stringify(line, plain));
}

/** The component's own preview of items, and nothing around it. */
export function preview(items: object[], nowMs: number): string {
  const texts = items.map((item) => JSON.stringify(item));
  return JSON.stringify(document(engine.inspect.call(({ rules }) => rules.survey(texts, 0, [], BigInt(nowMs)))), plain);
}

/** The fragment of a link to a bucket at an instant. */
export function link(bucket: Bucket, atMs: number): Promise<string> {
  return encode({ bucket, atMs });
}

const plain = (_: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value);

const looked = (bucket: Bucket, nowMs: number) => ({
  subject: bucket.subject,
  now_ms: nowMs,
  items: bucket.items,
  report: document(view(engine, bucket, nowMs).report),
});

function document({ shardCount, disabled, limits }: PreviewReport): object {
  return {
    shard_count: shardCount,
    disabled,
    limits: limits.map(({ status: { name, capacity, available, resetsAtMs }, shards }) => ({
      ...{ name, capacity, available },
      resets_at_ms: resetsAtMs ?? null,
      shards: shards.map(({ shard, state, startsAtMs, endsAtMs, balanceMilli, countedMilli, ceilingMilli }) => ({
        ...{ shard, state },
        starts_at_ms: startsAtMs ?? null,
        ends_at_ms: endsAtMs ?? null,
        balance_milli: balanceMilli,
        counted_milli: countedMilli,
        ceiling_milli: ceilingMilli,
      })),
    })),
  };
}

function tried({ nowMs, request, before, rounds, decision, followUps }: Attempt, shown: Item[]): object {
  const { consume, limits, seed, hint } = request;
  const call = ({ call: { operation, body }, reply }: Made) => ({ operation, body, reply: reply.val });
  return {
    now_ms: nowMs,
    ...(before !== shown && { items: before }),
    seed,
    hint: hint && { key: hint.key, shard_count: hint.shardCount },
    consume: Object.fromEntries(consume.map(({ limit, tokens }) => [limit, tokens])),
    limits: limits.map(({ name, capacity, recovery }) => ({
      ...{ name, capacity },
      ...(recovery.tag === "session"
        ? { reset_after_seconds: recovery.val }
        : { refill_amount: recovery.val.refillAmount, refill_period_seconds: recovery.val.refillPeriodSeconds }),
    })),
    rounds: rounds.map((calls) => calls.map(call)),
    // An admission with what it is settled by.
    outcome: decision.lease === undefined ? decision.outcome : { ...decision.outcome, val: decision.lease },
    statuses: decision.limits.map(({ name, capacity, available, resetsAtMs }) => ({
      ...{ name, capacity, available },
      resets_at_ms: resetsAtMs ?? null,
    })),
    follow_ups: followUps.map(call),
  };
}
