// Every shard in words, and what its item says.

import type { ShardState, ShardView } from "onewindow";
import { clockOn, span, tokens } from "../model/format.js";
import { reason, STATE_NAMES } from "../model/words.js";
import { Rules } from "./rules.js";

interface Props {
  shards: readonly ShardView[];
  name: string;
  nowMs: number;
  drips: boolean;
  states: Map<number, ShardState | undefined>;
}

export function Shards({ shards, name, nowMs, drips, states }: Props) {
  return (
    <section class="sheet" aria-labelledby="shards">
      <h2 id="shards">Shard by shard</h2>
      <ol class="shards">
        {shards.map((view) => {
          const state = states.get(view.shard);
          const limit = state?.limits.find((limit) => limit.name === name);
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
                      <Stored short="tk" name="balance" value={tokens(limit.tokensMilli)} />
                      <Stored short="cp" name="capacity, undivided" value={tokens(limit.capacityMilli)} />
                      <Stored short="ws" name="window start" value={instant(limit.windowStartMs, nowMs)} />
                      <Stored short="wa" name="window applied" value={instant(limit.windowAppliedMs, nowMs)} />
                      <Stored short="rsa" name="window length" value={limit.resetAfterSeconds === undefined ? undefined : span(Number(limit.resetAfterSeconds) * 1000)} />
                      <Stored short="tc" name="consumed in all" value={optional(limit.consumedMilli)} />
                      <Stored short="wtc" name="consumed at propagation" value={optional(limit.consumedMarkMilli)} />
                      <Stored short="gc" name="grant sized for" value={limit.grantCount === undefined ? undefined : `${limit.grantCount} shards`} />
                      <Stored short="tu" name="topped up" value={optional(limit.toppedUpMilli)} />
                      <Stored short="ra" name="refill" value={limit.resetAfterSeconds === undefined ? `${tokens(limit.refillAmountMilli)} each ${span(Number(limit.refillPeriodMs))}` : undefined} />
                      <Stored short="rf" name="last materialised" value={instant(state.lastRefillMs, nowMs)} />
                      <Stored short="vu" name="valid until" value={state.validUntilMs === 0n ? "0: bring up to date first" : instant(state.validUntilMs, nowMs)} />
                      <Stored short="shard_count" name="shards known of" value={`${state.shardCount}`} />
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
const optional = (milli: bigint | undefined) => (milli === undefined ? undefined : tokens(milli));

function Stored({ short, name, value }: { short: string; name: string; value: string | undefined }) {
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
