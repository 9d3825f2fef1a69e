// What is remembered of subjects between requests, within bounds. Losing it costs a round trip.

import type { Hint } from "./core.js";

interface Entry {
  hint: Hint;
  heardMs: number;
}

/** The hints of the most recently used subjects. For a Worker: one a isolate, at the top level. */
export class Hints {
  readonly #bound: number;
  readonly #entries = new Map<string, Entry>();

  /** Remembers so many subjects, about 200 bytes each; 0 remembers nothing. */
  constructor(bound = 10_000) {
    this.#bound = bound;
  }

  get(key: string): Hint | undefined {
    return this.#touch(key)?.hint;
  }

  /** The hint, where it may hold a rejection that is still to be repeated. */
  rejecting(key: string, nowMs: number, repeatForMs: number): Hint | undefined {
    const entry = this.#touch(key);
    if (!entry || entry.hint.rejections.length === 0) return undefined;
    const ageMs = nowMs - entry.heardMs;
    // A clock that was set back says nothing about the age.
    return ageMs >= 0 && ageMs < repeatForMs ? entry.hint : undefined;
  }

  put(key: string, hint: Hint, heardMs: number): void {
    if (this.#bound === 0) return;
    this.#entries.delete(key);
    this.#entries.set(key, { hint, heardMs });
    if (this.#entries.size > this.#bound) {
      // A map's first key is the one that was not used for the longest time.
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    }
  }

  /** A hint that tells of shards alone: what is known of rejections stays. */
  hearOfShards(key: string, hint: Hint, heardMs: number): void {
    const entry = this.#touch(key);
    if (!entry) return this.put(key, hint, heardMs);
    entry.hint.shardCount = Math.max(entry.hint.shardCount, hint.shardCount);
  }

  /** Forgets the rejections of a subject. */
  unblock(key: string): void {
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
