// The one instant, how long until then, and what is left.

import type { LimitPreview } from "onewindow";
import { clock, clockExact, countdown, date, day, span, utc, whole, zone } from "../model/format.js";

interface Props {
  limit: LimitPreview;
  drips: boolean;
  nowMs: number;
  resetsAtMs: number | undefined;
  /** The time is not the present. */
  held: boolean;
  /** What is left at the reset instant. */
  after: bigint | undefined;
  /** It is a report of some time ago. */
  stale: boolean;
}

export function Hero({ limit, drips, nowMs, resetsAtMs, held, after, stale }: Props) {
  const { name, capacity, available } = limit.status;
  const passed = resetsAtMs !== undefined && resetsAtMs <= nowMs;
  return (
    <section class="hero" aria-label={`When ${name} comes back, and what is left`}>
      <div class="back">
        {resetsAtMs === undefined ? (
          <>
            <h1>
              <span class="lead">{drips ? "Refills steadily" : "No window is running"}</span>
              <span class="instant quiet">{drips ? "all the time" : "full"}</span>
            </h1>
            <p class="when">
              {drips
                ? "A dripping limit has no reset instant; it refills steadily (R12)."
                : "Everything is available. The next request starts a window (R1)."}
            </p>
          </>
        ) : (
          <>
            <h1>
              <span class="lead">
                <b>{name}</b> {passed ? "came back at" : "comes back at"}
              </span>{" "}
              <time class="instant" dateTime={utc(resetsAtMs)}>
                {clock(resetsAtMs)}
              </time>
            </h1>
            <p class="when">
              {date(resetsAtMs) === date(nowMs) ? `${held ? "The same day" : "Today"}, ${day(resetsAtMs)}` : day(resetsAtMs)}
              <span class="zone">{zone(resetsAtMs)}</span>
            </p>
            {passed ? (
              <p class="countdown">{stale ? "This report is older than that. Ask again." : ""}</p>
            ) : (
              <p class="countdown" role="timer" aria-label="Time left">
                <span class="in">in</span>{" "}
                {resetsAtMs - nowMs < 1000 ? (
                  <b>{span(resetsAtMs - nowMs)}</b>
                ) : (
                  countdown(resetsAtMs - nowMs).map(({ value, unit }) => (
                    <span key={unit}>
                      <b>{value}</b>
                      <i> {unit} </i>
                    </span>
                  ))
                )}
              </p>
            )}
          </>
        )}
      </div>
      <dl class="left">
        <div class={available > 0n ? "" : "none"}>
          <dt>{held ? `Left at ${clockExact(nowMs)}` : "Left now"}</dt>
          <dd>
            <strong>{whole(available)}</strong> <span>of {whole(capacity)}</span>
          </dd>
          <Meter available={available} capacity={capacity} />
          {available <= 0n && resetsAtMs !== undefined && !passed && (
            <p class="blocked">Every request is refused until {clock(resetsAtMs)} (R9, R13).</p>
          )}
        </div>
        {resetsAtMs !== undefined && after !== undefined && (
          <div>
            <dt>After the reset</dt>
            <dd>
              <strong>{whole(after)}</strong> <span>of {whole(capacity)}</span>
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function Meter({ available, capacity }: { available: bigint; capacity: bigint }) {
  const part = capacity > 0n ? Math.min(1, Math.max(0, Number(available) / Number(capacity))) : 0;
  return (
    <svg class="meter" width="100%" height="8" aria-hidden="true">
      <rect class="track" width="100%" height="8" rx="4" />
      {part > 0 && <rect class="fill" width={`${Math.max(1.5, part * 100)}%`} height="8" rx="4" />}
    </svg>
  );
}
