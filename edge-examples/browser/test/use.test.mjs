// The page, used: with a mouse, with a keyboard alone, with bad data, with a host, with a link.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { NOW_MS, onewindow, open, PAUSED_MS, sample, SIZES, start, until } from "./kit.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let site;
before(async () => {
  site = await start();
});
after(() => site.stop());

const text = async (page, selector) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim();

test("the countdown moves by the second, and at the instant the quota is back", async () => {
  const { page, close } = await open(site, { zone: "America/New_York" });
  await page.clock.pauseAt(PAUSED_MS);
  await sample(page, "Half a minute to go");
  assert.match(await text(page, ".countdown"), /^in 30 s$/);
  assert.equal(await text(page, ".instant"), "05:05:52");
  assert.match(await text(page, ".when"), /^Today, Wednesday 2 December ?America\/New_York/);
  assert.equal(await text(page, ".left strong"), "15");
  // The page reads the clock five times a second.
  await page.clock.runFor(300);
  await page.clock.runFor(1_000);
  assert.match(await text(page, ".countdown"), /^in 29 s$/);
  assert.match(await page.title(), /^in 29s · user-2/);
  await page.clock.runFor(28_000);
  assert.match(await text(page, ".countdown"), /^in 1 s$/);
  assert.equal(await text(page, ".left strong"), "15");
  await page.clock.runFor(1_000);
  assert.equal(await page.locator(".countdown").count(), 0);
  assert.equal(await text(page, ".left strong"), "100");
  assert.equal(await text(page, ".instant"), "full");
  await close();
});

test("every state of a shard is said in words, with its rule", async () => {
  const { page, close } = await open(site);
  await sample(page, "In the middle");
  const rows = await page.locator(".shards > li").allInnerTexts();
  assert.equal(rows.length, 8);
  for (const [shard, words] of [
    [0, /Live.*412 of 1,000.*nothing moves the start.*R1/s],
    [2, /655\.5 of 1,000.*\.014/s],
    [3, /−36.*36 in debt.*6\.8/s],
    [4, /Pending.*210.*counts with 880.*R2 ?R3.*resets it to its share of 1,000.*R4/s],
    [5, /Ended.*318.*counts with 1,000.*opens a new one.*R1.*R13/s],
    [6, /No item.*joins the window.*R7.*R8/s],
  ]) {
    assert.match(rows[shard], words);
  }
  assert.match(await page.locator(".timeline svg").first().getAttribute("aria-label"), /8 shards at .*: 5 live, 1 pending, 1 ended, 1 no item/);
  await page.getByRole("button", { name: "rpm" }).click();
  assert.equal(await text(page, ".instant"), "all the time");
  assert.match((await page.locator(".shards > li").allInnerTexts())[0], /A dripping limit has no window.*R12/s);
  await close();
});

test("what if: admitted, gathered, rejected, and the opener propagates", async () => {
  const { page, close } = await open(site);
  await page.clock.pauseAt(PAUSED_MS);
  await sample(page, "In the middle");
  const amount = page.getByLabel("I ask for");
  assert.match(await text(page, ".verdict"), /^Admitted By shard \d\.$/);
  assert.match(await text(page, ".trace"), /To the answer: 1 round trip landed Shard \d session balance − 1/);
  await amount.fill("3000");
  assert.match(await text(page, ".verdict"), /^Admitted (Gathered|By shard)/);
  await amount.fill("7000");
  assert.match(await text(page, ".verdict"), /^Rejected Ask again in 1 h 12 min 49 s\. session: 4,938 left over all shards, resets at/);
  assert.equal(await page.getByRole("button", { name: "Let it happen" }).isDisabled(), true);
  await amount.fill("8001");
  assert.match(await text(page, ".verdict"), /^Never fits/);
  await amount.fill("many");
  assert.match(await text(page, "#amount-fault"), /“many” is no amount/);

  await amount.fill("5");
  await page.getByRole("button", { name: "1 ms before the reset" }).click();
  assert.equal(await text(page, ".countdown"), "in 1 ms");
  await page.getByRole("button", { name: "At the reset", exact: true }).click();
  assert.match(await text(page, ".left dt"), /^Left at 11:18:10\.014$/);
  assert.match(await text(page, ".verdict"), /^Admitted/);
  const heading = await text(page, ".trace h3:last-of-type");
  assert.match(heading, /^After the answer: shards .* and \d$/);
  const follow = page.locator(".trace .calls").last();
  assert.match(await follow.locator("li").first().innerText(), /session window start = .*\n?.*session consumed mark = consumed in all, as it stands/s);
  await follow.locator("summary").first().click();
  assert.ok((await follow.locator(".conditions li").count()) >= 3);

  await page.getByRole("button", { name: "Let it happen" }).click();
  await until(page, () => document.querySelector(".left strong").textContent !== "8,000");
  assert.ok((await page.locator(".chip.pending").count()) >= 4);
  assert.equal(await text(page, ".instant"), "16:18:10");
  await page.getByRole("button", { name: "Undo" }).click();
  await until(page, () => document.querySelector(".left strong").textContent === "8,000");
  await close();
});

test("nothing left: it says so, until when, and after", async () => {
  const { page, close } = await open(site);
  await page.clock.pauseAt(PAUSED_MS);
  await sample(page, "Nothing left");
  assert.equal(await text(page, ".left strong"), "−6");
  assert.match(await text(page, ".blocked"), /^Every request is refused until 10:56:51/);
  assert.match(await text(page, ".left > div:nth-child(2)"), /^After the reset 400 of 400$/);
  assert.match(await text(page, ".verdict"), /^Rejected Ask again in 51 min/);
  await close();
});

test("bad input says what is wrong and where", async () => {
  const { page, close } = await open(site);
  const paste = async (input) => {
    await page.getByLabel("Paste or drop JSON").fill(input);
    await page.getByRole("button", { name: "Show" }).click();
    return text(page, "#json-fault");
  };
  const item = (extra) => ({ PK: { S: "d/BUCKET#e#r#3" }, SK: { S: "#STATE" }, rf: { N: "1" }, ...extra });
  assert.match(await paste(" "), /^The input is empty/);
  assert.match(await paste('{\n  "Items": [\n    { "PK": oops }\n  ]\n}'), /^Line 3, column 13 is no JSON from here on\. \{ "PK": oops \} \^$/);
  assert.match(await paste('{ "Items": [ '), /^Line 1, column 14 is cut off here/);
  assert.match(await paste("42"), /^The input is JSON, but no object/);
  assert.match(await paste('{ "Count": 0 }'), /an object with Count. Expected Items/);
  assert.match(await paste('{ "Items": [] }'), /holds no bucket item .* it is empty/);
  assert.match(await paste(JSON.stringify({ Items: [{ PK: "d/BUCKET#e#r#0", SK: "#STATE" }] })), /^Items\[0\] is plain JSON/);
  assert.match(await paste(JSON.stringify({ Items: [{ PK: { S: "d/ENTITY#e" }, SK: { S: "#META" } }] })), /but 1 of other kinds/);
  assert.match(
    await paste(JSON.stringify({ Items: [item({}), item({ b_q_tk: { N: "1.5" }, b_q_cp: { N: "1" } })] })),
    /^Items\[1\] \(shard 3\) .*b_q_tk.*1\.5/,
  );
  assert.match(await paste(JSON.stringify([item({ rf: { S: "x" } })])), /^\[0\] \(shard 3\) .*rf/);
  assert.match(await paste(JSON.stringify({ shard_count: 1, limits: [{ name: "q", capacity: "x" }] })), /^limits\[0\]\.capacity is "x", expected a whole number/);
  assert.equal(await page.getByLabel("Paste or drop JSON").getAttribute("aria-invalid"), "true");
  await close();
});

test("a file is dropped: batch-get-item, other items left aside, two buckets to choose from", async () => {
  const { page, close } = await open(site);
  const n = (value) => ({ N: `${value}` });
  const bucket = (entity, tokens) => ({
    ...{ PK: { S: `ns/BUCKET#${entity}#r#0` }, SK: { S: "#STATE" }, shard_count: n(1), rf: n(NOW_MS - 5000) },
    ...{ b_q_tk: n(tokens * 1000), b_q_cp: n(100_000), b_q_ra: n(0), b_q_rp: n(1000) },
    ...{ b_q_rsa: n(3600), b_q_ws: n(NOW_MS - 5000), b_q_wa: n(NOW_MS - 5000), b_q_gc: n(1) },
  });
  const file = { Responses: { limits: [bucket("one", 10), { PK: { S: "ns/ENTITY#one" }, SK: { S: "#META" } }, bucket("two", 20)] } };
  const data = await page.evaluateHandle((json) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([json], "items.json", { type: "application/json" }));
    return transfer;
  }, JSON.stringify(file));
  await page.dispatchEvent("form", "drop", { dataTransfer: data });
  await page.locator(".hero").waitFor();
  assert.match(await text(page, ".whose"), /^one r 1 shard 1 item of other kinds left aside/);
  assert.equal(await text(page, ".left strong"), "10");
  await page.getByLabel("Bucket").selectOption("1");
  assert.equal(await text(page, ".left strong"), "20");
  await close();
});

test("a real host's preview, asked from another origin, and pasted", async () => {
  const { endpoint, stop } = await onewindow(["serve", "--listen", "127.0.0.1:0", "--limit", "session=100/1h", "--allow-origin", new URL(site.url).origin]);
  try {
    const taken = await fetch(`${endpoint}/acquire`, {
      method: "POST",
      body: JSON.stringify({ entity: "user-9", resource: "gpt-4", consume: { session: 30 } }),
      headers: { "content-type": "application/json" },
    });
    const { limits } = await taken.json();
    const { page, close } = await open(site, { allowed: [endpoint] });
    await page.clock.setFixedTime(Date.now());
    await page.getByLabel("Address").fill(endpoint);
    await page.getByLabel("Entity").fill("user-9");
    await page.getByLabel("Resource").fill("gpt-4");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.locator(".hero").waitFor();
    assert.equal(await text(page, ".left strong"), "70");
    assert.equal(await page.locator("time.instant").getAttribute("datetime"), new Date(limits[0].resets_at_ms).toISOString().replace(".000Z", "Z"));
    await fetch(`${endpoint}/acquire`, {
      method: "POST",
      body: JSON.stringify({ entity: "user-9", resource: "gpt-4", consume: { session: 5 } }),
      headers: { "content-type": "application/json" },
    });
    await page.getByRole("button", { name: "Ask again" }).click();
    await until(page, () => document.querySelector(".left strong").textContent === "65");
    const report = await (await fetch(`${endpoint}/preview?entity=user-9&resource=gpt-4`)).text();
    await page.getByRole("button", { name: "Other data" }).click();
    await page.getByLabel("Paste or drop JSON").fill(report);
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator(".hero").waitFor();
    assert.match(await text(page, ".whose"), /^user-9 gpt-4 1 shard a report/);
    assert.equal(await text(page, ".left strong"), "65");
    await close();
  } finally {
    await stop();
  }
});

test("a host that is not there is said so", async () => {
  const { page, complaints, close } = await open(site, { allowed: ["http://127.0.0.1:9"] });
  await page.getByLabel("Address").fill("http://127.0.0.1:9");
  await page.getByLabel("Entity").fill("e");
  await page.getByLabel("Resource").fill("r");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("alert").waitFor();
  assert.match(await text(page, "[role=alert]"), /^http:\/\/127\.0\.0\.1:9 gave no answer/);
  assert.ok(complaints.splice(0).every((complaint) => /Failed to load resource/.test(complaint)));
  await close();
});

test("a link carries the items and the moment, and no request does", async () => {
  const first = await open(site);
  await first.page.clock.pauseAt(PAUSED_MS);
  await sample(first.page, "In the middle");
  await first.page.getByRole("button", { name: "1 ms before the reset" }).click();
  await first.page.getByRole("button", { name: "Share" }).click();
  await until(first.page, () => location.hash.startsWith("#v1."));
  const fragment = await first.page.evaluate(() => location.hash);
  const shown = async (page) => [await text(page, ".instant"), await text(page, ".left"), await text(page, ".shards")];
  const shownFirst = await shown(first.page);
  await first.close();

  const second = await open(site, { fragment });
  await second.page.locator(".hero").waitFor();
  assert.deepEqual(await shown(second.page), shownFirst);
  await second.close();

  const cut = await open(site, { fragment: fragment.slice(0, -40) });
  assert.match(await text(cut.page, "[role=alert]"), /does not hold a whole state/);
  await cut.close();
});

test("with a keyboard alone", async () => {
  const { page, close } = await open(site);
  const focused = () => page.evaluate(() => (document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent).trim());
  const tabTo = async (name, backwards = false) => {
    for (let pressed = 0; pressed < 60; pressed += 1) {
      if ((await focused()).startsWith(name)) return;
      await page.keyboard.press(backwards ? "Shift+Tab" : "Tab");
    }
    assert.fail(`no way to ${name}`);
  };
  // What has the focus is seen to have it.
  const ringed = async () => {
    const width = await page.evaluate(() => {
      const at = document.activeElement.matches('input[type="file"]') ? document.activeElement.parentElement : document.activeElement;
      return getComputedStyle(at).outlineStyle === "none" ? 0 : parseFloat(getComputedStyle(at).outlineWidth);
    });
    assert.ok(width >= 2, `${await focused()} shows no focus`);
  };
  await tabTo("In the middle");
  await ringed();
  await page.keyboard.press("Enter");
  await page.locator(".hero").waitFor();
  await until(page, () => document.activeElement.tagName === "MAIN");
  await tabTo("Moment looked at");
  await ringed();
  const moment = () => page.evaluate(() => Number(document.querySelector("input[type=range]").value));
  // From here on the moment is held.
  await page.keyboard.press("ArrowLeft");
  const before = await moment();
  await page.keyboard.press("ArrowRight");
  const step = (await moment()) - before;
  assert.ok(step >= 1000, `a step of ${step} ms`);
  await page.keyboard.press("PageDown");
  assert.equal(await moment(), before - 9 * step);
  assert.match(await page.locator("input[type=range]").getAttribute("aria-valuetext"), /before the reset$/);
  await tabTo("At the reset");
  await page.keyboard.press("Space");
  assert.equal(await text(page, ".left strong"), "8,000");
  await page.keyboard.press("Tab");
  for (let field = 0; field < 12 && (await page.evaluate(() => document.activeElement.inputMode)) !== "numeric"; field += 1) {
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Control+A");
  await page.keyboard.type("12");
  assert.match(await text(page, ".verdict"), /^Admitted/);
  await tabTo("Only if");
  await ringed();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".trace details[open]").count(), 1);
  await tabTo("Your quota", true);
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(), "How a reset works");
  await page.locator(".walk").waitFor();
  await tabTo("Next");
  await page.keyboard.press("Enter");
  assert.equal(await focused(), "The window ends");
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(), "The opener");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await focused(), "One millisecond early");
  await close();
});

for (const size of Object.keys(SIZES)) {
  test(`axe finds nothing, and nothing sticks out sideways: ${size}`, async () => {
    for (const scheme of ["light", "dark"]) {
      const { page, close } = await open(site, { size, scheme });
      const check = async (what) => {
        await page.evaluate(axe);
        const violations = await page.evaluate(async () => {
          const { violations } = await window.axe.run(document);
          return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`);
        });
        assert.deepEqual(violations, [], `${what}, ${scheme}`);
        const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(wide <= room, `${what}, ${scheme}: ${wide} in ${room}`);
      };
      await check("the landing");
      await page.getByLabel("Paste or drop JSON").fill("{");
      await page.getByRole("button", { name: "Show" }).click();
      await check("a fault");
      await sample(page, "In the middle");
      await page.getByLabel("I ask for").fill("3000");
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      await check("the quota");
      await page.getByRole("button", { name: "At the reset", exact: true }).click();
      await check("at the reset");
      await page.getByRole("tab", { name: "How a reset works" }).click();
      for (let step = 0; step < 8; step += 1) {
        await check(`step ${step + 1}`);
        await page.getByRole("button", { name: "Next" }).click();
      }
      await check("step 9");
      await close();
    }
  });
}

test("reduced motion: nothing moves", async () => {
  const { page, close } = await open(site, { motion: "reduce" });
  await sample(page, "In the middle");
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await close();
});

test("a policy as strict as can be: no script but its own, no inline, no eval", async () => {
  // Asked for by the test, below, and refused.
  const { page, close, complaints } = await open(site, { allowed: ["https://example.com/"] });
  const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
  assert.match(policy, /default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'/);
  assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'/);
  const refused = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.slipped = true";
    document.head.append(script);
    const image = await new Promise((resolve) => {
      const image = new Image();
      image.onerror = () => resolve("refused");
      image.onload = () => resolve("loaded");
      image.src = "https://example.com/x.png";
    });
    return [window.slipped, image];
  });
  assert.deepEqual(refused, [undefined, "refused"]);
  assert.ok(complaints.splice(0).length > 0);
  await close();
});
