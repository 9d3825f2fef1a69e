// Sample data: buckets whose windows lie around the moment they are made.

import { number, type Item, type Value } from "./item.js";
import type { Bucket } from "./core.js";

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** A quota's part of a shard, whole tokens. */
interface Quota {
  tokens: number;
  /** `ws`, `wa`; `wa` left out: as `ws`. */
  start: number;
  applied?: number;
  /** What was spent in all, and when a propagation came by. */
  consumed?: number;
  mark?: number;
  grantCount?: number;
}

interface Bench {
  entity: string;
  resource: string;
  shardCount: number;
  capacity: number;
  lengthSeconds: number;
}

/** One shard of a bucket with one quota, `session`, and one dripping limit, `rpm`. */
export function shardItem(bench: Bench, shard: number, quota: Quota, rf: number, rpm?: number): Item {
  const { entity, resource, shardCount, capacity, lengthSeconds } = bench;
  const { tokens, start, applied = start, consumed = 0, mark, grantCount = shardCount } = quota;
  const pending = applied < start;
  const milli = (tokens: number): Value => number(Math.round(tokens * 1000));
  return {
    PK: { S: `default/BUCKET#${entity}#${resource}#${shard}` },
    SK: { S: "#STATE" },
    entity_id: { S: entity },
    resource: { S: resource },
    rf: number(rf),
    vu: number(pending ? 0 : start + lengthSeconds * 1000),
    shard_count: number(shardCount),
    b_session_tk: milli(tokens),
    b_session_cp: milli(capacity),
    b_session_ra: number(0),
    b_session_rp: number(1000),
    b_session_tc: milli(consumed),
    b_session_rsa: number(lengthSeconds),
    b_session_ws: number(start),
    b_session_wa: number(applied),
    b_session_gc: number(grantCount),
    ...(mark !== undefined && { b_session_wtc: milli(mark) }),
    ...(rpm !== undefined && {
      b_rpm_tk: milli(rpm),
      b_rpm_cp: milli(240),
      b_rpm_ra: milli(240),
      b_rpm_rp: number(60_000),
      b_rpm_tc: milli(consumed),
    }),
    b_wcu_tk: milli(1000),
    b_wcu_cp: milli(1000),
    b_wcu_ra: milli(1000),
    b_wcu_rp: number(1000),
    b_wcu_tc: milli(0),
  };
}

const ownerOf = ({ entity, resource }: Bench) => ({ table: "limits", namespace: "default", entity, resource });

export interface Sample {
  id: string;
  title: string;
  text: string;
  make: (nowMs: number) => Bucket;
}

const bench: Bench = { entity: "user-1", resource: "gpt-4", shardCount: 8, capacity: 8000, lengthSeconds: 5 * 3600 };

export const SAMPLES: readonly Sample[] = [
  {
    id: "midway",
    title: "In the middle",
    text: "Eight shards, and one of every state: a lost message, a reset still to do, a slot without an item, a debt.",
    make: (nowMs) => {
      const start = nowMs - 3 * HOUR - 47 * MINUTE - 12_000;
      const old = start - 5 * HOUR - 21 * MINUTE;
      const spent = (tokens: number) => ({ tokens, start, consumed: 1000 - tokens });
      const rf = nowMs - 40_000;
      return {
        subject: ownerOf(bench),
        items: [
          shardItem(bench, 0, spent(412), rf, 30),
          shardItem(bench, 1, spent(87), rf, 21),
          shardItem(bench, 2, { ...spent(655.5), start: start + 14 }, rf, 28),
          shardItem(bench, 3, spent(-36), rf, 3),
          // The window was propagated to it. Since then only an older writer spent 120 tokens.
          shardItem(bench, 4, { tokens: 210, start, applied: old, consumed: 910, mark: 790 }, start - 9 * MINUTE, 30),
          // The propagation was lost.
          shardItem(bench, 5, { tokens: 318, start: old, consumed: 682 }, start - 31 * MINUTE, 30),
          shardItem(bench, 7, spent(940), rf, 30),
        ],
      };
    },
  },
  {
    id: "spent",
    title: "Nothing left",
    text: "Four shards, all but spent. Requests are refused, and one instant says until when.",
    make: (nowMs) => {
      const four = { ...bench, entity: "team-blue", shardCount: 4, capacity: 400 };
      const start = nowMs - 4 * HOUR - 8 * MINUTE - 31_000;
      const rf = nowMs - 20_000;
      return {
        subject: ownerOf(four),
        items: [0, 0.5, -6, 0].map((tokens, shard) =>
          shardItem(four, shard, { tokens, start: start + shard * 3, consumed: 100 - tokens }, rf),
        ),
      };
    },
  },
  {
    id: "soon",
    title: "Half a minute to go",
    text: "The window ends in thirty seconds. Watch it come back, or move the time yourself.",
    make: (nowMs) => {
      const start = nowMs - 5 * HOUR + 30_000;
      const rf = nowMs - 5_000;
      const two = { ...bench, entity: "user-2", shardCount: 2, capacity: 100 };
      return {
        subject: ownerOf(two),
        items: [4, 11].map((tokens, shard) => shardItem(two, shard, { tokens, start, consumed: 50 - tokens }, rf)),
      };
    },
  },
];
