// Stored items, as the table spells them.

export type Value = { N: string } | { S: string } | { BOOL: boolean } | Record<string, unknown>;
export type Item = Readonly<Record<string, Value>>;

/** Where a bucket item is: whose it is, and which of its shards. */
export interface Place {
  namespace: string;
  entity: string;
  resource: string;
  shard: number;
}

/** The key of a bucket item, read; none for any other item. */
export function placeOf(pk: string): Place | undefined {
  const parts = /^([^/]*)\/BUCKET#([^#]+)#([^#]+)#(\d+)$/.exec(pk);
  if (!parts) return undefined;
  const [, namespace = "", entity = "", resource = "", shard = ""] = parts;
  return { namespace, entity, resource, shard: Number(shard) };
}

/** A string attribute. */
export function textOf(value: Value | undefined): string | undefined {
  const text = (value as { S?: unknown } | undefined)?.S;
  return typeof text === "string" ? text : undefined;
}

/** A whole number attribute. */
export function wholeOf(value: Value | undefined): bigint | undefined {
  const text = (value as { N?: unknown } | undefined)?.N;
  return typeof text === "string" && /^[+-]?\d+$/.test(text.trim()) ? BigInt(text) : undefined;
}

export const number = (value: bigint | number): Value => ({ N: value.toString() });
