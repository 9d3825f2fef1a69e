// What was pasted, dropped or fetched, read; or what is wrong with it, and where.

import type { LimitPreview, PreviewReport, WindowState } from "onewindow";
import { decode, type Bucket, type Engine } from "./core.js";
import { placeOf, textOf, type Item } from "./item.js";
import { faultIn } from "./syntax.js";

/** A report that a host made: no items, so nothing can be asked of it. */
export interface Photograph {
  entity: string;
  resource: string;
  report: PreviewReport;
}

export type Loaded =
  | { kind: "buckets"; buckets: Bucket[]; skipped: number }
  | { kind: "report"; photograph: Photograph };

/** What is wrong, where, and what to do about it. */
export class Unusable extends Error {
  override name = "Unusable";
  readonly where: string;
  readonly excerpt: string | undefined;

  constructor(where: string, what: string, excerpt?: string) {
    super(what);
    this.where = where;
    this.excerpt = excerpt;
  }
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export function load(engine: Engine, text: string): Loaded {
  if (text.trim() === "") throw new Unusable("The input", "is empty. Paste the JSON of a query or a preview.");
  const json = parse(text);
  if (isObject(json) && Array.isArray(json.limits) && "shard_count" in json) {
    return { kind: "report", photograph: photograph(json) };
  }
  if (isObject(json) && typeof json.type === "string" && typeof json.title === "string") {
    throw new Unusable("The answer", `is a problem: ${json.title}${json.detail ? `: ${json.detail}` : ""}.`);
  }
  return buckets(engine, found(json));
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    const at = faultIn(text);
    const lines = text.slice(0, at).split("\n");
    const [line, column] = [lines.length, lines.at(-1)!.length + 1];
    const shown = text.split("\n")[line - 1]!;
    const from = Math.max(0, column - 41);
    const excerpt = `${shown.slice(from, from + 80)}\n${" ".repeat(column - 1 - from)}^`;
    const what = at >= text.trimEnd().length ? "is cut off here" : "is no JSON from here on";
    throw new Unusable(`Line ${line}, column ${column}`, `${what}.`, excerpt);
  }
}

const isObject = (json: Json | undefined): json is { [key: string]: Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json);

interface Found {
  where: string;
  item: Json;
  table: string | undefined;
}

/** The items of whatever holds them. */
function found(json: Json): Found[] {
  const list = (items: Json, where: string, table?: string) => {
    if (!Array.isArray(items)) throw new Unusable(where, "is not a list of items.");
    return items.map((item, at) => ({ where: `${where}[${at}]`, item, table }));
  };
  if (Array.isArray(json)) return list(json, "");
  if (isObject(json)) {
    if ("Items" in json) return list(json.Items!, "Items");
    if ("Responses" in json && isObject(json.Responses)) {
      return Object.entries(json.Responses).flatMap(([table, items]) => list(items, `Responses.${table}`, table));
    }
    if ("Item" in json) return [{ where: "Item", item: json.Item!, table: undefined }];
    if ("PK" in json) return [{ where: "The item", item: json, table: undefined }];
  }
  const seen = isObject(json) ? `an object with ${Object.keys(json).slice(0, 4).join(", ") || "nothing in it"}` : "no object";
  throw new Unusable(
    "The input",
    `is JSON, but ${seen}. Expected Items (query, scan), Responses (batch-get-item), Item, a list of items, or a preview's report.`,
  );
}

function buckets(engine: Engine, all: Found[]): Loaded {
  const byOwner = new Map<string, Bucket>();
  let skipped = 0;
  for (const { where, item, table } of all) {
    if (!isObject(item)) throw new Unusable(where, "is not an item, which is an object of attributes.");
    if (typeof item.PK === "string" || typeof item.entity_id === "string") {
      throw new Unusable(
        where,
        `is plain JSON. Export it with its types, as \`aws dynamodb query\` does: "PK": { "S": … }.`,
      );
    }
    const pk = textOf((item as Item).PK);
    if (pk === undefined) throw new Unusable(where, 'has no key. Expected "PK": { "S": … }; was it left out by a projection?');
    const place = placeOf(pk);
    if (!place || textOf((item as Item).SK) !== "#STATE") {
      skipped += 1;
      continue;
    }
    const state = decode(engine, item as Item);
    if ("refused" in state) throw new Unusable(`${where} (shard ${place.shard})`, state.refused);
    const { shard: _, ...owner } = place;
    const key = JSON.stringify(owner);
    const bucket = byOwner.get(key) ?? { subject: { table: table ?? "table", ...owner }, items: [] };
    bucket.items.push(item as Item);
    byOwner.set(key, bucket);
  }
  const none = skipped > 0 ? `but ${skipped} of other kinds` : "it is empty";
  if (byOwner.size === 0) throw new Unusable("The input", `holds no bucket item (SK "#STATE"): ${none}.`);
  return { kind: "buckets", buckets: [...byOwner.values()], skipped };
}

const STATES: readonly string[] = ["absent", "unstarted", "live", "pending", "ended"] satisfies WindowState[];

/** `onewindow preview --json`, or what `GET /preview` answers. */
function photograph(json: { [key: string]: Json }): Photograph {
  const limits = (json.limits as Json[]).map((limit, at): LimitPreview => {
    const where = `limits[${at}]`;
    if (!isObject(limit)) throw new Unusable(where, "is no object.");
    const shards = Array.isArray(limit.shards) ? limit.shards : [];
    return {
      status: {
        name: text(limit.name, `${where}.name`),
        capacity: whole(limit.capacity, `${where}.capacity`),
        available: whole(limit.available, `${where}.available`),
        ...optional("resetsAtMs", limit.resets_at_ms, `${where}.resets_at_ms`),
      },
      shards: shards.map((shard, index) => {
        const at = `${where}.shards[${index}]`;
        if (!isObject(shard)) throw new Unusable(at, "is no object.");
        const state = text(shard.state, `${at}.state`);
        if (!STATES.includes(state)) throw new Unusable(`${at}.state`, `is ${state}, expected one of ${STATES.join(", ")}.`);
        return {
          shard: Number(whole(shard.shard, `${at}.shard`)),
          state: state as WindowState,
          ...optional("startsAtMs", shard.starts_at_ms, `${at}.starts_at_ms`),
          ...optional("endsAtMs", shard.ends_at_ms, `${at}.ends_at_ms`),
          balanceMilli: whole(shard.balance_milli, `${at}.balance_milli`),
          countedMilli: whole(shard.counted_milli, `${at}.counted_milli`),
          ceilingMilli: whole(shard.ceiling_milli, `${at}.ceiling_milli`),
        };
      }),
    };
  });
  const shardCount = Number(whole(json.shard_count, "shard_count"));
  return {
    entity: text(json.entity ?? "", "entity"),
    resource: text(json.resource ?? "", "resource"),
    report: { shardCount, disabled: json.disabled === true, limits },
  };
}

function optional<K extends string>(key: K, json: Json | undefined, where: string): { [P in K]?: bigint } {
  return json === undefined || json === null ? {} : ({ [key]: whole(json, where) } as { [P in K]: bigint });
}

function text(json: Json | undefined, where: string): string {
  if (typeof json === "string") return json;
  throw new Unusable(where, `is ${JSON.stringify(json) ?? "missing"}, expected a string.`);
}

function whole(json: Json | undefined, where: string): bigint {
  if (typeof json === "number" && Number.isInteger(json)) return BigInt(json);
  if (typeof json === "string" && /^-?\d+$/.test(json)) return BigInt(json);
  throw new Unusable(where, `is ${JSON.stringify(json) ?? "missing"}, expected a whole number.`);
}
