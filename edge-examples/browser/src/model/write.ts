// What a call asks of the table, read back from its expressions.
//
// The core writes them in one form: clauses joined by AND, a clause of several terms in brackets
// and joined by OR, names and values through aliases. That form is all that is read here.

import { placeOf, textOf, type Item, type Value } from "./item.js";

/** One comparison. `operand` is a value, or another attribute's name. */
export interface Term {
  attribute: string;
  test: "exists" | "absent" | "=" | "<>" | "<" | "<=" | ">" | ">=";
  operand?: { value: Value } | { attribute: string };
}

/** One change of an update. */
export type Change =
  | { kind: "set"; attribute: string; value: Value }
  | { kind: "snapshot"; attribute: string; source: string; otherwise: Value }
  | { kind: "add"; attribute: string; value: Value }
  | { kind: "remove"; attribute: string };

/** One write, alone or in a transaction. */
export interface Write {
  kind: "update" | "put" | "check";
  pk: string;
  sk: string;
  /** Whose shard; none for an item that is no bucket. */
  shard?: number;
  changes: Change[];
  /** The whole item, for a put. */
  item?: Item;
  /** All of them must hold; a clause holds where one of its terms does. */
  clauses: Term[][];
  /** Whether the answer carries the item: as it is after, or where it was refused as it was. */
  images: { after: boolean; before: boolean };
}

/** A call, read. */
export type Request =
  | { kind: "read"; table: string; keys: { pk: string; sk: string }[] }
  | { kind: "write"; table: string; writes: Write[]; transaction: boolean };

/** Text that is not in the core's form. */
export class Unreadable extends Error {
  override name = "Unreadable";
}

interface Body {
  TableName: string;
  Key?: Item;
  Item?: Item;
  UpdateExpression?: string;
  ConditionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Record<string, Value>;
  ReturnValues?: string;
  ReturnValuesOnConditionCheckFailure?: string;
}

export function read(operation: string, text: string): Request {
  const body = JSON.parse(text);
  switch (operation) {
    case "BatchGetItem": {
      const [[table, { Keys }] = ["", { Keys: [] }]] = Object.entries<{ Keys: Item[] }>(body.RequestItems);
      return { kind: "read", table, keys: Keys.map((key) => ({ pk: part(key, "PK"), sk: part(key, "SK") })) };
    }
    case "UpdateItem":
      return { kind: "write", table: body.TableName, writes: [write("update", body)], transaction: false };
    case "PutItem":
      return { kind: "write", table: body.TableName, writes: [write("put", body)], transaction: false };
    case "TransactWriteItems": {
      const kinds = { Update: "update", Put: "put", ConditionCheck: "check" } as const;
      const writes = (body.TransactItems as Record<string, Body>[]).map((entry) => {
        const [[name, inner] = ["", undefined]] = Object.entries(entry);
        const kind = kinds[name as keyof typeof kinds];
        if (!kind || !inner) throw new Unreadable(`${name} in a transaction`);
        return { table: inner.TableName, write: write(kind, inner) };
      });
      return {
        kind: "write",
        table: writes[0]?.table ?? "",
        writes: writes.map((entry) => entry.write),
        transaction: true,
      };
    }
    default:
      throw new Unreadable(`the operation ${operation}`);
  }
}

function part(item: Item | undefined, name: string): string {
  const text = textOf(item?.[name]);
  if (text === undefined) throw new Unreadable(`a key without ${name}`);
  return text;
}

function write(kind: Write["kind"], body: Body): Write {
  const aliases = new Aliases(body);
  const key = body.Key ?? body.Item;
  const pk = part(key, "PK");
  const shard = placeOf(pk)?.shard;
  return {
    kind,
    pk,
    sk: part(key, "SK"),
    ...(shard !== undefined && { shard }),
    changes: aliases.changes(body.UpdateExpression ?? ""),
    ...(body.Item && { item: body.Item }),
    clauses: aliases.clauses(body.ConditionExpression ?? ""),
    images: {
      after: body.ReturnValues === "ALL_NEW",
      before: body.ReturnValuesOnConditionCheckFailure === "ALL_OLD",
    },
  };
}

class Aliases {
  readonly #names: Record<string, string>;
  readonly #values: Record<string, Value>;

  constructor(body: Body) {
    this.#names = body.ExpressionAttributeNames ?? {};
    this.#values = body.ExpressionAttributeValues ?? {};
  }

  name(alias: string): string {
    const name = alias.startsWith("#") ? this.#names[alias] : alias;
    if (name === undefined) throw new Unreadable(`the name ${alias}`);
    return name;
  }

  value(alias: string): Value {
    const value = this.#values[alias];
    if (value === undefined) throw new Unreadable(`the value ${alias}`);
    return value;
  }

  clauses(text: string): Term[][] {
    if (text === "") return [];
    return text.split(" AND ").map((clause) =>
      clause
        .replace(/^\((.* OR .*)\)$/, "$1")
        .split(" OR ")
        .map((term) => this.#term(term)),
    );
  }

  #term(text: string): Term {
    const called = /^attribute_(not_)?exists\((\S+)\)$/.exec(text);
    if (called) return { attribute: this.name(called[2]!), test: called[1] ? "absent" : "exists" };
    const compared = /^(\S+) (=|<>|<=|<|>=|>) (\S+)$/.exec(text);
    if (!compared) throw new Unreadable(`the condition ${text}`);
    const [, left = "", test = "", right = ""] = compared;
    const operand = right.startsWith(":") ? { value: this.value(right) } : { attribute: this.name(right) };
    return { attribute: this.name(left), test: test as Term["test"], operand };
  }

  changes(text: string): Change[] {
    // The keywords stand alone; an alias never looks like one.
    const parts = text.split(/(?:^| )(SET|ADD|REMOVE) /).slice(1);
    const changes: Change[] = [];
    for (let at = 0; at + 1 < parts.length; at += 2) {
      const list = parts[at + 1]!.split(/, (?=#|[a-zA-Z])/);
      for (const change of list) changes.push(this.#change(parts[at]!, change));
    }
    return changes;
  }

  #change(keyword: string, text: string): Change {
    if (keyword === "REMOVE") return { kind: "remove", attribute: this.name(text) };
    if (keyword === "ADD") {
      const [left = "", right = ""] = text.split(" ");
      return { kind: "add", attribute: this.name(left), value: this.value(right) };
    }
    const [left = "", right = ""] = text.split(" = ");
    const copied = /^if_not_exists\((\S+), (\S+)\)$/.exec(right);
    if (copied) {
      const [, source = "", otherwise = ""] = copied;
      const attribute = this.name(left);
      return { kind: "snapshot", attribute, source: this.name(source), otherwise: this.value(otherwise) };
    }
    return { kind: "set", attribute: this.name(left), value: this.value(right) };
  }
}
