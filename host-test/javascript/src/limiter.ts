// The limiter: the core, a table and a clock, and the loop between them.

import type {
  Call,
  Core,
  Ending,
  Exports,
  LimitStatus,
  Machine,
  Outcome,
  PreviewReport,
  Reply,
  Settlement,
  Subject,
} from "./core.js";
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
  /** What `settle` needs; there where the request was admitted. */
  lease?: string;
  limits: LimitStatus[];
  cost: Cost;
  /** The writes that follow the answer, under way: pass it to `waitUntil`. It never rejects. */
  followUps: Promise<void>;
}

/** What a preview comes to. */
export type PreviewOutcome = { tag: "report"; val: PreviewReport } | Failure;

/** What every operation may come to. */
type Failure = Extract<Ending, { tag: "failed" | "unavailable" | "misconfigured" }>;

/** The most steps of one machine; the core itself needs fewer. */
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
    const attemptTimeoutMs = options.attemptTimeoutMs ?? this.options.deadlineMs / 2;
    this.#table = new Table(options.core, { ...options, attemptTimeoutMs });
  }

  /** Debits tokens, all or nothing. Every failure is an outcome. */
  async acquire(input: AcquireInput): Promise<Answer> {
    const { hints, repeatRejectionsForMs } = this.options;
    const measured = this.#measure("acquire");
    const { cost } = measured;
    let key = "";
    const ending = await this.#run(cost, () => {
      const request = acquireRequest(input);
      key = hintKey(request.subject);
      const hint = hints.get(key, Date.now(), repeatRejectionsForMs);
      return ({ enforce }) => enforce.acquire([{ ...request, seed: seed(), ...(hint && { hint }) }], false);
    });
    const { outcome, level, followUps } = decisionOf(ending);
    // A remembered rejection brings no hint: the age of what is remembered stays.
    if (level?.hint.key) hints.put(key, level.hint, Date.now());
    const degraded = outcome.tag === "unavailable" && this.options.onUnavailable === "allow";
    const limits = level?.limits ?? [];
    const resets = limits.flatMap(({ resetsAtMs }) => resetsAtMs ?? []);
    const wait = outcome.tag === "rejected" || outcome.tag === "contended" ? outcome.val : undefined;
    measured.done(outcome.tag, resets, degraded, wait);
    return {
      allowed: degraded || outcome.tag === "admitted",
      degraded,
      outcome,
      ...(level?.lease !== undefined && { lease: level.lease }),
      limits,
      cost,
      followUps: this.#followUp(followUps),
    };
  }

  /** Corrects a lease to what was really used: 0 releases, a limit left out keeps its estimate. */
  async settle(table: string, lease: string, actual: Readonly<Record<string, Whole>>): Promise<Settlement> {
    const { hints } = this.options;
    const measured = this.#measure("settle");
    const ending = await this.#run(measured.cost, () => {
      const used = amounts(actual);
      return ({ enforce }) => enforce.settle(table, lease, used);
    });
    const { settlement, subject, hint } = ending.tag === "settled" ? ending.val : { settlement: failure(ending) };
    if (subject) {
      const key = hintKey(subject);
      if (hint) hints.learnShardCount(key, hint, Date.now());
      // An amount that was rejected before may fit now.
      hints.forgetRejections(key);
    }
    measured.done(settlement.tag, []);
    return settlement;
  }

  /** Whose lease it is; undefined where the text is no lease. Nothing is sent. */
  leaseSubject(table: string, lease: string): Subject | undefined {
    // A settlement that corrects no limit ends at once.
    const machine = this.options.core.begin(({ enforce }) => enforce.settle(table, lease, []));
    try {
      const step = machine.call((machine) => machine.advance(BigInt(Date.now()), []));
      return step.tag === "done" && step.val.tag === "settled" ? step.val.val.subject : undefined;
    } finally {
      machine.end();
    }
  }

  /** Reads what is left, without a debit. Without limits: those that the items carry. */
  async preview(of: Subject, configured: readonly LimitInput[] = []): Promise<PreviewOutcome> {
    const { hints } = this.options;
    const measured = this.#measure("preview");
    let key = "";
    const ending = await this.#run(measured.cost, () => {
      const [whose, known] = [subject(of), limits(configured)];
      key = hintKey(whose);
      return ({ enforce }) => enforce.preview(whose, known, hints.get(key));
    });
    if (ending.tag !== "previewed") {
      const outcome = failure(ending);
      measured.done(outcome.tag, []);
      return outcome;
    }
    const { report, hint } = ending.val;
    if (hint.key) hints.learnShardCount(key, hint, Date.now());
    measured.done("report", report.limits.flatMap(({ status }) => status.resetsAtMs ?? []));
    return { tag: "report", val: report };
  }

  /**
   * The loop: a step, its calls, their replies, a step, until the end. `prepare` checks the input and says
   * which machine it is.
   */
  async #run(cost: Cost, prepare: () => (exports: Exports) => Machine): Promise<Ending> {
    const deadline = performance.now() + this.options.deadlineMs;
    try {
      const machine = this.options.core.begin(prepare());
      try {
        let replies: Reply[] = [];
        for (let steps = 0; steps < MAX_STEPS; steps += 1) {
          const step = machine.call((machine) => machine.advance(BigInt(Date.now()), replies));
          if (step.tag === "done") return step.val;
          replies = await this.#table.perform(step.val, deadline, cost);
        }
      } finally {
        machine.end();
      }
      throw new Error(`the core has not decided after ${MAX_STEPS} round trips; tokens may have been taken`);
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

/** The decision on the one entity that was asked for. */
function decisionOf(ending: Ending) {
  if (ending.tag !== "acquired") return { outcome: failure(ending), level: undefined, followUps: [] };
  const { outcome, levels, followUps } = ending.val;
  return { outcome, level: levels[0], followUps };
}

/** An ending that the operation shares with every other. */
function failure(ending: Ending): Failure {
  if (ending.tag === "failed" || ending.tag === "unavailable" || ending.tag === "misconfigured") return ending;
  return { tag: "failed", val: { code: "other", message: `the core ended with ${ending.tag}` } };
}

const freeOfCharge = (): Cost => ({ roundTrips: 0, requests: 0, resends: 0 });

/** Draws the shard. It need not be secret. */
const seed = () => BigInt(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER));

/** `#` is legal in no name. */
const hintKey = (of: Subject) => [of.table, of.namespace, of.entity, of.resource].join("#");
