// Numbers, instants and spans, in the viewer's own language and time zone.

const grouped = new Intl.NumberFormat(undefined, { useGrouping: true });

/** Whole tokens. */
export const whole = (count: bigint | number): string => grouped.format(count).replace(/^-/, "−");

/** Millitokens as tokens, exactly. */
export function tokens(milli: bigint): string {
  const [size, sign] = milli < 0n ? [-milli, "−"] : [milli, ""];
  const rest = size % 1000n;
  const point = decimalPoint;
  const fraction = rest === 0n ? "" : point + rest.toString().padStart(3, "0").replace(/0+$/, "");
  return sign + grouped.format(size / 1000n) + fraction;
}

const decimalPoint = grouped.formatToParts(0.5).find(({ type }) => type === "decimal")?.value ?? ".";

/** As far as a calendar goes here. */
const LAST_MS = 8.64e15;

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options);
const clockFormat = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const shortFormat = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const milliFormat = format({
  ...{ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  fractionalSecondDigits: 3,
});
const dayFormat = format({ weekday: "long", day: "numeric", month: "long" });
const dayShortFormat = format({ weekday: "short", day: "numeric", month: "short" });
const yearFormat = format({ year: "numeric", month: "short", day: "numeric" });
const zoneFormat = format({ timeZoneName: "shortOffset" });

const instant = (formatter: Intl.DateTimeFormat) => (ms: number) =>
  Math.abs(ms) > LAST_MS ? "beyond any calendar" : formatter.format(ms);

export const clock = instant(clockFormat);
export const clockShort = instant(shortFormat);
export const clockMilli = instant(milliFormat);
export const day = instant(dayFormat);
export const dayShort = instant(dayShortFormat);
export const date = instant(yearFormat);

/** The clock, with the milliseconds where there are any. */
export const clockExact = (ms: number): string => (ms % 1000 === 0 ? clock(ms) : clockMilli(ms));

/** "14:03:12", or with the day where it is another day than `todayMs`. */
export function clockOn(ms: number, todayMs: number): string {
  return date(ms) === date(todayMs) ? clockExact(ms) : `${dayShort(ms)} ${clockExact(ms)}`;
}

/** The viewer's zone, "Europe/Berlin, GMT+1". */
export function zone(ms: number): string {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const offset = zoneFormat.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value;
  return offset && offset !== name ? `${name}, ${offset}` : name;
}

/** RFC 3339 in UTC. */
export const utc = (ms: number): string =>
  Math.abs(ms) > LAST_MS ? "" : new Date(ms).toISOString().replace(/\.000Z$/, "Z");

/** A span as a countdown: whole seconds, rounded up, so that it reaches 0 at the instant. */
export function countdown(ms: number): { value: string; unit: string }[] {
  const seconds = Math.ceil(ms / 1000);
  const [d, h, m, s] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (count: number) => count.toString().padStart(2, "0");
  const parts: { value: string; unit: string }[] = [];
  if (d > 0) parts.push({ value: `${d}`, unit: "d" });
  if (d > 0 || h > 0) parts.push({ value: d > 0 ? two(h) : `${h}`, unit: "h" });
  if (d > 0 || h > 0 || m > 0) parts.push({ value: d > 0 || h > 0 ? two(m) : `${m}`, unit: "min" });
  if (d === 0) parts.push({ value: parts.length > 0 ? two(s) : `${s}`, unit: "s" });
  return parts;
}

/** A span in words: milliseconds where it is that short, and no more units than it takes. */
export function span(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  const parts = countdown(ms);
  while (parts.length > 1 && Number(parts.at(-1)!.value) === 0) parts.pop();
  return parts
    .map(({ value, unit }) => `${value} ${unit}`)
    .join(" ");
}

export function plural(count: number | bigint, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 || count === 1n ? one : many}`;
}
