// The built page in a real Chromium, with a clock that the test moves.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { dist, serve } from "../serve.mjs";

/** The moment at which every test begins: three hours before the walk's old window ends. */
export const NOW_MS = Date.UTC(2026, 11, 2, 10, 4, 22);
/** Where a test that needs it stops the clock: as far ahead as a slow machine takes to load a page. */
export const PAUSED_MS = NOW_MS + 60_000;
/** The end of the walk's old window. */
export const END_MS = Date.UTC(2026, 11, 2, 14, 3, 12);

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A browser, and a server of the page and of the probe. */
export async function start() {
  assert.ok(existsSync(join(dist, "main.js")), "dist/ is not there: npm run build");
  const probes = mkdtempSync(join(tmpdir(), "onewindow-probe-"));
  await build({
    entryPoints: [fileURLToPath(new URL("probe.ts", import.meta.url))],
    outdir: probes,
    bundle: true,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
  });
  const core = dirname(fileURLToPath(import.meta.resolve("onewindow/core")));
  copyFileSync(join(core, "../inspect/inspect.core.wasm"), join(probes, "whole.wasm"));
  const { server, url } = await serve(0, [dist, probes]);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  return {
    url,
    browser,
    async stop() {
      await browser.close();
      server.close();
      rmSync(probes, { recursive: true });
    },
  };
}

export const SIZES = {
  phone: { width: 390, height: 844 },
  laptop: { width: 1280, height: 800 },
  projector: { width: 1920, height: 1080 },
};

/**
 * A page of the viewer's. Whatever it complains of, and whatever it asks of anybody but its own
 * server and `allowed`, fails the test that closes it.
 */
export async function open({ browser, url }, { fragment = "", size = "laptop", scheme = "light", zone = "UTC", motion, allowed = [] } = {}) {
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: scheme,
    locale: "en-GB",
    timezoneId: zone,
    ...(motion && { reducedMotion: motion }),
  });
  const page = await context.newPage();
  const complaints = [];
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  await page.clock.install({ time: NOW_MS });
  await page.goto(url + fragment);
  await page.locator("main").waitFor();
  await page.locator(".foot").waitFor();
  const close = async () => {
    await context.close();
    assert.deepEqual(complaints, []);
    const strange = requests.filter((address) => !address.startsWith(url) && !allowed.some((origin) => address.startsWith(origin)));
    assert.deepEqual(strange, []);
    assert.ok(requests.every((address) => !address.includes("#v1.")), "the fragment was sent");
  };
  return { page, close, complaints, requests };
}

/** Waits until something can be seen to be so; the page's own clock may stand still. */
export async function until(page, seen, ...args) {
  const deadline = Date.now() + 20_000;
  while (!(await page.evaluate(seen, ...args))) {
    assert.ok(Date.now() < deadline, `never so: ${seen}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Opens a sample by its title. */
export async function sample(page, title) {
  await page.getByRole("button", { name: title }).click();
  await page.locator(".hero").waitFor();
}

/** The host's program: what it serves, and how it is ended. */
export async function onewindow(args) {
  const [program, ...rest] = process.env.ONEWINDOW
    ? [process.env.ONEWINDOW, ...args]
    : ["cargo", "run", "--release", "--quiet", "--package", "onewindow-cli", "--", ...args];
  const child = spawn(program, rest, { cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const first = once(createInterface(child.stdout), "line");
  const [line] = await Promise.race([first, ended.then(([code]) => assert.fail(`it ended with ${code}`))]);
  return {
    endpoint: /https?:\/\/\S+/.exec(line)[0],
    async stop() {
      child.kill();
      await ended;
    },
  };
}
