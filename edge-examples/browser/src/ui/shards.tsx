// Every shard in words, and what its item says.

import type { ShardView } from "onewindow";
import type { Numbers, Stored } from "../model/core.js";
import { clockOn, span, tokens } from "../model/format.js";
import { reason, STATE_NAMES } from "../model/words.js";
import { Rules } from "./rules.js";

interface Props {
  shards: readonly ShardView[];
  name: string;
  nowMs: number;
  drips: boolean;
  states: Map<number, Stored | undefined>;
}

export function Shards({ shards, name, nowMs, drips, states }: Props) {
  return (
    <section class="sheet" aria-labelledby="shards">
      <h2 id="shards">Shard by shard</h2>
      <ol class="shards">
        {shards.map((view) => {
          const state = states.get(view.shard);
          const limit = state?.limits.get(name);
          return (
            <li key={view.shard}>
              <h3>
                Shard {view.shard} <span class={`chip ${view.state}`}>{STATE_NAMES[view.state]}</span>
              </h3>
              <p class={`amount ${view.balanceMilli < 0n ? "owed" : ""}`}>
                {view.state === "absent" ? (
                  "–"
                ) : (
                  <>
                    <b>{tokens(view.balanceMilli)}</b> of {tokens(view.ceilingMilli)}
                  </>
                )}
                {view.countedMilli !== view.balanceMilli && <span>counts with {tokens(view.countedMilli)}</span>}
              </p>
              <div class="why">
                {reason(view, { nowMs, drips, state }).map(({ text, rules }) => (
                  <p key={text}>
                    {text} <Rules rules={rules} />
                  </p>
                ))}
                {state && limit && (
                  <details>
                    <summary>What the item says</summary>
                    <dl class="stored">
                      <Row short="tk" name="balance" value={amount(limit.get("tk"))} />
                      <Row short="cp" name="capacity, undivided" value={amount(limit.get("cp"))} />
                      <Row short="ws" name="window start" value={instant(limit.get("ws"), nowMs)} />
                      <Row short="wa" name="window applied" value={instant(limit.get("wa"), nowMs)} />
                      <Row short="rsa" name="window length" value={length(limit.get("rsa"))} />
                      <Row short="tc" name="consumed in all" value={amount(limit.get("tc"))} />
                      <Row short="wtc" name="consumed at propagation" value={amount(limit.get("wtc"))} />
                      <Row short="gc" name="grant sized for" value={limit.has("gc") ? `${limit.get("gc")} shards` : undefined} />
                      <Row short="tu" name="topped up" value={amount(limit.get("tu"))} />
                      <Row short="ra" name="refill" value={limit.has("rsa") ? undefined : refill(limit)} />
                      <Row short="rf" name="last materialised" value={instant(state.numbers.get("rf"), nowMs)} />
                      <Row short="vu" name="valid until" value={state.numbers.get("vu") === 0n ? "0: bring up to date first" : instant(state.numbers.get("vu"), nowMs)} />
                      <Row short="shard_count" name="shards known of" value={`${state.numbers.get("shard_count")}`} />
                    </dl>
                  </details>
                )}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

const instant = (ms: bigint | undefined, nowMs: number) => (ms === undefined ? undefined : clockOn(Number(ms), nowMs));
const amount = (milli: bigint | undefined) => (milli === undefined ? undefined : tokens(milli));
const length = (seconds: bigint | undefined) => (seconds === undefined ? undefined : span(Number(seconds) * 1000));
const refill = (limit: Numbers) => `${tokens(limit.get("ra") ?? 0n)} each ${span(Number(limit.get("rp")))}`;

function Row({ short, name, value }: { short: string; name: string; value: string | undefined }) {
  if (value === undefined) return null;
  return (
    <div>
      <dt>
        {name} <code>{short}</code>
      </dt>
      <dd>{value}</dd>
    </div>
  );
}
