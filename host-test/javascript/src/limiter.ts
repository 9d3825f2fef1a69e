// The limiter: the core, a table and a clock, and the loop between them.

import type { Call, Core, Decision, Outcome, PreviewOutcome, Reply, Settlement, Subject } from "./core.js";
import { Hints } from "./hints.js";
import { acquireRequest, amounts, limits, subject, type AcquireInput, type LimitInput, type Whole } from "./input.js";
import { InvalidRequest } from "./number.js";
import { Table, type Cost, type TableOptions } from "./table.js";

export interface LimiterOptions extends TableOptions {
  core: Core;
  /** How long a caller waits at most, resends and all, ms; default 1000. One attempt takes half of it. */
  deadlineMs?: number;
  /** How long a follow-up may take, ms; default 10000. Nobody waits for it. */
  followUpDeadlineMs?: number;
  /**
   * What to do with a request that the table did not answer in time; default `block`. Never asked
   * where the table refuses us: a wrong set-up must not become an unlimited quota.
   */
  onUnavailable?: "allow" | "block";
  /** How long a rejection is repeated without asking the table, at most, ms; default 10000. */
  repeatRejectionsForMs?: number;
  /** What is remembered between requests; default: 10,000 subjects. */
  hints?: Hints;
  /**
   * Called with every answer before it is returned, for traces and metrics. It is never given the
   * entity or the resource. An error that it throws is ignored.
   */
  observe?: (observation: Observation) => void;
}

/** An answer, as traces and metrics want it. */
export interface Observation extends Cost {
  operation: "acquire" | "settle" | "preview";
  /** `admitted`, `rejected`, `contended`, `unavailable`, …; of a preview `report`. */
  outcome: string;
  /** Whether it was let through although the table did not answer. */
  degraded: boolean;
  latencyMs: number;
  /** The latest reset that was reported, epoch ms. */
  resetsAtMs?: bigint;
  /** The wait that was reported with a rejection, ms. */
  retryAfterMs?: bigint;
}

/** The answer to a request for tokens. */
export interface Answer {
  /** Whether the caller may go ahead: admitted, or let through under `onUnavailable: "allow"`. */
  allowed: boolean;
  /** Whether it was let through although the table did not answer. The outcome stays `unavailable`. */
  degraded: boolean;
  outcome: Outcome;
  limits: Decision["limits"];
  cost: Cost;
  /** The writes that follow the answer, under way: pass it to `waitUntil`. It never rejects. */
  followUps: Promise<void>;
}

/** The most steps of one machine; the core itself needs far fewer. */
const MAX_STEPS = 64;

/** Enforces limits on a table. */
export class Limiter {
  readonly options: Required<Omit<LimiterOptions, keyof TableOptions | "observe">>;
  readonly #observe: LimiterOptions["observe"];
  readonly #table: Table;

  constructor(options: LimiterOptions) {
    this.options = {
      core: options.core,
      deadlineMs: options.deadlineMs ?? 1_000,
      followUpDeadlineMs: options.followUpDeadlineMs ?? 10_000,
      onUnavailable: options.onUnavailable ?? "block",
      repeatRejectionsForMs: options.repeatRejectionsForMs ?? 10_000,
      hints: options.hints ?? new Hints(),
    };
    this.#observe = options.observe;
    this.#table = new Table(options.core, { attemptTimeoutMs: this.options.deadlineMs / 2, ...options });
  }

  /** Debits tokens, all or nothing. Every failure is an outcome. */
  async acquire(input: AcquireInput): Promise<Answer> {
    const { core, hints, repeatRejectionsForMs } = this.options;
    const measured = this.#measure("acquire");
    const { cost } = measured;
    const decision = await this.#guard(cost, async () => {
      const request = acquireRequest(input);
      const key = hintKey(request.subject);
      const nowMs = Date.now();
      const remembered = hints.rejecting(key, nowMs, repeatRejectionsForMs);
      if (remembered) {
        const asked = { ...request, seed: 0n };
        const rejection = core.call((core) => core.acquire.reject(asked, remembered, BigInt(nowMs)));
        if (rejection) return rejection;
      }
      const hint = hints.get(key);
      const seeded = { ...request, seed: seed(), ...(hint && { hint }) };
      const decision = await this.#drive(
        (core) => new core.acquire.Acquisition(seeded),
        (machine, now, replies) => machine.advance(now, replies),
        cost,
      );
      if (decision.hint.key) hints.put(key, decision.hint, Date.now());
      return decision;
    });
    const outcome: Outcome = "outcome" in decision ? decision.outcome : decision;
    const known = "outcome" in decision ? decision : { limits: [], followUps: [] };
    const degraded = outcome.tag === "unavailable" && this.options.onUnavailable === "allow";
    const resets = known.limits.flatMap(({ resetsAtMs }) => resetsAtMs ?? []);
    const wait = outcome.tag === "rejected" || outcome.tag === "contended" ? outcome.val : undefined;
    measured.done(outcome.tag, resets, degraded, wait);
    return {
      allowed: degraded || outcome.tag === "admitted",
      degraded,
      outcome,
      limits: known.limits,
      cost,
      followUps: this.#followUp(known.followUps),
    };
  }

  /** Corrects a lease to what was really used: 0 releases, a limit left out keeps its estimate. */
  async settle(table: string, lease: string, actual: Readonly<Record<string, Whole>>): Promise<Settlement> {
    const measured = this.#measure("settle");
    const settlement = await this.#guard(measured.cost, () => {
      const used = amounts(actual);
      return this.#drive(
        (core) => new core.settle.Settling(table, lease, used),
        (machine, now, replies) => machine.advance(now, replies),
        measured.cost,
      );
    });
    const whose = leaseSubject(table, lease);
    // An amount that was rejected before may fit now.
    if (whose) this.options.hints.forgetRejections(hintKey(whose));
    measured.done(settlement.tag, []);
    return settlement;
  }

  /** Reads what is left, without a debit. Without limits: those that the items carry. */
  async preview(of: Subject, configured: readonly LimitInput[] = []): Promise<PreviewOutcome> {
    const { hints } = this.options;
    const measured = this.#measure("preview");
    const outcome = await this.#guard(measured.cost, () => {
      const [whose, known] = [subject(of), limits(configured)];
      const key = hintKey(whose);
      return this.#drive(
        (core) => new core.preview.Previewing(whose, known, hints.get(key)),
        (machine, now, replies) => {
          const step = machine.advance(now, replies);
          if (step.tag === "done") {
            const hint = machine.hint();
            if (hint.key) hints.learnShardCount(key, hint, Number(now));
          }
          return step;
        },
        measured.cost,
      );
    });
    const reported = outcome.tag === "report" ? outcome.val.limits : [];
    measured.done(outcome.tag, reported.flatMap(({ status }) => status.resetsAtMs ?? []));
    return outcome;
  }

  /** The loop: a step, its calls, their replies, a step, until the end. */
  async #drive<M extends object, D>(
    make: Parameters<typeof this.options.core.begin<M>>[0],
    advance: (machine: M, nowMs: bigint, replies: Reply[]) => { tag: "perform"; val: Call[] } | { tag: "done"; val: D },
    cost: Cost,
  ): Promise<D> {
    const deadline = performance.now() + this.options.deadlineMs;
    const running = this.options.core.begin(make);
    try {
      let replies: Reply[] = [];
      for (let steps = 0; steps < MAX_STEPS; steps += 1) {
        const step = running.call((machine) => advance(machine, BigInt(Date.now()), replies));
        if (step.tag === "done") return step.val;
        replies = await this.#table.perform(step.val, deadline, cost);
      }
    } finally {
      running.end();
    }
    throw new Error(`the core has not decided after ${MAX_STEPS} round trips; tokens may have been taken`);
  }

  async #guard<T>(cost: Cost, decide: () => Promise<T>): Promise<T | Failed> {
    try {
      return await decide();
    } catch (error) {
      const code = error instanceof InvalidRequest ? "invalid-request" : "other";
      const reason = error instanceof Error ? error.message : String(error);
      // An error that is not the caller's says whether something may have been written.
      const message = code === "other" && cost.requests > 0 ? `${reason}; something may have been written` : reason;
      return { tag: "failed", val: { code, message } };
    }
  }

  async #followUp(calls: Call[]): Promise<void> {
    if (calls.length === 0) return;
    const deadline = performance.now() + this.options.followUpDeadlineMs;
    // Their replies are ignored: the next use of a shard finds out by itself.
    await this.#table.perform(calls, deadline, freeOfCharge()).catch(() => {});
  }

  #measure(operation: Observation["operation"]) {
    const began = performance.now();
    const cost = freeOfCharge();
    const done = (outcome: string, resets: bigint[], degraded = false, retryAfterMs?: bigint) => {
      const latencyMs = performance.now() - began;
      const resetsAtMs = resets.reduce<bigint | undefined>((most, at) => (most && most > at ? most : at), undefined);
      const reported = { ...(resetsAtMs !== undefined && { resetsAtMs }), ...(retryAfterMs !== undefined && { retryAfterMs }) };
      try {
        this.#observe?.({ operation, outcome, degraded, latencyMs, ...cost, ...reported });
      } catch {
        // Tokens may be debited by now: the caller's answer must not be lost.
      }
    };
    return { cost, done };
  }
}

type Failed = Extract<Outcome, { tag: "failed" }>;

const freeOfCharge = (): Cost => ({ roundTrips: 0, requests: 0, resends: 0 });

/** Draws the shard. It need not be secret. */
const seed = () => BigInt(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER));

/** `#` is legal in no name. */
const hintKey = (of: Subject) => [of.table, of.namespace, of.entity, of.resource].join("#");

/** The subject of a lease; undefined where the text is no lease. */
export function leaseSubject(table: string, lease: string): Subject | undefined {
  try {
    const { n: namespace, e: entity, r: resource } = JSON.parse(lease);
    return subject({ table, namespace, entity, resource });
  } catch {
    return undefined;
  }
}
