// Problem documents (RFC 9457).

import type { ErrorCode } from "../core.js";

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  [extension: string]: unknown;
}

const IANA = "https://iana.org/assignments/http-problem-types#";
const URN = "urn:onewindow:problem:";

export const quotaExceeded = (detail: string, details: object): Problem => ({
  ...problem(429, `${IANA}quota-exceeded`, "Quota exceeded", detail),
  ...details,
});

export const unavailable = (detail: string) =>
  problem(503, `${IANA}temporary-reduced-capacity`, "The table cannot be reached", detail);

export const misconfigured = (detail: string) =>
  problem(500, `${URN}misconfigured`, "The limiter is set up wrongly", detail);

export const neverFits = (limit: string) =>
  problem(
    422,
    `${URN}never-fits`,
    "The amount never fits",
    `the amount of limit ${JSON.stringify(limit)} is above what its capacity can ever hold`,
  );

export const disabled = () =>
  problem(403, `${URN}disabled`, "Disabled", "the entity is switched off for this resource");

/** A plain HTTP error, without a type of its own. */
export const http = (status: number, title: string, detail: string) => problem(status, "about:blank", title, detail);

const ERRORS: Record<ErrorCode, [number, string]> = {
  "invalid-request": [400, "Invalid request"],
  "unknown-limit": [400, "Unknown limit"],
  "corrupt-item": [500, "A stored item is corrupt"],
  overflow: [500, "A number is out of range"],
  unsupported: [500, "The stored item is not supported"],
  other: [500, "The engine failed"],
};

/** The request or the stored item is at fault. */
export function failed({ code, message }: { code: ErrorCode; message: string }): Problem {
  const [status, title] = ERRORS[code] ?? ERRORS.other;
  return problem(status, URN + (code === "other" ? "engine-fault" : code), title, message);
}

function problem(status: number, type: string, title: string, detail: string): Problem {
  return { type, title, status, detail };
}
