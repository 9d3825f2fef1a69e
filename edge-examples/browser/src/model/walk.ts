// A rollover, step by step. Each step is asked of the core; here is only who asks what, and when.

import type { Hint } from "onewindow";
import { attempt, drawn, view, type Attempt, type Bucket, type Engine } from "./core.js";
import { number, type Item } from "./item.js";
import { shardItem } from "./samples.js";
import { Table, type Made } from "./table.js";

export interface Scene {
  title: string;
  /** Paragraphs; rules in square brackets. */
  text: string[];
  nowMs: number;
  bucket: Bucket;
  /** Who asked, where somebody did. */
  attempt?: Attempt;
  /** Whether the calls to show are those after the answer. */
  after?: boolean;
  /** Calls of somebody who is not the core. */
  foreign?: Made[];
  /** The shard it is about. */
  shard?: number;
}

const LENGTH_SECONDS = 5 * 3600;
const bench = { entity: "user-1", resource: "gpt-4", shardCount: 4, capacity: 80, lengthSeconds: LENGTH_SECONDS };
const subject = { table: "limits", namespace: "default", entity: "user-1", resource: "gpt-4" };

/** The steps of a rollover whose old window ends at `endMs`. */
export function walk(engine: Engine, endMs: number): Scene[] {
  const start = endMs - LENGTH_SECONDS * 1000;
  const scenes: Scene[] = [];
  let items: Item[] = [0, 5, 0, 0].map((tokens, shard) =>
    shardItem(bench, shard, { tokens, start, consumed: 20 - tokens }, endMs - 60_000),
  );
  const bucket = (): Bucket => ({ subject, items });
  const scene = (scene: Omit<Scene, "bucket">) => scenes.push({ ...scene, bucket: bucket() });

  /** Asks with the first seed that draws the wanted shard. */
  const ask = (shard: number, tokens: number, nowMs: number): Attempt => {
    const hint: Hint = view(engine, bucket(), nowMs).hint;
    const consume = [{ limit: "session", tokens: BigInt(tokens) }];
    for (let seed = 0; seed < 512; seed += 1) {
      const tried = attempt(engine, bucket(), { consume, nowMs, seed, hint });
      if (drawn(tried) === shard) return tried;
    }
    throw new Error(`no seed draws shard ${shard}`);
  };

  const early = ask(0, 6, endMs - 1);
  scene({
    title: "One millisecond early",
    text: [
      "Four shards hold one quota of 80 tokens, 20 each. The window is nearly over, and 5 tokens are left, all on shard 1.",
      "A request for 6 is refused, but only after a survey of all shards [R9]. Every caller gets the same instant [R13].",
    ],
    nowMs: endMs - 1,
    attempt: early,
  });

  scene({
    title: "The window ends",
    text: [
      "Nobody writes anything at this instant. A window whose end has come counts as restored on every shard [R13], and the next request may have all of it.",
      "Had nobody come for a week, the new window would still begin only with the first use [R1].",
    ],
    nowMs: endMs,
  });

  const opener = ask(2, 3, endMs);
  items = opener.decided;
  scene({
    title: "The opener",
    text: [
      "The first request after the end draws shard 2. Its fast write, which reads nothing, is refused: the window it knows is over [R11].",
      "The refusal brings the item along. From it the core plans one locked write: a new start, the full share, and the 3 tokens taken [R1, R5]. That is the answer. The other shards know nothing yet.",
    ],
    nowMs: endMs,
    attempt: opener,
    shard: 2,
  });

  items = opener.after;
  scene({
    title: "Propagating to the other shards",
    text: [
      "After the answer, one conditional write goes to each other shard [R2]: here is the new start. It never touches the tokens.",
      "It also notes how much the shard had consumed by then. The shards are now pending [R3]: they know the new window, but are not yet reset.",
    ],
    nowMs: endMs + 12,
    attempt: opener,
    after: true,
  });

  const older = new Table(items);
  const spent = older.make(olderWriter(1, 4));
  items = older.items();
  scene({
    title: "An older writer spends",
    text: [
      "Shard 1 had 5 tokens left over. A program that does not know these rules sees them and takes 4.",
      "It looks like a free ride. The counter of all consumption has moved on past the note, though, and the next step charges it.",
    ],
    nowMs: endMs + 40_000,
    foreign: [spent],
    shard: 1,
  });

  const roll = ask(1, 2, endMs + 65_000);
  items = roll.after;
  scene({
    title: "The deferred reset",
    text: [
      "A request draws shard 1. Its reset was put off until now: to the share of 20, less the 4 that were spent since the propagation [R4]. Then this request's own 2 are debited: 14.",
      "The balance before plays no part in it, so it does not matter what anybody did to that.",
    ],
    nowMs: endMs + 65_000,
    attempt: roll,
    shard: 1,
  });

  for (const [shard, tokens] of [[0, 1], [3, 1]] as const) items = ask(shard, tokens, endMs + 91_000).after;
  scene({
    title: "Everybody has followed",
    text: [
      "The two shards that were left reset themselves as requests came by. Each reset happened once [I2], and each cost its request one extra round trip.",
      "All shards carry one start again [I3].",
    ],
    nowMs: endMs + 91_000,
  });

  const busyMs = endMs + 3_600_000;
  items = items.map((item) => withoutBudget(item, 1, busyMs));
  const join = ask(1, 1, busyMs);
  items = join.decided;
  const newcomer = join.rounds.flat().flatMap(({ landed, judged }) =>
    landed ? judged.filter(({ write }) => write.kind === "put").map(({ write }) => write.shard) : [],
  )[0];
  scene({
    title: "A shard joins",
    text: [
      "An hour later a burst has used up what shard 1's partition may write. The bucket is spread over eight shards [6.9], and the request draws a new one.",
      `Shard ${newcomer} does not get a fresh share: it joins the window that is running [R7], and its tokens move over from shard ${(newcomer ?? 0) % 4}, in one transaction with all that it was planned from [R8].`,
    ],
    nowMs: busyMs,
    attempt: join,
    ...(newcomer !== undefined && { shard: newcomer }),
  });

  items = join.after;
  scene({
    title: "One window",
    text: [
      "Eight shards, some of them without an item yet, and still one window and one instant to show.",
      "What was admitted and what is left add up to 80: the four of the older writer, and eight that asked properly.",
    ],
    nowMs: busyMs + 1000,
  });
  return scenes;
}

/** How a program from before the rules takes tokens. */
function olderWriter(shard: number, tokens: number) {
  const body = {
    TableName: subject.table,
    Key: { PK: { S: `${subject.namespace}/BUCKET#${subject.entity}#${subject.resource}#${shard}` }, SK: { S: "#STATE" } },
    UpdateExpression: "ADD #a0 :v0, #a1 :v1",
    ConditionExpression: "#a0 >= :v1",
    ExpressionAttributeNames: { "#a0": "b_session_tk", "#a1": "b_session_tc" },
    ExpressionAttributeValues: { ":v0": number(-tokens * 1000), ":v1": number(tokens * 1000) },
  };
  return { operation: "UpdateItem", body: JSON.stringify(body), resend: "may-debit-twice" } as const;
}

/** A burst: refilled just now, and all of it written. */
function withoutBudget(item: Item, shard: number, nowMs: number): Item {
  const pk = (item.PK as { S: string }).S;
  return pk.endsWith(`#${shard}`) ? { ...item, rf: number(nowMs), b_wcu_tk: number(0) } : item;
}
