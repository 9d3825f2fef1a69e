// A table in the page's memory: what DynamoDB does with the calls that the core makes, on the items
// that were loaded. It knows nothing of limits, only of conditions, additions and transactions.

import type { Call, Reply } from "onewindow";
import { wholeOf, type Item, type Value } from "./item.js";
import { read, Unreadable, type Change, type Request, type Term, type Write } from "./write.js";

/** What became of one write: whether each of its terms held, and whether it landed. */
export interface Judged {
  write: Write;
  /** By clause and term. */
  held: boolean[][];
  /** All clauses held. */
  passed: boolean;
}

/** A call that was made. */
export interface Made {
  call: Call;
  request: Request;
  reply: Reply;
  /** By write; empty for a read. */
  judged: Judged[];
  /** Whether it was done: a read always is. */
  landed: boolean;
  /** How many items a read found. */
  found: number;
}

const keyOf = (pk: string, sk: string) => `${pk}\n${sk}`;

export class Table {
  readonly #items = new Map<string, Item>();

  constructor(items: Iterable<Item>) {
    for (const item of items) this.#put(item);
  }

  items(): Item[] {
    return [...this.#items.values()];
  }

  get(pk: string, sk: string): Item | undefined {
    return this.#items.get(keyOf(pk, sk));
  }

  #put(item: Item): void {
    const { PK, SK } = item as Record<string, { S: string }>;
    this.#items.set(keyOf(PK?.S ?? "", SK?.S ?? ""), item);
  }

  /** Makes a call; one at a time is as good as any order. */
  make(call: Call): Made {
    const request = read(call.operation, call.body);
    if (request.kind === "read") {
      const found = request.keys.flatMap(({ pk, sk }) => this.get(pk, sk) ?? []);
      const reply = http(200, { Responses: { [request.table]: found }, UnprocessedKeys: {} });
      return { call, request, reply, judged: [], landed: true, found: found.length };
    }
    const judged = request.writes.map((write) => this.#judge(write));
    const landed = judged.every(({ passed }) => passed);
    const before = request.writes.map(({ pk, sk }) => this.get(pk, sk));
    if (landed) for (const write of request.writes) this.#apply(write);
    const reply = request.transaction ? transacted(landed, judged, before) : this.#single(landed, request.writes[0]!, before[0]);
    return { call, request, reply, judged, landed, found: 0 };
  }

  #judge(write: Write): Judged {
    const item = this.get(write.pk, write.sk);
    const held = write.clauses.map((clause) => clause.map((term) => holds(term, item)));
    return { write, held, passed: held.every((clause) => clause.includes(true)) };
  }

  #apply(write: Write): void {
    if (write.kind === "check") return;
    if (write.item) {
      this.#put(write.item);
      return;
    }
    const old = this.get(write.pk, write.sk);
    const item: Record<string, Value> = { PK: { S: write.pk }, SK: { S: write.sk }, ...old };
    for (const change of write.changes) apply(change, item, old);
    this.#put(item);
  }

  #single(landed: boolean, write: Write, before: Item | undefined): Reply {
    if (landed) return http(200, write.images.after ? { Attributes: this.get(write.pk, write.sk) } : {});
    return http(400, {
      __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
      message: "The conditional request failed",
      ...(before && write.images.before && { Item: before }),
    });
  }
}

function transacted(landed: boolean, judged: Judged[], before: (Item | undefined)[]): Reply {
  if (landed) return http(200, {});
  return http(400, {
    __type: "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    message: "Transaction cancelled, please refer cancellation reasons for specific reasons",
    CancellationReasons: judged.map(({ write, passed }, at) =>
      passed
        ? { Code: "None" }
        : {
            Code: "ConditionalCheckFailed",
            Message: "The conditional request failed",
            ...(before[at] && write.images.before && { Item: before[at] }),
          },
    ),
  });
}

const http = (status: number, body: object): Reply => ({ tag: "http", val: { status, body: JSON.stringify(body) } });

function holds({ attribute, test, operand }: Term, item: Item | undefined): boolean {
  const left = item?.[attribute];
  if (test === "exists") return left !== undefined;
  if (test === "absent") return left === undefined;
  if (!operand) return false;
  const right = "value" in operand ? operand.value : item?.[operand.attribute];
  if (left === undefined || right === undefined) return test === "<>" && (left ?? right) !== undefined;
  const [a, b] = [wholeOf(left), wholeOf(right)];
  if (a === undefined || b === undefined) {
    const same = JSON.stringify(left) === JSON.stringify(right);
    return test === "=" ? same : test === "<>" && !same;
  }
  switch (test) {
    case "=":
      return a === b;
    case "<>":
      return a !== b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
  }
}

function apply(change: Change, item: Record<string, Value>, old: Item | undefined): void {
  switch (change.kind) {
    case "set":
      item[change.attribute] = change.value;
      break;
    case "snapshot":
      item[change.attribute] = old?.[change.source] ?? change.otherwise;
      break;
    case "add": {
      const [base, more] = [wholeOf(old?.[change.attribute] ?? { N: "0" }), wholeOf(change.value)];
      if (base === undefined || more === undefined) throw new Unreadable(`an addition to ${change.attribute}`);
      item[change.attribute] = { N: (base + more).toString() };
      break;
    }
    case "remove":
      delete item[change.attribute];
      break;
  }
}
