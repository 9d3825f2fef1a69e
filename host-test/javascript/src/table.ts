// The table's client: signs each call, POSTs it, and sends again what may be sent again. It knows
// nothing of limits. The core decides whether a reply is worth another try; no error body is read
// here.

import type { Call, Core, Reply } from "./core.js";

/** A request that is about to be sent. */
export interface Unsigned {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Gives the headers to send, those of `request` among them. `at` is the time to sign for. */
export type Sign = (request: Unsigned, at: Date) => Promise<HeadersInit>;

export interface TableOptions {
  /** Where the table is: `https://dynamodb.eu-west-1.amazonaws.com`, without a path. */
  endpoint: string;
  /** Signs requests (`onewindow/aws`); left out where something in between does. */
  sign?: Sign;
  /** Any `fetch`. Its own retries must be off. */
  fetch?: typeof fetch;
  /** How long one attempt may take, ms; default 500. */
  attemptTimeoutMs?: number;
  /** The first wait before a resend is drawn from zero to this, ms; default 25, doubling. */
  firstBackoffMs?: number;
  /** No wait is longer, ms; default 400. */
  longestBackoffMs?: number;
}

/** The cost of one answer, without its follow-ups. */
export interface Cost {
  /** Sequential waits for the table. */
  roundTrips: number;
  /** HTTP requests, with the resends. */
  requests: number;
  /** How many were sent again after a throttle, a conflict or a lost reply. */
  resends: number;
}

/** An attempt is begun only with more time left than this, ms. */
const SHORTEST_ATTEMPT_MS = 50;

export class Table {
  readonly #core: Core;
  readonly #options: Required<Omit<TableOptions, "sign">> & Pick<TableOptions, "sign">;
  /** The table's clock less ours, ms. */
  #offsetMs = 0;

  constructor(core: Core, options: TableOptions) {
    const url = new URL(options.endpoint);
    if (!/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search || url.username) {
      throw new TypeError(`endpoint ${options.endpoint}: expected http://HOST:PORT or https://HOST`);
    }
    this.#core = core;
    this.#options = {
      endpoint: url.href,
      // As a method of something else it would refuse to be called.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      attemptTimeoutMs: options.attemptTimeoutMs ?? 500,
      firstBackoffMs: options.firstBackoffMs ?? 25,
      longestBackoffMs: options.longestBackoffMs ?? 400,
      ...(options.sign && { sign: options.sign }),
    };
  }

  /**
   * Makes calls at the same time, each until it has a reply that is worth reading or the deadline
   * (of `performance.now()`) comes; the replies in the order of the calls.
   */
  async perform(calls: Call[], deadline: number, cost: Cost): Promise<Reply[]> {
    cost.roundTrips += 1;
    return Promise.all(calls.map((call) => this.#call(call, deadline, cost)));
  }

  async #call(call: Call, deadline: number, cost: Cost): Promise<Reply> {
    let ceilingMs = this.#options.firstBackoffMs;
    let skewCorrected = false;
    for (let sent = 1; ; sent += 1) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return { tag: "failed", val: "the time ran out" };
      cost.requests += 1;
      if (sent > 1) cost.resends += 1;
      const { reply, date } = await this.#send(call, Math.min(leftMs, this.#options.attemptTimeoutMs));
      const { tag } = this.#core.call(({ enforce }) => enforce.classify(reply));
      if (tag === "clock-skew") {
        const tablesMs = Date.parse(date ?? "");
        if (skewCorrected || Number.isNaN(tablesMs)) return reply;
        // From now on requests are signed with the table's clock.
        this.#offsetMs = tablesMs - Date.now();
        skewCorrected = true;
      } else if (tag === "retry" || (tag === "lost" && call.resend !== "never")) {
        const waitMs = Math.random() * ceilingMs;
        ceilingMs = Math.min(ceilingMs * 2, this.#options.longestBackoffMs);
        if (performance.now() + waitMs + SHORTEST_ATTEMPT_MS >= deadline) return reply;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        // The wait took too long. The last answer says more than "the time ran out".
        if (performance.now() >= deadline) return reply;
      } else {
        return reply;
      }
    }
  }

  /** One attempt; whatever happens is a reply. */
  async #send(call: Call, timeoutMs: number): Promise<{ reply: Reply; date?: string | null }> {
    const { endpoint: url, fetch, sign } = this.#options;
    const request: Unsigned = {
      url,
      headers: {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": `DynamoDB_20120810.${call.operation}`,
      },
      body: call.body,
    };
    try {
      const headers = sign ? await sign(request, new Date(Date.now() + this.#offsetMs)) : request.headers;
      const response = await fetch(url, {
        method: "POST",
        headers,
        body: call.body,
        redirect: "manual",
        signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
      });
      const body = await response.text();
      return { reply: { tag: "http", val: { status: response.status, body } }, date: response.headers.get("date") };
    } catch (error) {
      const slow = error instanceof Error && error.name === "TimeoutError";
      const reason = slow ? `no reply within ${Math.ceil(timeoutMs)} ms` : `the connection broke: ${error}`;
      return { reply: { tag: "failed", val: reason } };
    }
  }
}
