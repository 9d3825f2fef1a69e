// What the page shows is what the core decides, here and natively.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { awsSigner } from "onewindow/aws";
import { END_MS, onewindow, open, start, until } from "./kit.mjs";

const vectors = (name) => new URL(`../../../component/tests/vectors/${name}.jsonl`, import.meta.url);
const lines = (name) => readFileSync(vectors(name), "utf8").trim().split("\n");

let site;
before(async () => {
  site = await start();
});
after(() => site.stop());

/** A vector's shards as stored items. */
function itemsOf({ shards }) {
  const n = (value) => ({ N: `${value}` });
  return shards.map((shard, id) => ({
    PK: { S: `ns/BUCKET#e#r#${id}` },
    SK: { S: "#STATE" },
    rf: n(shard.last_refill_ms),
    shard_count: n(shard.shard_count),
    b_q_tk: n(shard.tokens_milli),
    b_q_cp: n(BigInt(shard.capacity) * 1000n),
    b_q_ra: n(0),
    b_q_rp: n(1000),
    ...Object.fromEntries(
      [
        ["tc", shard.total_consumed_milli],
        ["wtc", shard.consumed_mark_milli],
        ["gc", shard.grant_count],
        ["tu", shard.topped_up_milli],
        ["ws", shard.window_start_ms],
        ["wa", shard.window_applied_ms],
        ["rsa", shard.reset_after_seconds],
      ]
        .filter(([, value]) => value !== null)
        .map(([field, value]) => [`b_q_${field}`, n(value)]),
    ),
  }));
}

// JSON numbers beyond 2^53 would not survive `JSON.parse`; as text they do.
const exact = (line) => JSON.parse(line.replace(/(?<=: )-?\d{16,}(?=[,}\]])/g, '"$&"'));

const cases = lines("preview").map(exact);

// The native core is held against the same lines, and against the vectors' own answers, in
// `component/tests/support/vectors.rs`.
test("the 200 preview vectors, through the component in the browser", async () => {
  const { page, close } = await open(site);
  assert.equal(cases.length, 200);
  const reports = await page.evaluate(async (cases) => {
    const { preview } = await import("./probe.js");
    return cases.map(({ items, nowMs }) => JSON.parse(preview(items, nowMs)));
  }, cases.map(({ input }) => ({ items: itemsOf(input), nowMs: input.now_ms })));
  const shown = reports.map(({ limits: [{ available, resets_at_ms }] }) => JSON.stringify({ available, resets_at_ms }));
  if (process.env.UPDATE) writeFileSync(vectors("preview_shown"), `${shown.join("\n")}\n`);
  assert.deepEqual(shown, lines("preview_shown"));
  await close();
});

test("the whole ones among them, as the page shows them", async () => {
  const { page, close } = await open(site);
  const shown = lines("preview_shown").map((line) => JSON.parse(line));
  const whole = cases.map(({ input }, at) => ({ input, expected: shown[at] })).filter(({ input }) => Math.max(...input.shards.map((shard) => shard.shard_count)) === input.shards.length);
  assert.equal(whole.length, 162);
  const grouped = new Intl.NumberFormat("en-GB");
  // Every third: the rest differs in numbers only.
  for (const { input, expected } of whole.filter((_, at) => at % 3 === 0)) {
    await page.evaluate(
      async ([items, nowMs]) => {
        const { link } = await import("./probe.js");
        location.hash = await link({ subject: { table: "t", namespace: "ns", entity: "e", resource: "r" }, items }, nowMs);
      },
      [itemsOf(input), input.now_ms],
    );
    await until(
      page,
      ([nowMs, count]) =>
        new Date(document.querySelector(".exact input")?.value).getTime() === nowMs &&
        document.querySelectorAll(".shards > li").length === count,
      [input.now_ms, input.shards.length],
    );
    const left = grouped.format(BigInt(expected.available)).replace("-", "−");
    assert.equal(await page.locator(".left strong").first().textContent(), left);
    const instants = page.locator("time.instant");
    if (expected.resets_at_ms === null) {
      assert.equal(await instants.count(), 0);
    } else {
      const reset = new Date(expected.resets_at_ms).toISOString().replace(".000Z", "Z");
      assert.equal(await instants.getAttribute("datetime"), reset);
      assert.equal(await instants.textContent(), new Date(expected.resets_at_ms).toISOString().slice(11, 19));
    }
  }
  await close();
});

// `component/tests/page.rs` replays the same file through the native core.
test("the walk and the samples come to what the native core comes to", async () => {
  const { page, close } = await open(site);
  const recorded = await page.evaluate(async (end) => (await import("./probe.js")).record(end), END_MS);
  if (process.env.UPDATE) writeFileSync(vectors("page"), `${recorded.join("\n")}\n`);
  assert.deepEqual(recorded.map((line) => JSON.parse(line)), lines("page").map((line) => JSON.parse(line)));
  await close();
});

test("every step of the walk shows those values, forward and back", async () => {
  const { page, close } = await open(site);
  const scenes = lines("page").map((line) => JSON.parse(line)).filter(({ about }) => about.startsWith("walk"));
  await page.getByRole("tab", { name: "How a reset works" }).click();
  const at = async (index) => {
    const { about, now_ms, report, attempt } = scenes[index];
    const session = report.limits.find(({ name }) => name === "session");
    assert.equal(await page.locator(".story h2").textContent(), about.replace("walk: ", ""));
    const [time, left, reset] = await page.locator(".facts dd").allTextContents();
    const clock = (ms) => new Date(ms).toISOString().slice(11, 23).replace(".000", "");
    assert.equal(time, clock(now_ms));
    assert.equal(left, `${session.available} of ${session.capacity}`);
    assert.equal(reset, session.resets_at_ms === null ? "no window" : clock(session.resets_at_ms));
    const held = await page.locator(".timeline .held-text").allTextContents();
    const share = (milli) => `${milli / 1000}`;
    assert.deepEqual(
      held.map((text) => text.split(" / ")[0]),
      session.shards.map(({ state, balance_milli }) => (state === "absent" ? "–" : share(balance_milli))),
    );
    if (attempt && (await page.locator(".verdict").count()) === 1) {
      const title = attempt.outcome.tag === "admitted" ? "Admitted" : "Rejected";
      assert.equal(await page.locator(".verdict strong").textContent(), title);
    }
  };
  for (let index = 0; index < scenes.length; index += 1) {
    await at(index);
    if (index < scenes.length - 1) await page.getByRole("button", { name: "Next" }).click();
  }
  for (let index = scenes.length - 1; index > 0; index -= 1) {
    await page.getByRole("button", { name: "Back" }).click();
    await at(index - 1);
  }
  await close();
});

// The page's own table is held against a real one.
test("every recorded call gets the same answer from a real DynamoDB", async () => {
  const { endpoint, stop } = await onewindow(["dynamodb", "--listen", "127.0.0.1:0", "--table", "limits"]);
  try {
    const sign = awsSigner({ region: "eu-west-1", accessKeyId: "any", secretAccessKey: "any" });
    const send = async (operation, body) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const headers = { "content-type": "application/x-amz-json-1.0", "x-amz-target": `DynamoDB_20120810.${operation}` };
      const response = await fetch(endpoint, {
        method: "POST",
        headers: await sign({ url: `${endpoint}/`, headers, body: text }, new Date()),
        body: text,
      });
      return { status: response.status, body: await response.json() };
    };
    let calls = 0;
    for (const line of lines("page").map((line) => JSON.parse(line))) {
      if (!line.attempt) continue;
      const scan = await send("Scan", { TableName: "limits" });
      for (const { PK, SK } of scan.body.Items) await send("DeleteItem", { TableName: "limits", Key: { PK, SK } });
      for (const Item of line.attempt.items ?? line.items) {
        assert.equal((await send("PutItem", { TableName: "limits", Item })).status, 200);
      }
      const made = async ({ operation, body, reply }) => {
        const real = await send(operation, body);
        calls += 1;
        assert.equal(real.status, reply.status, `${line.about}: ${JSON.stringify(real.body)}`);
        assert.deepEqual(essence(real.body), essence(JSON.parse(reply.body)), line.about);
      };
      for (const round of line.attempt.rounds) for (const call of round) await made(call);
      for (const call of line.attempt.follow_ups) await made(call);
    }
    assert.ok(calls > 40, `${calls} calls`);
  } finally {
    await stop();
  }
});

/** What the core reads of a reply: the wording of messages is each table's own, and so is order. */
function essence({ Attributes, Item, Responses, CancellationReasons, __type }) {
  const byKey = (a, b) => (a.PK.S < b.PK.S ? -1 : 1);
  return {
    Attributes,
    Item,
    Responses: Responses && Object.fromEntries(Object.entries(Responses).map(([table, items]) => [table, items.toSorted(byKey)])),
    reasons: CancellationReasons?.map(({ Code, Item }) => ({ Code, Item })),
    type: __type?.replace(/.*#/, ""),
  };
}
