// What the browser tests share: a browser, pages that note everything that goes wrong, and axe.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { startFakeApi } from "../fake_api.mjs";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A browser of its own with a context whose pages note errors, violations of the CSP and requests elsewhere in `troubles`. */
export async function newContext(fake, options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: "Europe/Berlin", reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(60_000);
  const troubles = [];
  await context.addInitScript(() => {
    window.addEventListener("securitypolicyviolation", (e) => console.error(`CSP: ${e.violatedDirective} ${e.blockedURI}`));
  });
  context.on("page", (page) => {
    page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
    // A refused request is noted by the browser itself; the page's answer to it is what the tests look at.
    page.on("console", (m) => m.type() === "error" && !/^Failed to load resource/.test(m.text()) && troubles.push(`console: ${m.text()}`));
    page.on("request", (r) => !r.url().startsWith(new URL(fake.url).origin) && !/^(blob|data):/.test(r.url()) && troubles.push(`request elsewhere: ${r.url()}`));
  });
  return { context, troubles, close: () => browser.close() };
}

/** A server and a context for one test, closed with it. */
export async function start(t, server = {}, options = {}) {
  const fake = await startFakeApi(server);
  t.after(() => fake.close());
  const { context, troubles, close } = await newContext(fake, options);
  t.after(close);
  return { fake, context, troubles };
}

/** Opens an address and waits until nothing loads any more. */
export async function open(page, url) {
  await page.goto(url);
  await settled(page);
}

/** Goes on to an address as a link in the page does, without loading the page again; waits until nothing loads any more. */
export async function visit(page, url) {
  await page.evaluate(async (to) => {
    history.pushState(null, "", to);
    window.dispatchEvent(new PopStateEvent("popstate"));
    // By the second frame the screen is the new one.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }, url);
  await settled(page);
}

export async function settled(page) {
  await page.waitForSelector("h1", { timeout: 60000 });
  await page.waitForFunction(() => !document.querySelector(".skeleton, .graph-wait"), null, { timeout: 60000 });
}

/** What axe has to say against the page, by all its rules or by these. */
export async function axe(page, rules = null) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const result = await page.evaluate((only) => window.axe.run(document, { runOnly: only ?? ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] }), rules);
  return result.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${n.any.map((a) => a.message).join("; ")}`).join(" | ")}`);
}
