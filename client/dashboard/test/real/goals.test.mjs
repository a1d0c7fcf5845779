// What a page costs: bytes, requests, statements and nodes are asserted; times depend on the machine and are printed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { newContext, visit } from "../browser/page.mjs";
import { base, logIn, sql, token } from "./server.mjs";

/** The statements of the dashboard in this part of the server's log. */
const statements = (log) => log.split("\n").filter((line) => /belay dashboard LOG:  (execute|statement)/.test(line)).map((line) => /LOG:  (?:execute [^:]*|statement): (.*)/.exec(line)[1]);
const log = () => readFileSync(process.env.BELAY_SERVER_LOG, "utf8");

/** The longest time between two frames while this is done, in ms. */
async function longestFrame(page, what) {
  await page.evaluate(() => {
    window.longest = 0;
    let last = performance.now();
    const tick = (now) => {
      window.longest = Math.max(window.longest, now - last);
      last = now;
      window.frame = requestAnimationFrame(tick);
    };
    window.frame = requestAnimationFrame(tick);
  });
  await what();
  return page.evaluate(() => {
    cancelAnimationFrame(window.frame);
    return Math.round(window.longest);
  });
}
const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

test("B21 the overview, cold: bytes, requests, statements, nodes", async (t) => {
  // A hub of its own: what others leave behind has bytes and nodes, too.
  sql("SELECT count(*) FROM generate_series(1, 6) AS n, LATERAL goals.create_task('queue-' || n, '{}')");
  sql("ALTER SYSTEM SET log_statement = 'all'");
  sql("SELECT pg_reload_conf()");
  t.after(() => {
    sql("ALTER SYSTEM RESET log_statement");
    sql("SELECT pg_reload_conf()");
  });
  const { context, troubles, close } = await newContext({ url: base });
  t.after(close);
  // Logged in, with nothing in the cache.
  const page = await logIn(context, { url: base, token });
  await page.goto("about:blank");
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.clearBrowserCache");
  await cdp.send("Performance.enable");
  const sent = new Map();
  let bytes = 0;
  cdp.on("Network.requestWillBeSent", (e) => sent.set(e.requestId, e.request.url));
  cdp.on("Network.loadingFinished", (e) => { bytes += e.encodedDataLength; });
  const before = log().length;
  const begun = Date.now();
  await page.goto(base + "/h/goals");
  await page.waitForSelector(".table tbody tr");
  const data = Date.now() - begun;
  await page.waitForLoadState("load");
  await page.waitForSelector(".foot >> text=data of");
  const urls = [...sent.values()].filter((url) => !url.startsWith("data:"));
  const asked = statements(log().slice(before));
  const { metrics } = await cdp.send("Performance.getMetrics");
  const metric = (name) => metrics.find((m) => m.name === name).value;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
  console.log(`# overview, cold: ${bytes} bytes, ${urls.length} requests, ${asked.length} statements, ${await nodes(page)} nodes; first paint ${Math.round(paint)} ms (goal 1000), data ${data} ms (goal 1500), script ${Math.round(metric("ScriptDuration") * 1000)} ms (goal 200)`);
  assert.ok(bytes > 20_000 && bytes <= 120 * 1024, `${bytes} bytes`);
  assert.ok(urls.length <= 12, urls.join("\n"));
  assert.deepEqual(urls.filter((url) => !url.startsWith(base)), []);
  assert.ok(asked.length >= 1 && asked.length <= 12, asked.join("\n"));
  assert.ok((await nodes(page)) <= 3000);
  assert.deepEqual(troubles, []);
});

test("B21 a history of 50,000 events: few nodes; how long it takes, and its frames", async (t) => {
  sql("SELECT goals.start_orchestration('Long', '', 'long')");
  sql("SELECT goals.ack_orchestration_item(lock_token, 1, '[]', '[]', '[]', '{\"orchestration_name\": \"Long\", \"orchestration_version\": \"1\"}') FROM goals.fetch_orchestration_item(60000)");
  const event = "json_build_object('event_id', n, 'event_type', CASE WHEN n % 2 = 0 THEN 'ActivityCompleted' ELSE 'ActivityScheduled' END, 'event_data', json_build_object('event_id', n, 'name', 'Row ' || n, 'source_event_id', CASE WHEN n % 2 = 0 THEN n - 1 END, 'timestamp_ms', (extract(epoch FROM now()) * 1000)::bigint - 200000 + n * 3)::text)";
  for (let i = 0; i < 10; i++) sql(`SELECT goals.append_history('long', 1, (SELECT jsonb_agg(${event}) FROM generate_series(${i * 5000 + 1}, ${(i + 1) * 5000}) AS n))`);
  const { context, troubles, close } = await newContext({ url: base });
  t.after(close);
  const page = await logIn(context, { url: base, token });
  const begun = Date.now();
  await page.goto(`${base}/h/goals/instances/long`);
  await page.waitForFunction(() => document.querySelectorAll(".bar").length > 5);
  const usable = Date.now() - begun;
  await page.waitForSelector("text=50,000 of 50,000 events");
  const frame = await longestFrame(page, async () => {
    for (let i = 1; i <= 20; i++) {
      await page.locator(".timeline-rows").evaluate((el, part) => { el.scrollTop = (el.scrollHeight * part) / 20; }, i);
      await page.evaluate(() => new Promise(requestAnimationFrame));
    }
  });
  console.log(`# 50,000 events: usable after ${usable} ms (goal 3000), all after ${Date.now() - begun} ms, longest frame ${frame} ms (goal 100), ${await nodes(page)} nodes`);
  await page.waitForSelector(".bar .nr >> text=#49999");
  assert.ok((await nodes(page)) <= 3000);
  await visit(page, `${base}/h/goals/instances/long?tab=events&event=40001`);
  await page.waitForSelector(".event-row.selected >> text=40001");
  assert.ok((await nodes(page)) <= 3000);
  assert.deepEqual(troubles, []);
});
