// The pure functions, on items as the table spells them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { amounts, CoreFault, limits, Refusal } from "onewindow";
import { loadInspect } from "onewindow/node";

const inspect = loadInspect();
const OPENED = 1_800_000_000_000n;
const HOUR = 3_600_000n;
const configured = limits([{ name: "session", capacity: 100, resetAfterSeconds: 3600 }]);
const subject = { table: "onewindow", namespace: "default", entity: "user-1", resource: "gpt-4" };

/** Shard 0 of a bucket that nobody used, created with a debit. */
function opened(tokens) {
  const join = inspect.call(({ rules }) =>
    rules.planJoin(subject, 0, 1, [], configured, amounts({ session: tokens }), false, OPENED),
  );
  const items = JSON.parse(join.call.body).TransactItems;
  return { join, item: items.find(({ Put, Update }) => Put || Update) };
}

test("a first use, as a transaction", () => {
  const { join, item } = opened(30);
  assert.equal(join.admitted, true);
  assert.equal(join.call.operation, "TransactWriteItems");
  assert.equal(join.limits[0].leftMilli, 70_000n);
  assert.equal(join.limits[0].endsAtMs, OPENED + HOUR);
  assert.ok(item);
});

test("a preview of items", () => {
  const text = JSON.stringify(stored("70000"));
  const report = inspect.call(({ rules }) => rules.survey([text], 1, configured, OPENED + 1000n));
  assert.deepEqual(report.limits[0].status, {
    name: "session",
    capacity: 100n,
    available: 70n,
    resetsAtMs: OPENED + HOUR,
  });
  assert.equal(report.limits[0].shards[0].state, "live");
  const over = inspect.call(({ rules }) => rules.survey([text], 1, configured, OPENED + HOUR));
  assert.equal(over.limits[0].status.available, 100n);
  assert.equal(over.limits[0].status.resetsAtMs, undefined);
});

test("a refusal is the contract's, and the instance goes on", () => {
  const instance = inspect.call((exports) => exports);
  for (const [text, code] of [
    ["nonsense", "invalid-request"],
    [JSON.stringify({ ...stored("1"), b_session_cp: { S: "many" } }), "corrupt-item"],
  ]) {
    const refused = () => inspect.call(({ rules }) => rules.decodeItem(text));
    assert.throws(refused, (error) => error instanceof Refusal && error.code === code && error.message.length > 0);
  }
  assert.equal(inspect.call((exports) => exports), instance);
});

test("anything else is a fault, and the next call gets a new instance", () => {
  const before = inspect.call((exports) => exports);
  assert.throws(() => inspect.call(() => { throw new WebAssembly.RuntimeError("unreachable"); }), CoreFault);
  assert.notEqual(inspect.call((exports) => exports), before);
});

test("numbers that the glue would wrap are refused", () => {
  for (const bad of [-1, -1n, 1.5, 2 ** 53, Number.NaN, 1n << 64n, "1", null]) {
    assert.throws(() => amounts({ session: bad }), /expected a whole number/);
  }
  assert.deepEqual(amounts({ session: (1n << 64n) - 1n }), [{ limit: "session", tokens: (1n << 64n) - 1n }]);
});

/** An item in a live window, with so much left. */
function stored(tk) {
  const n = (value) => ({ N: `${value}` });
  return {
    PK: { S: "default/BUCKET#user-1#gpt-4#0" },
    SK: { S: "#STATE" },
    shard_count: n(1),
    rf: n(OPENED),
    b_session_tk: n(tk),
    b_session_cp: n(100_000),
    b_session_ra: n(0),
    b_session_rp: n(1000),
    b_session_tc: n(30_000),
    b_session_rsa: n(3600),
    b_session_ws: n(OPENED),
    b_session_wa: n(OPENED),
    b_session_wtc: n(0),
    b_session_gc: n(1),
  };
}
