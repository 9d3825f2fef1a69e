// How soon there is something to see: `npm run paint [LOADS]`. Every load has a browser profile of
// its own, so nothing is cached. Printed: the first paint and the first content, from the start of the
// navigation, ms.
import { SIZES, start } from "./kit.mjs";

const loads = Number(process.argv[2] ?? 20);
const site = await start();
const seen = { "first-paint": [], "first-contentful-paint": [] };
for (let load = 0; load < loads; load += 1) {
  const context = await site.browser.newContext({ viewport: SIZES.laptop });
  const page = await context.newPage();
  await page.goto(site.url);
  const paints = await page.evaluate(
    () =>
      new Promise((done) => {
        const observer = new PerformanceObserver((list) => {
          if (!list.getEntriesByName("first-contentful-paint").length) return;
          done(performance.getEntriesByType("paint").map(({ name, startTime }) => [name, startTime]));
        });
        observer.observe({ type: "paint", buffered: true });
      }),
  );
  for (const [name, at] of paints) seen[name].push(at);
  await context.close();
}
await site.stop();
for (const [name, times] of Object.entries(seen)) {
  times.sort((a, b) => a - b);
  const at = (part) => times[Math.min(times.length - 1, Math.floor(part * times.length))].toFixed(0);
  console.log(`${name}: median ${at(0.5)} ms, slowest ${at(1)} ms, of ${times.length} loads`);
}
