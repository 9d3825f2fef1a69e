// What is remembered of subjects between requests, within bounds. Losing a hint costs a round trip.

import type { Hint } from "./core.js";

interface Entry {
  hint: Hint;
  learnedMs: number;
}

/** The hints of the most recently used subjects. In a Worker: one for each isolate, at the top level. */
export class Hints {
  readonly #bound: number;
  readonly #entries = new Map<string, Entry>();

  /** Remembers so many subjects, about 200 bytes each; 0 remembers nothing. */
  constructor(bound = 10_000) {
    this.#bound = bound;
  }

  /**
   * What is known of a subject. Its rejections are left out where they were learned `repeatForMs` ago or
   * earlier: they are not repeated any more.
   */
  get(key: string, nowMs = Date.now(), repeatForMs = Infinity): Hint | undefined {
    const entry = this.#touch(key);
    if (!entry) return undefined;
    const ageMs = nowMs - entry.learnedMs;
    // Where the clock was set back, the age is not known.
    return ageMs >= 0 && ageMs < repeatForMs ? entry.hint : { ...entry.hint, rejections: [] };
  }

  put(key: string, hint: Hint, learnedMs: number): void {
    if (this.#bound === 0) return;
    this.#entries.delete(key);
    this.#entries.set(key, { hint, learnedMs });
    if (this.#entries.size > this.#bound) {
      // The first key of the map is the least recently used one.
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    }
  }

  /** Updates the shard count only: known rejections stay. */
  learnShardCount(key: string, hint: Hint, learnedMs: number): void {
    const entry = this.#touch(key);
    if (!entry) return this.put(key, hint, learnedMs);
    entry.hint.shardCount = Math.max(entry.hint.shardCount, hint.shardCount);
  }

  /** Forgets the rejections of a subject. */
  forgetRejections(key: string): void {
    const entry = this.#entries.get(key);
    if (entry) entry.hint.rejections = [];
  }

  #touch(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry;
  }
}
