// The pages against the real server: each screen, hostile values, the policy, links without a login.
import { test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { execFileSync } from "node:child_process";
import { axe, newContext, open } from "../browser/page.mjs";
import { until } from "./server.mjs";

const [base, token] = process.env.BELAY_DASHBOARD_URL.split("/#token=");
const server = { url: base };
const sql = (text) => execFileSync("psql", ["-XqAt", "-c", text]).toString().trim();

async function loggedIn(t, options = {}) {
  const { context, troubles, close } = await newContext(server, options);
  t.after(close);
  const page = await context.newPage();
  await page.goto(`${base}/#token=${token}`);
  await page.waitForSelector(".table, .empty");
  return { page, context, troubles };
}

function paths() {
  const one = (text) => sql(text);
  const task = one("SELECT task_id FROM app.list_tasks('{\"state\": \"completed\"}') LIMIT 1");
  const failed = one("SELECT task_id FROM app.list_tasks('{\"state\": \"failed\"}') LIMIT 1");
  const flow = one("SELECT flow_id FROM app.list_flows() LIMIT 1");
  // A lease for the page of workers.
  one("SELECT count(*) FROM app.create_task('held', '{}'), app.claim_tasks('w', 'holder', '{held}', p_lease_ms => 600000)");
  const instance = one("SELECT instance_id FROM app.list_instances() LIMIT 1");
  return ["/", "/h/app", "/h/app/queues", "/h/app/queues/images", "/h/app/work-items", "/h/app/messages", "/h/app/instances", `/h/app/instances/${instance}`, `/h/app/instances/${instance}?tab=events`, "/h/app/tasks", "/h/app/tasks?tab=failed", `/h/app/tasks/${task}`, `/h/app/tasks/${failed}`, "/h/app/flows", `/h/app/flows/${flow}`, "/h/app/schedules", "/h/app/dead-letters", "/h/app/events?tab=subscriptions", "/h/app/workers", "/h/app/health", "/settings"];
}

for (const theme of ["light", "dark"]) {
  test(`B1 every screen of the real server, ${theme}`, async (t) => {
    const { page, troubles } = await loggedIn(t, { colorScheme: theme });
    for (const path of paths()) {
      await open(page, base + path);
      assert.equal(await page.locator(".callout.bad[role=alert], main .error").count(), 0, path);
      // Nothing here is older than some minutes: a time that is taken for an age would be.
      assert.doesNotMatch(await page.locator("main").innerText(), /\d{3,} d\b|NaN|undefined|\[object|Invalid Date/, path);
      troubles.push(...(await axe(page, theme === "dark" ? ["color-contrast"] : null)).map((v) => `${path} ${v}`));
    }
    assert.deepEqual(troubles, []);
  });
}

test("B2 hostile values are text", async (t) => {
  const hostile = ["<script>window.hacked=1</script>", '"><svg onload=window.hacked=1>', "<img src=x onerror=window.hacked=1>", "javascript:window.hacked=1", "${window.hacked=1}", "__proto__", "a\u202eb\u200bc", "x/y%2F..#?&", ".."];
  const quote = (s) => `'${s.replace(/'/g, "''")}'`;
  for (const [i, text] of hostile.entries()) {
    sql(`SELECT hostile.create_task(${quote(text)}, jsonb_build_object('html', ${quote(text)}), p_kind => ${quote(text)}, p_dedup_key => ${quote(text + i)}); SELECT hostile.start_orchestration(${quote(text)}, ${quote(text)}, ${quote(text)})`);
  }
  const { page, troubles } = await loggedIn(t);
  const segment = (s) => encodeURIComponent(s === ".." || s.startsWith("~") ? `~${s}` : s);
  const list = ["", "queues", "tasks", "instances", "messages", "health", ...hostile.map((s) => `queues/${segment(s)}`), ...hostile.map((s) => `instances/${segment(s)}`)];
  for (const id of sql("SELECT task_id FROM hostile.list_tasks()").split("\n")) list.push(`tasks/${id}`);
  for (const path of list) {
    await open(page, `${base}/h/hostile/${path}`).catch(async (error) => {
      throw new Error(`${path}: ${error.message}\n${await page.locator("main").innerText()}`, { cause: error });
    });
    assert.equal(await page.evaluate(() => window.hacked), undefined, path);
    assert.equal(await page.locator(".callout.bad[role=alert]").count(), 0, path);
  }
  assert.deepEqual(troubles, []);
});

test("B2 a hub with a hostile name is text, and works", async (t) => {
  const name = '"><img src=x onerror=window.hacked=1>';
  const id = sql(`SELECT task_id FROM "${name.replace(/"/g, '""')}".create_task('mail', '{}')`);
  const { page, troubles } = await loggedIn(t);
  await open(page, base);
  assert.ok((await page.locator("tbody").textContent()).includes(name));
  for (const path of ["", "/queues", "/tasks", `/tasks/${id}`, "/instances", "/events", "/health"]) {
    await open(page, `${base}/h/${encodeURIComponent(name)}${path}`);
    assert.ok((await page.locator(".hub-menu").textContent()).includes(name), path);
    assert.equal(await page.locator(".callout.bad[role=alert]").count(), 0, path);
    assert.equal(await page.locator("img").count(), 0, path);
    assert.equal(await page.evaluate(() => window.hacked), undefined, path);
  }
  await page.click("button >> text=SQL >> nth=0");
  assert.ok((await page.locator("dialog[open] pre").textContent()).includes(`"""><img src=x onerror=window.hacked=1>".`));
  assert.deepEqual(troubles, []);
});

test("an instance: its waits are what explain_waits says; a list in the callers' order says so", async (t) => {
  sql("SELECT waits.start_orchestration('Waits', '{}', 'waits-for-it')");
  // The names of large events and of keys are found.
  const delta = [
    ["ExternalSubscribed", { name: "go" }],
    ["ActivityScheduled", { event_id: 2, name: "Large", input: 'x,"y'.repeat(3000) }],
    ["KeyValueSet", { key: "stage", value: "1" }],
  ].map(([event_type, data], n) => ({ event_id: n + 1, event_type, event_data: JSON.stringify(data) }));
  const items = [{ ActivityExecute: { instance: "waits-for-it", execution_id: 1, id: 2, name: "Charge" } }];
  const text = (value) => `'${JSON.stringify(value).replace(/'/g, "''")}'`;
  sql(`SELECT waits.ack_orchestration_item(lock_token, 1, ${text(delta)}, ${text(items)}, '[]', '{"orchestration_name": "Waits", "orchestration_version": "1"}') FROM waits.fetch_orchestration_item(60000)`);
  const { page, troubles } = await loggedIn(t);
  await open(page, `${base}/h/waits/instances/waits-for-it`);
  await page.waitForSelector(".why >> text=Activity Charge #2 waits for a worker.");
  await page.waitForSelector(".why >> text=It waits for event go.");
  await page.waitForSelector(".bar .name >> text=set stage #3");
  await page.waitForSelector(".bar .name >> text=Large #2");
  await page.waitForSelector(".turns >> text=1 turn");
  await page.click(".why button >> text=SQL");
  const shown = await page.locator("dialog[open] pre").textContent();
  assert.match(shown, /explain_waits\('waits-for-it', 20\)/);
  // The page leaves out that there are no messages where it says what is waited for.
  assert.deepEqual(JSON.parse(sql(shown.replace(/;$/, ""))).map((w) => w.reason).sort(), ["activity", "event", "no_messages"]);
  await page.keyboard.press("Escape");
  sql("SELECT app.create_task('mail', '{\"number\": 9007199254740993}', p_task_id => '11111111-1111-4111-8111-111111111111')");
  await open(page, `${base}/h/app/tasks?tab=all&payload=${encodeURIComponent('{"number": 9007199254740993}')}`);
  await page.waitForSelector("tbody tr >> nth=0");
  await page.waitForSelector(".list-foot >> text=in the order of their ids, which callers chose");
  // The neighbour is another number.
  await open(page, `${base}/h/app/tasks?tab=all&payload=${encodeURIComponent('{"number": 9007199254740992}')}`);
  assert.equal(await page.locator("tbody tr").count(), 0);
  assert.deepEqual(troubles, []);
});

test("links of the health page: how many intents wait for their target, and why the oldest failed", async (t) => {
  sql("INSERT INTO app.intent_links VALUES ('billing', 'nowhere', now()), ('quiet', 'nowhere', now())");
  sql("INSERT INTO app.intent_queue SELECT nextval('app.intent_queue_id'), gen_random_uuid(), now(), now() + interval '1 day', NULL, n, false, 'worker', 'billing', '', '', CASE WHEN n > 1 THEN 'server is away ' || n END, '{}' FROM generate_series(1, 3) AS n");
  t.after(() => sql("DELETE FROM app.intent_queue; DELETE FROM app.intent_links"));
  const { page, troubles } = await loggedIn(t);
  await open(page, `${base}/h/app/health`);
  const cells = (target) => page.locator("tr", { has: page.locator("td", { hasText: target }) }).locator("td").allTextContents();
  assert.deepEqual(await cells("billing"), ["billing", "nowhere", "3", "server is away 2"]);
  assert.deepEqual(await cells("quiet"), ["quiet", "nowhere", "0", ""]);
  assert.deepEqual(troubles, []);
});

test("B3 the policy refuses HTML made of text", async (t) => {
  const { page } = await loggedIn(t);
  const refused = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<b>x</b>";
      return false;
    } catch {
      return true;
    }
  });
  assert.ok(refused);
});

test("B4 a link without a login leads to the login, then to the same view", async (t) => {
  const { context, troubles, close } = await newContext(server);
  t.after(close);
  const page = await context.newPage();
  for (const path of ["/h/app/tasks?tab=failed", "/h/app/instances/a%2Fb%25%23%3F~..", "/h/app/health"]) {
    await context.clearCookies();
    await page.goto(base + path);
    await page.waitForSelector("#token");
    await page.fill("#token", token);
    await page.click("button[type=submit]");
    await page.waitForURL(base + path);
    await page.waitForSelector("h1");
  }
  await page.goBack();
  await page.waitForSelector("h1");
  assert.deepEqual(troubles, []);
});

test("B4 a link on a page of another site leads to its view, although the cookie is strict", async (t) => {
  const { page, troubles } = await loggedIn(t);
  const other = createServer((_request, response) => response.setHeader("Content-Type", "text/html").end(`<a href="${base}/h/app/tasks?tab=failed">tasks</a>`));
  await new Promise((done) => other.listen(0, "127.0.0.1", done));
  t.after(() => other.close());
  // localhost and 127.0.0.1 are different sites.
  await page.goto(`http://localhost:${other.address().port}/`);
  const first = page.waitForRequest(`${base}/h/app/tasks?tab=failed`);
  await page.click("text=tasks");
  assert.equal((await (await first).allHeaders()).cookie, undefined);
  await page.waitForSelector("h1 >> text=Tasks");
  await page.waitForSelector("tbody tr");
  assert.equal(page.url(), `${base}/h/app/tasks?tab=failed`);
  assert.deepEqual(troubles.filter((text) => !text.startsWith("request elsewhere: http://localhost")), []);
});

test("B7 a task that changes is shown without a reload", async (t) => {
  const { page, troubles } = await loggedIn(t);
  const id = sql("SELECT task_id FROM app.create_task('paused-queue', '{}')");
  await open(page, `${base}/h/app/tasks/${id}`);
  // The page listens before the change comes.
  await page.waitForSelector(".live.open");
  await until("the dashboard waits for the task", () => sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'belay dashboard' AND state = 'active' AND query LIKE '%wait_for_work%'") !== "0");
  sql(`SELECT app.cancel_task('${id}', 'by hand')`);
  await page.waitForSelector(".sub .state >> text=cancelled");
  assert.deepEqual(troubles, []);
});

test("B9 an action: confirmation, reason, done, and told", async (t) => {
  const { page, troubles } = await loggedIn(t);
  const id = sql("SELECT task_id FROM app.create_task('paused-queue', '{}')");
  await open(page, `${base}/h/app/tasks/${id}`);
  await page.click("[data-actions] >> text=Cancel");
  await page.waitForSelector("#reason");
  assert.equal(await page.locator("dialog button.primary").isDisabled(), true);
  await page.fill("#reason", "wrong <b>input</b>");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.waitForSelector(".sub .state >> text=cancelled");
  assert.equal(sql(`SELECT state || ', ' || cancel_reason FROM app.tasks WHERE id = '${id}'`), "cancelled, wrong <b>input</b>");
  await page.click("nav.tabs >> text=Audit");
  await page.waitForSelector("td >> text=wrong <b>input</b>");
  // Nothing is destroyed without its id.
  await page.click("[data-actions] >> text=⋯");
  await page.click("[data-actions] >> text=Delete");
  await page.fill("#typed", id.slice(1));
  assert.equal(await page.locator("dialog button.danger").isDisabled(), true);
  await page.fill("#typed", id);
  await page.click("dialog button.danger");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(sql(`SELECT count(*) FROM app.tasks WHERE id = '${id}'`), "0");
  assert.deepEqual(troubles, []);
});

test("B11 a bulk job: 5,000 dead letters are redriven, the 50 that came later are not", async (t) => {
  const { page, context, troubles } = await loggedIn(t);
  const add = (count) =>
    sql(`INSERT INTO app.dead_letters SELECT nextval('app.dead_letters_id'), 'worker', n, 'many', 1, n, NULL, NULL, format('{"ActivityExecute":{"instance":"many","execution_id":1,"id":%s,"name":"Many","input":""}}', n), 3, 'max_attempts', NULL, now(), now() FROM generate_series(1, ${count}) AS n`);
  const left = () => sql("SELECT count(*) FROM app.dead_letters WHERE instance_id = 'many'");
  const waiting = () => sql("SELECT count(*) FROM app.work_items WHERE instance_id = 'many'");
  add(5000);
  await open(page, `${base}/h/app/dead-letters?instance_id=many`);
  await page.locator(".table").last().locator("tbody tr").nth(0).locator("input").check();
  add(50);
  await page.click(".bulk-bar >> text=Redrive all that match");
  await page.fill("#bulk-typed", "5000");
  await page.fill("#bulk-reason", "the service is back");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForURL(/\/bulk\/\d+$/);
  // The job belongs to no tab.
  const job = page.url();
  await page.close();
  const other = await context.newPage();
  await open(other, job);
  await other.waitForSelector(".sub .state >> text=done");
  assert.deepEqual([left(), waiting()], ["50", "5000"]);
  assert.equal(sql("SELECT sum((details ->> 'count')::int) FROM app.outbox_events WHERE type = 'dead_letters_redriven' AND details ->> 'reason' = 'the service is back'"), "5000");
  assert.deepEqual(troubles, []);
});
