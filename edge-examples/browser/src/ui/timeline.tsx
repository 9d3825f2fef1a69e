// The drawing: every shard's window on one axis of time, and what the shard holds.

import type { ShardView } from "onewindow";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clockExact, clockOn, clockShort, dayShort, date, plural, span as spanText, tokens } from "../model/format.js";
import { STATE_NAMES } from "../model/words.js";

/** The part of time that is drawn. */
export interface Span {
  fromMs: number;
  toMs: number;
}

const MINUTE = 60_000;

/** From the first window that still matters to a while after the last, `nowMs` within. */
export function spanOf(shards: readonly ShardView[], nowMs: number): Span {
  const windows = shards.flatMap(({ startsAtMs, endsAtMs }) =>
    startsAtMs !== undefined && endsAtMs !== undefined ? [{ start: Number(startsAtMs), end: Number(endsAtMs) }] : [],
  );
  const length = Math.max(0, ...windows.map(({ start, end }) => Math.min(end - start, 1e12)));
  if (length === 0) return { fromMs: nowMs - 30 * MINUTE, toMs: nowMs + 30 * MINUTE };
  const last = Math.max(...windows.map(({ end }) => end));
  // What is over for long is not worth squeezing the rest for.
  const latest = Math.max(last, Math.min(nowMs, last + length));
  const from = Math.min(...windows.map(({ start }) => start).filter((start) => start >= latest - 2.2 * length), latest - length);
  const pad = (latest - from) * 0.03;
  return { fromMs: Math.round(from - pad), toMs: Math.round(latest + Math.max(pad * 4, length * 0.12)) };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 43_200].map((minutes) => minutes * MINUTE);

function ticks({ fromMs, toMs }: Span, room: number): number[] {
  const step = STEPS.find((step) => (toMs - fromMs) / step <= room) ?? (toMs - fromMs) / room;
  // By the viewer's own clock, so that they are round hours there.
  const shift = new Date(fromMs).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((fromMs - shift) / step) * step + shift;
  const all: number[] = [];
  for (let at = first; at < toMs; at += step) all.push(at);
  return all;
}

interface Props {
  shards: readonly ShardView[];
  span: Span;
  nowMs: number;
  resetsAtMs: number | undefined;
  drips: boolean;
  nowLabel: string;
  /** A shard to point at. */
  marked?: number | undefined;
  /** Goes below, on the same axis: `--gutter` and `--side` are what is beside it. */
  children?: ComponentChildren;
}

/** What a number of CSS pixels is where the page's type is larger, as on a wall. */
const scaled = () => (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16) / 16;

export function Timeline({ shards, span, nowMs, resetsAtMs, drips, nowLabel, marked, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [full, setWidth] = useState(0);
  const unit = scaled();
  useLayoutEffect(() => {
    const measure = () => setWidth(box.current?.clientWidth ?? 0);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  // Drawn in the type's own units.
  const width = full / unit;
  const narrow = width < 560;
  const gutter = 30;
  const side = narrow ? 74 : 190;
  const row = shards.length > 16 ? 20 : shards.length > 8 ? 26 : narrow ? 30 : 36;
  const head = 44;
  const plot = Math.max(1, width - gutter - side);
  const height = head + row * shards.length + 6;
  const x = (ms: number) => gutter + (Math.min(1, Math.max(0, (ms - span.fromMs) / (span.toMs - span.fromMs))) * plot);
  const inside = (ms: number) => ms >= span.fromMs && ms <= span.toMs;
  const current = shards.filter(({ state }) => state === "live" || state === "pending");
  const first = Math.min(...current.map(({ startsAtMs }) => Number(startsAtMs)));
  const largest = shards.reduce((most, { ceilingMilli }) => (ceilingMilli > most ? ceilingMilli : most), 1n);

  const resetFlag =
    resetsAtMs !== undefined && inside(resetsAtMs)
      ? flag(x(resetsAtMs), `resets ${clockShort(resetsAtMs)}`, gutter, width)
      : undefined;
  // They keep out of each other's way.
  const nowText = `${nowLabel} ${clockShort(nowMs)}`;
  const nowFlag =
    resetFlag === undefined
      ? flag(x(nowMs), nowText, gutter, width)
      : nowMs <= resetsAtMs!
        ? flag(x(nowMs), nowText, 0, resetFlag.at - 5)
        : flag(x(nowMs), nowText, resetFlag.at + resetFlag.width + 5, width);

  return (
    <div class="timeline" ref={box} style={{ "--gutter": `${gutter * unit}px`, "--side": `${side * unit}px` }}>
      {width > 0 && (
        <svg
          width={full}
          height={height * unit}
          viewBox={`0 0 ${width} ${height}`}
          role="img" aria-label={describe(shards, resetsAtMs, nowMs, drips)}
        >
          <defs>
            <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect class="hatch-ground" width="7" height="7" />
              <rect class="hatch-line" width="3" height="7" />
            </pattern>
          </defs>
          {ticks(span, plot / (narrow ? 62 : 92)).map((at) => (
            <g key={at}>
              <line class="tick" x1={x(at)} x2={x(at)} y1={head - 6} y2={height - 6} />
              <text class="tick-text" x={x(at)} y={head - 12} text-anchor="middle">
                {span.toMs - span.fromMs > 3 * 1440 * MINUTE ? dayShort(at) : clockShort(at)}
              </text>
            </g>
          ))}
          {shards.map((view, at) => (
            <Row
              key={view.shard}
              {...{ view, x, row, narrow, nowMs, drips, largest }}
              y={head + row * at}
              late={view.startsAtMs === undefined || !current.includes(view) ? 0 : Number(view.startsAtMs) - first}
              left={gutter}
              right={gutter + plot}
              side={side}
              marked={view.shard === marked}
            />
          ))}
          {resetsAtMs !== undefined && inside(resetsAtMs) && (
            <g class="reset">
              <line x1={x(resetsAtMs)} x2={x(resetsAtMs)} y1={head - 8} y2={height - 2} />
              <Flag {...resetFlag!} />
            </g>
          )}
          {inside(nowMs) && (
            <g class="now">
              <line x1={x(nowMs)} x2={x(nowMs)} y1={head - 8} y2={height - 2} />
              <circle cx={x(nowMs)} cy={head - 8} r="4" />
              <Flag {...nowFlag} />
            </g>
          )}
        </svg>
      )}
      <ul class="legend" aria-hidden="true">
        {(["live", "pending", "ended", "absent", "unstarted"] as const)
          .filter((state) => shards.some((view) => view.state === state))
          .map((state) => (
            <li key={state}>
              <svg width="22" height="12">
                <rect class={`window ${state}`} x="1" y="1" width="20" height="10" rx="3" />
              </svg>
              {STATE_NAMES[state]}
            </li>
          ))}
        {shards.some(({ balanceMilli, state }) => balanceMilli < 0n && state !== "absent") && (
          <li>
            <svg width="22" height="12">
              <rect class="debt" y="3" width="22" height="6" rx="3" />
            </svg>
            Debt
          </li>
        )}
      </ul>
      {children}
    </div>
  );
}

/** A label over `x`, as far as it can be between `left` and `right`. */
function flag(x: number, text: string, left: number, right: number) {
  const width = text.length * 6.6 + 14;
  return { text, width, at: Math.min(right - width, Math.max(left, x - width / 2)) };
}

function Flag({ text, width, at }: ReturnType<typeof flag>) {
  return (
    <>
      <rect x={at} y="1" {...{ width }} height="19" rx="9.5" />
      <text x={at + width / 2} y="14.5" text-anchor="middle">
        {text}
      </text>
    </>
  );
}

interface RowProps {
  view: ShardView;
  x: (ms: number) => number;
  y: number;
  row: number;
  left: number;
  right: number;
  side: number;
  narrow: boolean;
  nowMs: number;
  /** How much later than the first its window began, ms. */
  late: number;
  drips: boolean;
  largest: bigint;
  marked: boolean;
}

function Row({ view, x, y, row, left, right, side, narrow, nowMs, late, drips, largest, marked }: RowProps) {
  const { shard, state, startsAtMs, endsAtMs, balanceMilli, countedMilli, ceilingMilli } = view;
  const gap = row > 24 ? 6 : 3;
  const [top, height] = [y + gap / 2, row - gap];
  const middle = y + row / 2;
  const size = row > 22 ? 12.5 : 11;
  const bar = startsAtMs !== undefined && endsAtMs !== undefined ? { from: x(Number(startsAtMs)), to: x(Number(endsAtMs)) } : undefined;
  const track = narrow ? 0 : 72;
  const part = (milli: bigint) => Number((milli < 0n ? -milli : milli) * 1000n / largest) / 1000;
  const counts = state === "pending" || state === "ended";
  return (
    <g class={marked ? "marked" : ""}>
      {marked && <rect class="mark" x="0" y={y} width={right + side} height={row} rx="6" />}
      <text class="shard-id" x={left - 10} y={middle + 4} text-anchor="end" font-size={size}>
        {shard}
      </text>
      {bar && bar.to - bar.from >= 1 ? (
        <>
          <rect class={`window ${state}`} x={bar.from} y={top} width={bar.to - bar.from} {...{ height }} rx="4" />
          {state === "live" && nowMs > Number(startsAtMs) && (
            <rect class="spent" x={bar.from} y={top} width={Math.max(0, Math.min(bar.to, x(nowMs)) - bar.from)} {...{ height }} rx="4" />
          )}
          {Number(startsAtMs) >= 0 && <rect class={`start ${state}`} x={bar.from} y={top} width="3" {...{ height }} rx="1.5" />}
          {late > 0 && bar.to - bar.from > 60 && (
            <text class="late" x={bar.from + 10} y={middle + 4} font-size={size - 1}>
              +{spanText(late)}
            </text>
          )}
        </>
      ) : (
        <line class={`nothing ${state}`} x1={left} x2={right} y1={middle} y2={middle} />
      )}
      {!drips && bar === undefined && !narrow && row > 22 && (
        <text class="late" x={left + 12} y={middle - 5} font-size={size - 2}>
          {state === "absent" ? "no item" : "no window"}
        </text>
      )}
      {!narrow && (
        <>
          <rect class="track" x={right + 18} y={middle - 3} width={track} height="6" rx="3" />
          {counts && <rect class="restored" x={right + 18} y={middle - 3} width={track * part(countedMilli)} height="6" rx="3" />}
          <rect
            class={balanceMilli < 0n ? "debt" : "held"}
            x={right + 18}
            y={middle - 3}
            width={Math.min(track, track * part(balanceMilli) + (balanceMilli < 0n ? 3 : 0))}
            height="6"
            rx="3"
          />
        </>
      )}
      <text class={balanceMilli < 0n ? "held-text owed" : "held-text"} x={right + side} y={middle + 4} text-anchor="end" font-size={size}>
        {state === "absent" ? "–" : tokens(balanceMilli)}
        {!narrow && <tspan class="of"> / {tokens(ceilingMilli)}</tspan>}
      </text>
    </g>
  );
}

/** The drawing for those who do not see it; the list below has every number. */
function describe(shards: readonly ShardView[], resetsAtMs: number | undefined, nowMs: number, drips: boolean): string {
  const counted = (["live", "pending", "ended", "absent", "unstarted"] as const)
    .map((state) => [STATE_NAMES[state].toLowerCase(), shards.filter((view) => view.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  const reset = drips ? "" : resetsAtMs === undefined ? " No window is running." : ` The last window ends at ${clockOn(resetsAtMs, nowMs)}.`;
  const when = date(nowMs) === date(Date.now()) ? clockExact(nowMs) : clockOn(nowMs, Date.now());
  return `Timeline of ${plural(shards.length, "shard")} at ${when}: ${counted.join(", ")}.${reset}`;
}
