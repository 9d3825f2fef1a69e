// "If I ask for N at this time": asked of the core, on a copy of the items.

import type { Hint, LimitPreview } from "onewindow";
import { useMemo, useState } from "preact/hooks";
import { attempt, drawn, type Attempt, type Bucket, type Engine } from "../model/core.js";
import { clockExact, plural } from "../model/format.js";
import type { Item } from "../model/item.js";
import { shards, verdict } from "../model/words.js";
import { Calls } from "./calls.js";
import { Rules } from "./rules.js";

interface Props {
  engine: Engine;
  bucket: Bucket;
  nowMs: number;
  limit: LimitPreview;
  hint: Hint;
  apply: (items: Item[]) => void;
  undo: (() => void) | undefined;
}

export function WhatIf({ engine, bucket, nowMs, limit, hint, apply, undo }: Props) {
  const [typed, type] = useState("1");
  const [seed, draw] = useState(0);
  const { name } = limit.status;
  const amount = /^\d{1,18}$/.test(typed.trim()) ? BigInt(typed.trim()) : undefined;
  const tried = useMemo((): Attempt | { fault: string } | undefined => {
    if (amount === undefined) return undefined;
    try {
      return attempt(engine, bucket, { consume: [{ limit: name, tokens: amount }], nowMs, seed, hint });
    } catch (error) {
      return { fault: error instanceof Error ? error.message : String(error) };
    }
  }, [engine, bucket, amount, nowMs, seed, hint, name]);
  const first = tried && "rounds" in tried ? drawn(tried) : undefined;

  return (
    <section class="sheet" aria-labelledby="whatif">
      <h2 id="whatif">What if</h2>
      <div class="ask">
        <label>
          I ask for
          <input
            inputMode="numeric"
            autocomplete="off"
            value={typed}
            aria-invalid={amount === undefined}
            aria-describedby={amount === undefined ? "amount-fault" : undefined}
            onInput={(event) => type(event.currentTarget.value)}
          />
        </label>
        <span>
          tokens of <b>{name}</b> at <b>{clockExact(nowMs)}</b>
          {first !== undefined && (
            <>
              , and draw <b>shard {first}</b>
            </>
          )}
        </span>
        <button type="button" onClick={() => draw(seed + 1)}>
          Draw again
        </button>
      </div>
      {amount === undefined && (
        <p class="because" id="amount-fault">
          “{typed}” is no amount. Expected a whole number of tokens.
        </p>
      )}
      {tried && "fault" in tried && (
        <p class="trouble" role="alert">
          {tried.fault}
        </p>
      )}
      {tried && "rounds" in tried && (
        <>
          <Outcome tried={tried} />
          <div class="stops">
            <button type="button" disabled={tried.decision.outcome.tag !== "admitted"} onClick={() => apply(tried.after)}>
              Let it happen
            </button>
            {undo && (
              <button type="button" onClick={undo}>
                Undo
              </button>
            )}
          </div>
          <Trace tried={tried} />
        </>
      )}
    </section>
  );
}

/** Who served it, as the writes that landed show. */
export function servers({ rounds }: Attempt): string {
  const made = rounds.at(-1)?.findLast(({ landed, request }) => landed && request.kind === "write");
  if (!made || made.request.kind !== "write") return "Nothing was written.";
  const { writes, transaction } = made.request;
  const created = writes.find(({ kind }) => kind === "put");
  const taken = writes.filter(({ kind, shard }) => kind === "update" && shard !== undefined).map(({ shard }) => shard!);
  if (!transaction) return `By ${shards(taken)}.`;
  if (!created || created.shard === undefined) return `Gathered from ${shards(taken)}.`;
  const rest = taken.length > 0 ? `, together with a write to ${shards(taken)}` : "";
  return `By shard ${created.shard}, which is new${rest}.`;
}

export function Outcome({ tried }: { tried: Attempt }) {
  const { good, title, text } = verdict(tried.decision, servers(tried), tried.nowMs);
  return (
    <p class={`verdict ${good ? "good" : "bad"}`}>
      <strong role="status">{title}</strong> <span>{text}</span>
    </p>
  );
}

/** The calls, round by round, and those after the answer. */
export function Trace({ tried, only }: { tried: Attempt; only?: "before" | "after" }) {
  const propagated = tried.followUps.flatMap(({ request }) => (request.kind === "write" ? request.writes.flatMap(({ shard }) => shard ?? []) : []));
  return (
    <div class="trace">
      {only !== "after" && (
        <>
          <h3>
            {tried.rounds.length === 0 ? "Nothing is asked of the table" : `To the answer: ${plural(tried.rounds.length, "round trip")}`}
          </h3>
          {tried.rounds.map((calls, at) => (
            <Calls key={at} calls={calls} />
          ))}
        </>
      )}
      {only !== "before" && tried.decision.outcome.tag === "admitted" && (
        <>
          <h3>{propagated.length === 0 ? "After the answer: nothing to write" : `After the answer: ${shards([...new Set(propagated)])}`}</h3>
          {propagated.length === 0 ? (
            <p class="note">
              No window was opened and no shard was added, so there is nothing to propagate. <Rules rules={["R2"]} />
            </p>
          ) : (
            <Calls calls={tried.followUps} />
          )}
        </>
      )}
    </div>
  );
}
