// Request bodies, and what they mean.

import type { LimitInput, Whole } from "../input.js";
import { InvalidRequest, show } from "../number.js";

/** The longest request body that is read, bytes. */
const BODY_LIMIT_BYTES = 64 << 10;

export class BodyTooLong extends Error {
  override message = `the body is longer than ${BODY_LIMIT_BYTES} bytes`;
}

type Json = Record<string, unknown>;

/** The body, an object with `required` and perhaps `optional` fields, and no others. */
export async function body(request: Request, required: string[], optional: string[] = []): Promise<Json> {
  const text = await limited(request);
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new InvalidRequest(`the body: ${error instanceof Error ? error.message : error}`);
  }
  return fields(read, "the body", required, optional);
}

export function fields(read: unknown, what: string, required: string[], optional: string[] = []): Json {
  if (!isObject(read)) throw new InvalidRequest(`${what} is ${show(read)}, expected an object`);
  const known = [...required, ...optional];
  for (const key of Object.keys(read)) {
    if (!known.includes(key)) {
      throw new InvalidRequest(`${what}: unknown field \`${key.slice(0, 64)}\`, expected ${known.join(", ")}`);
    }
  }
  for (const key of required) {
    if (read[key] === undefined) throw new InvalidRequest(`${what}: missing field \`${key}\``);
  }
  return read;
}

/** `{ "session": 1, … }` */
export function amounts(read: unknown): Record<string, Whole> {
  if (!isObject(read)) {
    throw new InvalidRequest(`${show(read)} is not an object of limit names and whole numbers of tokens`);
  }
  return Object.fromEntries(Object.entries(read).map(([limit, tokens]) => [limit, whole(tokens)]));
}

/** Limits as configured, where the request brings any. */
export function limits(read: unknown): LimitInput[] | undefined {
  if (read === undefined || read === null) return undefined;
  if (!Array.isArray(read)) throw new InvalidRequest(`limits are ${show(read)}, expected a list`);
  return read.map((limit) => {
    const recovery = ["reset_after_seconds", "refill_amount", "refill_period_seconds"];
    const input = fields(limit, "a limit", ["name", "capacity"], recovery);
    const name = input["name"] as string; // The limiter checks it.
    const capacity = whole(input["capacity"]);
    const [reset, amount, period] = recovery.map((key) => (input[key] == null ? undefined : whole(input[key])));
    if (reset !== undefined && amount === undefined && period === undefined) {
      return { name, capacity, resetAfterSeconds: reset };
    }
    if (reset === undefined && amount !== undefined && period !== undefined) {
      return { name, capacity, refillAmount: amount, refillPeriodSeconds: period };
    }
    throw new InvalidRequest(
      `limit ${show(name)}: expected either reset_after_seconds, or refill_amount and refill_period_seconds`,
    );
  });
}

/** A number up to 2^53, where every JSON reader is exact, or digits in a string. */
function whole(read: unknown): Whole {
  if (typeof read === "number" && Number.isSafeInteger(read) && read >= 0) return read;
  if (typeof read === "string" && /^[0-9]{1,20}$/.test(read)) {
    const number = BigInt(read);
    if (number < 1n << 64n) return number;
  }
  throw new InvalidRequest(
    `${show(read)} is not a whole number, 0 to 2^53, or a string of digits, up to 2^64 - 1; nothing was written`,
  );
}

const isObject = (read: unknown): read is Json =>
  typeof read === "object" && read !== null && !Array.isArray(read);

async function limited(request: Request): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let length = 0;
  const reader = request.body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return text + decoder.decode();
      length += value.byteLength;
      if (length > BODY_LIMIT_BYTES) throw new BodyTooLong();
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (error instanceof BodyTooLong) throw error;
    throw new InvalidRequest(`the body cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}
