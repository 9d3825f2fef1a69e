// Numbers on their way into the core. The generated glue wraps a number out of range silently, so it is checked here.

const U64 = (1n << 64n) - 1n;

/** The input is not valid. Nothing was sent. */
export class InvalidRequest extends Error {
  override name = "InvalidRequest";
}

/** A whole number from 0 to 2^64 - 1. A plain number must be exact: at most 2^53 - 1. */
export function u64(value: unknown, what: string): bigint {
  const exact = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof exact === "bigint" && exact >= 0n && exact <= U64) return exact;
  throw new InvalidRequest(
    `${what} is ${show(value)}, expected a whole number from 0 to 2^64 - 1 (a bigint above 2^53 - 1); ` +
      "nothing was written",
  );
}

/** A string. */
export function text(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new InvalidRequest(`${what} is ${show(value)}, expected a string; nothing was written`);
}

/** The start of a value that came from outside, short enough for a message. */
export function show(value: unknown): string {
  const shown = typeof value === "bigint" ? `${value}` : (JSON.stringify(value) ?? String(value));
  return shown.length > 64 ? `${shown.slice(0, 64)}…` : shown;
}
