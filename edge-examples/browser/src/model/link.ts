// A state in the address's fragment, which no browser sends anywhere.

import type { Bucket } from "./core.js";

/** What a link carries: the items and, where it is not the present, the instant. */
export interface Shared {
  bucket: Bucket;
  atMs?: number;
  limit?: string;
}

const PREFIX = "#v1.";

export async function encode(shared: Shared): Promise<string> {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(shared)));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return PREFIX + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** None where the fragment is something else. Throws where it is cut off or not ours. */
export async function decodeLink(fragment: string): Promise<Shared | undefined> {
  if (!fragment.startsWith(PREFIX)) return undefined;
  const text = atob(fragment.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const json = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)));
  const { bucket, atMs, limit } = json as Shared;
  const { table, namespace, entity, resource } = bucket.subject;
  const sound = [table, namespace, entity, resource].every((part) => typeof part === "string");
  if (!sound || !Array.isArray(bucket.items)) throw new TypeError("the link holds no bucket");
  return {
    bucket,
    ...(typeof atMs === "number" && { atMs }),
    ...(typeof limit === "string" && { limit }),
  };
}

async function through(stream: CompressionStream | DecompressionStream, bytes: Uint8Array): Promise<Uint8Array> {
  const squeezed = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, Uint8Array>);
  return new Uint8Array(await new Response(squeezed).arrayBuffer());
}
