// Takes the pictures for the README: `npm run pictures`. With a folder, every view at every size instead.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { open, PAUSED_MS, sample, SIZES, start } from "./kit.mjs";

const site = await start();
const [folder] = process.argv.slice(2);

async function quota(options, path, full) {
  const { page, close } = await open(site, { zone: "Europe/Berlin", ...options });
  await page.clock.pauseAt(PAUSED_MS);
  await sample(page, "In the middle");
  await page.screenshot({ path, fullPage: full, animations: "disabled" });
  await close();
}

async function walk(options, path, full) {
  const { page, close } = await open(site, { zone: "Europe/Berlin", ...options });
  await page.getByRole("tab", { name: "How a reset works" }).click();
  for (let step = 1; step < 4; step += 1) await page.getByRole("button", { name: "Next" }).click();
  await page.locator("h2", { hasText: "Propagating to the other shards" }).waitFor();
  // The focus is for those who move with the keyboard.
  await page.evaluate(() => document.activeElement.blur());
  await page.screenshot({ path, fullPage: full, animations: "disabled" });
  await close();
}

async function landing(options, path, full) {
  const { page, close } = await open(site, options);
  await page.screenshot({ path, fullPage: full, animations: "disabled" });
  await close();
}

if (folder) {
  mkdirSync(folder, { recursive: true });
  for (const size of Object.keys(SIZES)) {
    for (const scheme of ["light", "dark"]) {
      for (const view of [landing, quota, walk]) {
        await view({ size, scheme }, join(folder, `${view.name}-${size}-${scheme}.png`), true);
      }
    }
  }
} else {
  const here = fileURLToPath(new URL("../pictures", import.meta.url));
  mkdirSync(here, { recursive: true });
  await quota({ scheme: "light" }, join(here, "quota.png"), false);
  await walk({ scheme: "dark" }, join(here, "walk.png"), false);
}
await site.stop();
