// Which moment is looked at: the present, or any other.

import { clockExact, clockOn, span as spanText } from "../model/format.js";
import type { Span } from "./timeline.js";

interface Props {
  span: Span;
  nowMs: number;
  resetsAtMs: number | undefined;
  heldMs: number | undefined;
  hold: (ms: number | undefined) => void;
}

export function Moment({ span, nowMs, resetsAtMs, heldMs, hold }: Props) {
  const { fromMs, toMs } = span;
  const stride = [1000, 5000, 10_000, 60_000, 300_000, 900_000, 3_600_000].find((step) => (toMs - fromMs) / step <= 400) ?? 86_400_000;
  const keyed = (event: KeyboardEvent) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    hold(Math.min(toMs, Math.max(fromMs, nowMs + steps * stride)));
  };
  const relation =
    resetsAtMs === undefined ? "no window is running" : `${spanText(Math.max(0, resetsAtMs - nowMs))} before the reset`;
  return (
    <div class="moment">
      <div class="rail">
        <input
          type="range"
          aria-label="Moment looked at"
          aria-valuetext={`${clockOn(nowMs, Date.now())}, ${relation}`}
          min={fromMs}
          max={toMs}
          step="1"
          value={nowMs}
          onInput={(event) => hold(Number(event.currentTarget.value))}
          onKeyDown={keyed}
        />
      </div>
      <div class="stops">
        <button type="button" aria-pressed={heldMs === undefined} onClick={() => hold(undefined)}>
          <span class="dot" aria-hidden="true" />
          Live
        </button>
        {resetsAtMs !== undefined && (
          <>
            <button type="button" onClick={() => hold(resetsAtMs - 1)}>
              1 ms before the reset
            </button>
            <button type="button" onClick={() => hold(resetsAtMs)}>
              At the reset
            </button>
          </>
        )}
        <label class="exact">
          <span>Moment</span>
          <input
            type="datetime-local"
            step="0.001"
            value={localOf(nowMs)}
            onChange={(event) => {
              const ms = new Date(event.currentTarget.value).getTime();
              if (!Number.isNaN(ms) && ms >= 0) hold(ms);
            }}
          />
        </label>
      </div>
      <p class="sr" role="status">
        {heldMs === undefined ? "" : `Looking at ${clockExact(heldMs)}, ${relation}`}
      </p>
    </div>
  );
}

/** An instant as the field spells it. */
function localOf(ms: number): string {
  const shifted = ms - new Date(ms).getTimezoneOffset() * 60_000;
  return Math.abs(shifted) < 8e15 ? new Date(shifted).toISOString().slice(0, 23) : "";
}
