// Every kind of action on real objects: what is asked, the statement that is shown against the server's log, the event.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { newContext, open, visit } from "../browser/page.mjs";
import { base, logIn, sql, token, until } from "./server.mjs";

const at = (path) => `${base}/h/app/${path}`;
const task = (queue) => sql(`SELECT task_id FROM app.create_task('${queue}', '{}')`);
const claimed = (queue) => sql(`SELECT task_id FROM app.create_task('${queue}', '{}'), LATERAL (SELECT count(*) FROM app.claim_tasks('w', 'b9', '{${queue}}', p_lease_ms => 600000)) AS c`);
const state = (id) => sql(`SELECT app.get_task('${id}') ->> 'state'`);

/** Each with its view, how it is begun there, what its dialog says, and what is so afterwards. */
const actions = [
  {
    call: "cancel_task",
    object: () => claimed("b9-cancel"),
    view: (id) => `tasks/${id}`,
    begin: (page) => page.click("[data-actions] >> text=Cancel"),
    effect: "The task ends as cancelled.",
    reason: "required",
    event: "task_cancelled",
    after: (id) => assert.equal(state(id), "cancelled"),
  },
  {
    call: "revoke_lease",
    object: () => claimed("b9-revoke"),
    view: (id) => `tasks/${id}`,
    begin: (page) => page.click("[data-actions] >> text=Revoke lease"),
    effect: "The worker loses its lease.",
    reason: "required",
    event: "lease_revoked",
    after: (id) => assert.equal(state(id), "ready"),
  },
  {
    call: "change_priority",
    object: () => task("b9-priority"),
    view: (id) => `tasks/${id}`,
    begin: async (page) => {
      await page.click("[data-actions] >> text=Priority");
      await page.fill("#field-priority", "7");
    },
    effect: "The task gets priority 7.",
    reason: "optional",
    event: "priority_changed",
    after: (id) => assert.equal(sql(`SELECT app.get_task('${id}') ->> 'priority'`), "7"),
  },
  {
    call: "replay_task",
    object: () => {
      const id = task("b9-replay");
      sql(`SELECT app.cancel_task('${id}', 'by mistake')`);
      return id;
    },
    view: (id) => `tasks/${id}`,
    begin: (page) => page.click("[data-actions] >> text=Replay"),
    event: "replayed",
    after: (id) => assert.equal(state(id), "ready"),
  },
  {
    call: "pause_queue",
    object: () => "images",
    view: (queue) => `queues/${queue}`,
    begin: (page) => page.click("[data-actions] >> text=Pause"),
    effect: "Queue images hands out no more tasks.",
    reason: "optional",
    event: "queue_changed",
    after: (queue) => assert.equal(sql(`SELECT paused FROM app.list_queues() WHERE queue = '${queue}'`), "t"),
  },
  {
    call: "resume_queue",
    object: () => "images",
    view: (queue) => `queues/${queue}`,
    begin: (page) => page.click("[data-actions] >> text=Resume"),
    event: "queue_changed",
    after: (queue) => assert.equal(sql(`SELECT paused FROM app.list_queues() WHERE queue = '${queue}'`), "f"),
  },
  {
    call: "set_queue",
    object: () => "images",
    view: (queue) => `queues/${queue}`,
    begin: async (page) => {
      await page.click("[data-actions] >> text=Limits");
      await page.fill("#field-concurrency", "9");
    },
    effect: "The limits of queue images change at once.",
    typedIn: '"concurrency":9',
    reason: "optional",
    event: "queue_changed",
    after: (queue) => assert.equal(sql(`SELECT concurrency FROM app.list_queues() WHERE queue = '${queue}'`), "9"),
  },
  {
    call: "approve_task",
    object: () => {
      const id = task("b9-approve");
      const claim = JSON.parse(sql("SELECT row_to_json(c) FROM app.claim_tasks('w', 'b9', '{b9-approve}', p_lease_ms => 600000) AS c"));
      sql(`SELECT app.suspend_task('${id}', ${claim.lease_epoch}, '{"reason_code": "waiting_for_approval", "waitpoints": [{"key": "boss"}], "condition": {"single": {"key": "boss"}}}')`);
      return id;
    },
    view: (id) => `tasks/${id}?tab=waitpoints`,
    begin: (page) => page.click("td >> text=Approve"),
    event: "approved",
    after: (id) => assert.equal(state(id), "ready"),
  },
  {
    call: "redrive_dead_letter",
    object: () => sql(`INSERT INTO app.dead_letters SELECT nextval('app.dead_letters_id'), 'worker', 1, 'b9', 1, 1, NULL, NULL, '{"ActivityExecute":{"instance":"b9","execution_id":1,"id":1,"name":"B9","input":""}}', 3, 'max_attempts', NULL, now(), now() RETURNING id`),
    view: () => "dead-letters?instance_id=b9",
    begin: async (page, id) => {
      await page.click(`tbody button.id >> text=${id}`);
      await page.click("dialog [data-actions] >> text=Redrive");
    },
    event: "dead_letters_redriven",
    after: () => assert.equal(sql("SELECT count(*) FROM app.work_items WHERE instance_id = 'b9'"), "1"),
  },
  {
    call: "delete_task",
    object: () => {
      const id = task("b9-delete");
      sql(`SELECT app.cancel_task('${id}', 'no longer needed')`);
      return id;
    },
    view: (id) => `tasks/${id}`,
    begin: async (page) => {
      await page.click("[data-actions] >> text=⋯");
      await page.click("[data-actions] >> text=Delete");
    },
    effect: "The task, its attempts and its key are deleted.",
    reason: "optional",
    typed: true,
    event: "task_deleted",
    after: (id) => assert.equal(sql(`SELECT count(*) FROM app.tasks WHERE id = '${id}'`), "0"),
  },
];

/** The call of this function as the server has logged it, with its parameters filled in. */
function logged(log, call) {
  const lines = log.split("\n");
  const found = lines.findIndex((line) => line.includes("belay dashboard LOG:  execute") && line.includes(`FROM "app".${call}(`));
  assert.ok(found >= 0, `no call of ${call} in the log`);
  const text = /\(SELECT \* FROM (.*)\) AS r$/.exec(lines[found])[1];
  const parameters = new Map([...lines[found + 1].matchAll(/\$(\d+) = (NULL|'(?:[^']|'')*')/g)].map(([, n, value]) => [n, value]));
  return `SELECT * FROM ${text.replace(/\$(\d+)/g, (_all, n) => parameters.get(n))}`;
}

/** Types are written in one of the two only, as are the quotes of names and numbers; JSON is written in two ways. */
const sorted = (json) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(json)).sort()));
const plain = (text) => text.replace(/'(\{.*\})'/, (_all, json) => sorted(json)).replace(/;$/, "").replace("\"app\".", "app.").replace(/::[a-z]+/g, "").replace(/'t'/g, "true").replace(/'f'/g, "false").replace(/'(-?\d+|true|false)'/g, "$1");

test("B9 each action: asked, the statement that is shown is the one that runs, and its event is seen", async (t) => {
  const { context, troubles, close } = await newContext({ url: base });
  t.after(close);
  sql("ALTER SYSTEM SET log_statement = 'all'");
  sql("SELECT pg_reload_conf()");
  t.after(() => {
    sql("ALTER SYSTEM RESET log_statement");
    sql("SELECT pg_reload_conf()");
  });
  const page = await logIn(context, { url: base, token });
  const audit = await context.newPage();
  await open(audit, at("events?tab=audit"));
  await audit.waitForSelector(".live.open");
  // A tab behind another one is drawn once a second: every step in it would take as long.
  await page.bringToFront();
  const told = [];
  for (const action of actions) {
    const object = action.object();
    const reason = `it's for ${action.call}: "$1", :reason, 100 % <b>`;
    await visit(page, at(action.view(object)));
    const before = readFileSync(process.env.BELAY_SERVER_LOG, "utf8").length;
    await action.begin(page, object);
    let shown;
    if (action.effect) {
      await page.waitForSelector(`dialog >> text=${action.effect}`);
      const button = page.locator("dialog .dialog-foot button").last();
      if (action.reason === "required") assert.equal(await button.isDisabled(), true, action.call);
      await page.fill("#reason", reason);
      if (action.typed) {
        await page.fill("#typed", object.slice(1));
        assert.equal(await button.isDisabled(), true, action.call);
        await page.fill("#typed", object);
      }
      await page.click("dialog summary");
      const statement = page.locator("dialog .sql pre").first();
      // The functions with an argument for it have the reason in it; of all others it is in belay.reason.
      const typed = action.reason === "required" ? "it''s for" : (action.typedIn ?? "");
      await until("the statement has what was typed", async () => (await statement.textContent()).includes(typed));
      shown = await statement.textContent();
      await page.locator("dialog .dialog-foot button:not([disabled])").last().click();
      await page.waitForSelector("dialog", { state: "detached" });
    }
    const notice = page.locator(".notice").last();
    await notice.waitFor();
    assert.match(await notice.getAttribute("class"), /ok/, `${action.call}: ${await notice.textContent()}`);
    await notice.locator("summary").click();
    const ran = await notice.locator(".sql pre").textContent();
    if (shown !== undefined) assert.equal(ran, shown);
    const log = readFileSync(process.env.BELAY_SERVER_LOG, "utf8").slice(before);
    assert.equal(plain(logged(log, action.call)), plain(ran));
    action.after(object);
    const event = JSON.parse(sql("SELECT app.browse_events('{\"topics\": [\"operator\"]}', p_limit => 1) -> 'rows' -> 0"));
    assert.equal(event.type, action.event, JSON.stringify(event));
    if (action.effect) assert.equal(event.reason ?? event.details?.reason, reason, JSON.stringify(event));
    told.push([action.event, action.effect ? reason : ""]);
    await notice.locator(".icon-button").click();
    await notice.waitFor({ state: "detached" });
  }
  // The other tab is told of each, with the next samples.
  await audit.bringToFront();
  for (const [event, reason] of told) await audit.locator("tr", { hasText: event }).filter({ hasText: reason }).first().waitFor();
  assert.deepEqual(troubles, []);
});
