// The limiter in Node, on a real engine.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Hints, Limiter } from "onewindow";
import { awsSigner } from "onewindow/aws";
import { handle } from "onewindow/http";
import { loadCore } from "onewindow/node";
import { dynamodb } from "./kit.mjs";

const sign = awsSigner({ region: "us-east-1", accessKeyId: "any", secretAccessKey: "any" });
const core = loadCore();
const limits = [{ name: "session", capacity: 3, resetAfterSeconds: 3600 }];
const of = (entity) => ({ table: "onewindow", namespace: "default", entity, resource: "gpt-4" });
let database;

before(async () => (database = await dynamodb()));
after(() => database.stop());

const limiter = (options = {}) => new Limiter({ core, endpoint: database.endpoint, sign, deadlineMs: 10_000, ...options });

test("takes, rejects, remembers, settles, previews", async () => {
  const one = limiter();
  const take = (tokens) => one.acquire({ subject: of("user-1"), consume: { session: tokens }, limits });
  const first = await take(3);
  assert.equal(first.allowed, true);
  assert.equal(first.cost.roundTrips, 2);
  assert.equal(first.limits[0].available, 0n);
  const no = await take(1);
  assert.equal(no.outcome.tag, "rejected");
  assert.equal(no.limits[0].resetsAtMs, first.limits[0].resetsAtMs);
  const remembered = await take(1);
  assert.equal(remembered.outcome.tag, "rejected");
  assert.equal(remembered.cost.requests, 0);
  assert.deepEqual(await one.settle("onewindow", first.lease, { session: 1 }), { tag: "settled" });
  const again = await take(2);
  assert.equal(again.allowed, true);
  assert.equal(again.cost.requests, 1);
  const report = await one.preview(of("user-1"), limits);
  assert.equal(report.val.limits[0].status.available, 0n);
  assert.equal(report.val.limits[0].shards[0].state, "live");
});

test("a settlement keeps the larger shard count, and what was rejected is forgotten", async () => {
  const hints = new Hints();
  const one = limiter({ hints });
  const take = () => one.acquire({ subject: of("user-10"), consume: { session: 3 }, limits });
  const { lease } = await take();
  assert.equal((await take()).outcome.tag, "rejected");
  const key = "onewindow#default#user-10#gpt-4";
  const learned = hints.get(key);
  assert.equal(learned.rejections.length, 1);
  hints.put(key, { ...learned, shardCount: 4 }, Date.now());
  // The settlement reads one shard, which knows of no other.
  assert.deepEqual(await one.settle("onewindow", lease, { session: 0 }), { tag: "settled" });
  assert.deepEqual(hints.get(key), { ...learned, shardCount: 4, rejections: [] });
});

test("forty at once on one core, and no more than the quota", async () => {
  const one = limiter({ hints: new Hints(0) });
  const take = () => one.acquire({ subject: of("user-2"), consume: { session: 1 }, limits });
  const answers = await Promise.all(Array.from({ length: 40 }, take));
  assert.equal(answers.filter(({ allowed }) => allowed).length, 3);
});

test("what is undefined is left at its default", async () => {
  const away = { endpoint: "http://127.0.0.1:9", deadlineMs: 200 };
  const undefinedOptions = Object.fromEntries(
    [
      ...["sign", "fetch", "attemptTimeoutMs", "firstBackoffMs", "longestBackoffMs", "followUpDeadlineMs"],
      ...["onUnavailable", "repeatRejectionsForMs", "hints", "observe"],
    ].map((option) => [option, undefined]),
  );
  const subject = of("user-6");
  const blocked = await limiter({ ...undefinedOptions, ...away }).acquire({ subject, consume: { session: 1 }, limits });
  assert.deepEqual([blocked.allowed, blocked.outcome.tag], [false, "unavailable"]);
  const one = limiter({ ...undefinedOptions, sign });
  const full = await one.acquire({ subject, consume: { session: 3 }, limits });
  assert.equal(full.allowed, true);
  await one.acquire({ subject, consume: { session: 1 }, limits });
  const remembered = await one.acquire({ subject, consume: { session: 1 }, limits });
  assert.deepEqual([remembered.outcome.tag, remembered.cost.requests], ["rejected", 0]);
});

test("a rejection is repeated for a while, and a repeated one is not learned again", async (t) => {
  const one = limiter({ repeatRejectionsForMs: 5_000 });
  const take = () => one.acquire({ subject: of("user-7"), consume: { session: 3 }, limits });
  assert.equal((await take()).allowed, true);
  const requests = async (afterMs) => {
    t.mock.timers.tick(afterMs);
    const { outcome, cost } = await take();
    assert.equal(outcome.tag, "rejected");
    return cost.requests;
  };
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  assert.notEqual(await requests(0), 0);
  assert.equal(await requests(3_000), 0);
  assert.notEqual(await requests(2_000), 0);
  const never = limiter({ repeatRejectionsForMs: 0 });
  for (let time = 0; time < 2; time += 1) {
    const { cost } = await never.acquire({ subject: of("user-7"), consume: { session: 3 }, limits });
    assert.notEqual(cost.requests, 0);
  }
});

test("a lease says whose it is, and nothing is sent", async () => {
  const away = limiter({ endpoint: "http://127.0.0.1:9", observe: () => assert.fail("asked") });
  const { lease } = await limiter().acquire({ subject: of("user-8"), consume: { session: 1 }, limits });
  assert.deepEqual(away.leaseSubject("onewindow", lease), of("user-8"));
  for (const text of ["", "{}", "no lease", lease.slice(1)]) assert.equal(away.leaseSubject("onewindow", text), undefined);
});

test("the surface refuses a lease of another namespace before anything is sent", async () => {
  const { lease } = await limiter().acquire({ subject: of("user-9"), consume: { session: 1 }, limits });
  const service = { limiter: limiter({ observe: () => assert.fail("asked") }), table: "onewindow", namespace: "other" };
  for (const [shown, words] of [[lease, /of the namespace "default", expected "other"/], ["{}", /not one of ours/]]) {
    const body = JSON.stringify({ lease: shown, actual: { session: 0 } });
    const response = await handle(service, new Request("http://h/settle", { method: "POST", body }), () => {});
    assert.equal(response.status, 400);
    assert.match((await response.json()).detail, words);
  }
});

test("every failure is an outcome", async () => {
  const seen = [];
  const away = limiter({ endpoint: "http://127.0.0.1:9", deadlineMs: 200, observe: (answer) => seen.push(answer) });
  const take = (of, consume) => away.acquire({ subject: of, consume, limits });
  assert.equal((await take(of("user-3"), { session: 1 })).outcome.tag, "unavailable");
  assert.equal((await take(of("jürgen"), { session: 1 })).outcome.val.code, "invalid-request");
  assert.equal((await take(of("user-3"), { session: -1 })).outcome.val.code, "invalid-request");
  assert.equal((await take(of(7), { session: 1 })).outcome.val.code, "invalid-request");
  assert.deepEqual(seen.map(({ outcome }) => outcome), ["unavailable", "failed", "failed", "failed"]);
  assert.ok(!JSON.stringify(seen, (_, value) => (typeof value === "bigint" ? `${value}` : value)).includes("user-3"));
  const open = limiter({ endpoint: "http://127.0.0.1:9", deadlineMs: 200, onUnavailable: "allow" });
  const through = await open.acquire({ subject: of("user-3"), consume: { session: 1 }, limits });
  assert.deepEqual([through.allowed, through.degraded, through.outcome.tag], [true, true, "unavailable"]);
});

test("every answer is observed, without who asked, and no observer harms one", async () => {
  const seen = [];
  const observe = (answer) => {
    seen.push(answer);
    throw new Error("the observer fails");
  };
  const one = limiter({ observe });
  const subject = of("user-5");
  const first = await one.acquire({ subject, consume: { session: 3 }, limits });
  const no = await one.acquire({ subject, consume: { session: 1 }, limits });
  assert.deepEqual([first.allowed, no.outcome.tag], [true, "rejected"]);
  assert.equal((await one.preview(subject, limits)).tag, "report");
  assert.equal((await one.settle("onewindow", first.lease, { session: 0 })).tag, "settled");
  const { resetsAtMs } = first.limits[0];
  const plain = { degraded: false, requests: 1, resends: 0, roundTrips: 1 };
  assert.ok(seen.every(({ latencyMs }) => latencyMs >= 0));
  assert.deepEqual(seen.map(({ latencyMs, ...reported }) => reported), [
    { operation: "acquire", outcome: "admitted", ...plain, requests: 2, roundTrips: 2, resetsAtMs },
    { operation: "acquire", outcome: "rejected", ...plain, resetsAtMs, retryAfterMs: no.outcome.val },
    { operation: "preview", outcome: "report", ...plain, resetsAtMs },
    { operation: "settle", outcome: "settled", ...plain },
  ]);
});

test("one fault of the core ends what was under way on it, and no more", async () => {
  const one = limiter();
  const slow = one.acquire({ subject: of("user-4"), consume: { session: 1 }, limits });
  assert.throws(() => core.call(() => { throw new WebAssembly.RuntimeError("unreachable"); }));
  const { outcome } = await slow;
  assert.deepEqual([outcome.tag, outcome.val.code], ["failed", "other"]);
  assert.equal((await one.acquire({ subject: of("user-4"), consume: { session: 1 }, limits })).outcome.tag, "admitted");
});
