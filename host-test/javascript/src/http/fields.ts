// The header fields of an answer: `RateLimit-Policy` and `RateLimit`.

import type { LimitStatus } from "../core.js";
import type { LimitInput } from "../input.js";

/**
 * How the `RateLimit` field is written: `draft-ietf-httpapi-ratelimit-headers` has changed its
 * parameters' names. `rt` up to draft 10, `aw` from 11 on.
 */
export type FieldForm = "rt" | "aw";

/** The largest integer of a structured field (RFC 9651): 15 digits. */
const LARGEST = 999_999_999_999_999n;

const clamp = (value: bigint) => (value < 0n ? 0n : value > LARGEST ? LARGEST : value);

const divCeil = (dividend: bigint, divisor: bigint) => (dividend + divisor - 1n) / divisor;

/** Milliseconds as whole seconds: rounded up, at least 1 (R14). */
export function wholeSeconds(ms: bigint): bigint {
  return ms > 1000n ? divCeil(ms, 1000n) : 1n;
}

/** The fields for the limits a request named. */
export function rateLimitFields(
  statuses: LimitStatus[],
  configured: readonly LimitInput[],
  form: FieldForm,
  nowMs: bigint,
): Record<string, string> {
  if (statuses.length === 0) return {};
  const policy = statuses.map((status) => {
    const seconds = recovery(configured.find(({ name }) => name === status.name), status.capacity);
    return `"${status.name}";q=${clamp(status.capacity)}${seconds === undefined ? "" : `;w=${clamp(seconds)}`}`;
  });
  const [left, until] = form === "rt" ? ["r", "t"] : ["a", "w"];
  const limit = statuses.map(({ name, available, resetsAtMs }) => {
    const reset = resetsAtMs === undefined ? "" : `;${until}=${clamp(wholeSeconds(resetsAtMs - nowMs))}`;
    return `"${name}";${left}=${clamp(available)}${reset}`;
  });
  return { "ratelimit-policy": policy.join(", "), ratelimit: limit.join(", ") };
}

/** The seconds in which a limit comes back whole. */
function recovery(limit: LimitInput | undefined, capacity: bigint): bigint | undefined {
  if (!limit) return undefined;
  if ("resetAfterSeconds" in limit) return BigInt(limit.resetAfterSeconds);
  const amount = BigInt(limit.refillAmount);
  return divCeil(capacity * BigInt(limit.refillPeriodSeconds), amount > 0n ? amount : 1n);
}
