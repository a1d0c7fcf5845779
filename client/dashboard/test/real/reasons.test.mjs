// Why something does not run: each reason of explain_claim, explain_fetch and explain_work_item from a real situation, on its page.
import { test } from "node:test";
import assert from "node:assert/strict";
import { newContext, visit } from "../browser/page.mjs";
import { base, logIn, sql, token, until } from "./server.mjs";

const page_of = (what, id) => `${base}/h/${what === "tasks" ? "why" : "idle"}/${what}/${encodeURIComponent(id)}`;
const task = (queue, more = "") => sql(`SELECT task_id FROM why.create_task('${queue}', '{}'${more})`);
const claim = (queue, ms = 600_000) => sql(`SELECT count(*) FROM why.claim_tasks('w', 'worker-7', '{${queue}}', p_lease_ms => ${ms})`);
/** What this function says of each of these, by their reasons, in one statement. */
function assertReasons(call, found) {
  const ids = Object.fromEntries(Object.entries(found).map(([reason, [id]]) => [reason, id]));
  const said = JSON.parse(sql(`SELECT json_object_agg(i.key, (SELECT json_agg(reason) FROM ${call})) FROM json_each_text('${JSON.stringify(ids)}') AS i(key, id)`));
  for (const reason of Object.keys(ids)) assert.ok(said[reason]?.includes(reason), `${reason}: ${said[reason]}`);
}

/** Leaves a transaction open, as a prepared one, and notes it for the end. */
function leaveOpen(statement, name, open_) {
  sql(`BEGIN; ${statement}; PREPARE TRANSACTION '${name}'`);
  open_.push(name);
}

function tasks(open_) {
  const flow = (tasks_) => sql(`SELECT flow_id FROM why.create_flow('${JSON.stringify(tasks_)}')`);
  const member = (id, key) => sql(`SELECT id FROM why.tasks WHERE flow_id = '${id}' AND flow_key = '${key}'`);
  const found = {};
  found.claimable = [task("idle"), /^It can be claimed now/];
  task("line");
  found.behind = [task("line"), /^1 task of queue line comes before it/];
  found.not_due = [task("later", ", p_delay_ms => 86400000"), /^Its time has not come/];
  found.leased = [task("busy"), /^Worker worker-7 holds its lease/];
  claim("busy");
  found.suspended = [task("asks"), /^It is suspended and waits for a signal/];
  claim("asks");
  sql(`SELECT why.suspend_task('${found.suspended[0]}', lease_epoch, '{"reason_code": "waiting_for_approval", "waitpoints": [{"key": "boss"}], "condition": {"single": {"key": "boss"}}}') FROM why.tasks WHERE id = '${found.suspended[0]}'`);
  sql("SELECT why.set_queue('full', '{\"concurrency\": 1}')");
  task("full");
  claim("full");
  found.queue_concurrency = [task("full"), /^Queue full runs 1 of at most 1 tasks at once/];
  sql("SELECT why.set_queue('slow', '{\"rate_per_s\": 0.001, \"burst\": 1}')");
  task("slow");
  claim("slow");
  found.queue_rate = [task("slow"), /^Queue slow allows 0.001 claims per second; next token in/];
  sql("SELECT why.set_queue('held', '{\"concurrency\": 1}')");
  task("held");
  found.queue_limits_locked = [task("held"), /^An open transaction \(prepared, why-limits\), open for .*, holds the limits of queue held/];
  leaveOpen("SELECT count(*) FROM why.claim_tasks('w', 'worker-7', '{held}')", "why-limits", open_);
  found.capabilities_needed = [task("cpu", ", p_capabilities => '{avx2}'"), /^It can be claimed by a worker with avx2/];
  found.row_locked = [task("locked"), /^An open transaction \(prepared, why-row\), open for .*, holds its row/];
  leaveOpen("SELECT count(*) FROM why.claim_tasks('w', 'worker-7', '{locked}')", "why-row", open_);
  const chain = flow({ tasks: [{ key: "a", queue: "chain" }, { key: "b", queue: "chain", after: ["a"] }] });
  found.blocked_by_upstream = [member(chain, "b"), /^It waits for a task before it/];
  const broken = flow({ tasks: [{ key: "a", queue: "broken" }, { key: "b", queue: "broken", after: ["a"] }] });
  claim("broken");
  sql(`SELECT why.fail_task(id, lease_epoch, 'permanent', 'no') FROM why.tasks WHERE id = '${member(broken, "a")}'`);
  sql(`SELECT why.replay_task('${member(broken, "b")}')`);
  found.upstream_needs_replay = [member(broken, "b"), /^A task before it ended without success/];
  const growing = flow({ seal: false, tasks: [{ key: "a", queue: "grows", hold: true }] });
  found.held_until_seal = [member(growing, "a"), /^It is held until its flow is sealed/];
  sql("SELECT why.pause_queue('stopped')");
  found.queue_paused = [task("stopped"), /^Queue stopped is paused/];
  // Last, because claims settle what is over.
  found.lease_over_unsettled = [task("lost"), /^The lease of worker worker-7 expired .* and has not been settled yet/];
  claim("lost", 1);
  found.deadline_passed = [task("late", `, p_deadline_ms => (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 50`), /^Its deadline has passed/];
  return found;
}

/** Waits until the page gives this reason, with a next step; if it does not, notes what it says. */
async function said(page, list, reason, sentence, troubles) {
  const row = list.filter({ has: page.locator("p", { hasText: sentence }) }).first();
  await row.waitFor({ timeout: 20_000 }).catch(() => undefined);
  if ((await row.count()) === 0) troubles.push(`${reason}: ${JSON.stringify(await list.allTextContents())}`);
  else if ((await row.locator(".next").count()) === 0) troubles.push(`${reason}: no next step`);
}

async function check(page, url, reason, sentence, troubles) {
  await visit(page, url);
  await said(page, page.locator("main .reasons > ul > li"), reason, sentence, troubles);
}

test("B13 why not running: each reason from a real situation, with its sentence and next step", async (t) => {
  const open_ = [];
  // Nothing settles what this test looks at.
  sql("ALTER SYSTEM SET belay.reconcile_interval = 0");
  sql("SELECT pg_reload_conf()");
  t.after(() => {
    for (const name of open_) sql(`ROLLBACK PREPARED '${name}'`);
    sql("ALTER SYSTEM RESET belay.reconcile_interval");
    sql("SELECT pg_reload_conf()");
  });
  await until("the background worker is off", () => sql("SHOW belay.reconcile_interval") === "0");
  const { context, troubles, close } = await newContext({ url: base });
  t.after(close);
  const page = await logIn(context, { url: base, token });

  const found = tasks(open_);
  await until("the deadline has passed", () => sql(`SELECT deadline_ms < extract(epoch FROM clock_timestamp()) * 1000 FROM why.tasks WHERE id = '${found.deadline_passed[0]}'`) === "t");
  assertReasons("why.explain_claim(i.id::uuid)", found);
  for (const [reason, [id, sentence]] of Object.entries(found)) await check(page, page_of("tasks", id), reason, sentence, troubles);
  // Each of its own: answers are kept for some seconds.
  const paused = task("idle");
  sql("SELECT why.pause_hub('tasks')");
  await check(page, page_of("tasks", paused), "hub_paused", /^Tasks of this hub are paused/, troubles);
  sql("SELECT why.resume_hub('tasks')");
  // A page asks for no caller's capabilities and slots, and not why an ended task does not run: its rows are what the server says then.
  const others = {
    capabilities_missing: [`'${found.capabilities_needed[0]}', '{sse}', NULL`, /^No worker with avx2 has claimed from queue idle/],
    slot_not_given: [`'${found.claimable[0]}', NULL, '{}'`, /^It belongs to slot 0, which no claim has asked for/],
    terminal: [`(SELECT id FROM why.tasks WHERE state = 'failed' LIMIT 1)`, /^It has ended: failed/],
    not_found: ["'00000000-0000-4000-8000-000000000000'", /^The task does not exist/],
  };
  for (const [reason, [call, sentence]] of Object.entries(others)) {
    const rows = JSON.parse(sql(`SELECT coalesce(json_agg(json_build_object('reason', reason, 'detail', detail, 'until_ms', NULL)), '[]') FROM why.explain_claim(${call})`));
    assert.ok(rows.some((r) => r.reason === reason), `${reason}: ${JSON.stringify(rows)}`);
    await page.route("**/explain", (route) => route.fulfill({ json: { at_ms: Date.now(), took_ms: 1, sql: "SELECT 1;", rows } }));
    await check(page, page_of("tasks", found.claimable[0]), reason, sentence, troubles);
    await page.unroute("**/explain");
  }
  assert.deepEqual(troubles, []);
});

test("B13 what an instance waits for, and why a work item is not fetched", async (t) => {
  const open_ = [];
  t.after(() => open_.forEach((name) => sql(`ROLLBACK PREPARED '${name}'`)));
  const { context, troubles, close } = await newContext({ url: base });
  t.after(close);
  const page = await logIn(context, { url: base, token });
  const start = (id, delay = "") => sql(`SELECT idle.start_orchestration('O', '', '${id}'${delay})`);
  const ack = (work = "[]", send = "[]") => sql(`SELECT idle.ack_orchestration_item(lock_token, 1, '[]', '${work}', '${send}', '{"orchestration_name": "O", "orchestration_version": "1"}') FROM idle.fetch_orchestration_item(60000)`);
  const activity = (id) => ({ ActivityExecute: { instance: "quiet", execution_id: 1, id, name: "Act" } });

  for (const id of ["quiet", "still"]) {
    start(id);
    ack();
  }
  start("later");
  ack();
  sql(`SELECT idle.enqueue_orchestrator_work('later', '{"ExternalRaised": {"instance": "later", "name": "e", "data": ""}}', now() + interval '1 day')`);
  start("spent");
  ack();
  sql("INSERT INTO idle.dead_letters SELECT nextval('idle.dead_letters_id'), 'orchestrator', 1, 'spent', NULL, NULL, NULL, NULL, '{\"CancelInstance\":{\"instance\":\"spent\"}}', 3, 'orphan', NULL, now(), now()");
  start("leased");
  sql("SELECT count(*) FROM idle.fetch_orchestration_item(600000)");
  start("held");
  leaveOpen("SELECT count(*) FROM idle.fetch_orchestration_item(600000)", "why-turn", open_);
  sql(`SELECT idle.start_orchestration('O', '', 'hidden', '1', 86400000), idle.cancel_instance('hidden', '')`);
  sql("SELECT idle.cancel_instance('nobody', '')");
  const found = {
    no_messages: ["quiet", /^Nothing is queued for it/],
    not_visible: ["later", /^All its messages lie in the future/],
    dead_lettered: ["spent", /^It has dead letters: orphan: 1/],
    locked: ["leased", /^A dispatcher has leased its turn/],
    in_transaction: ["held", /^An open transaction is in the way: .*why-turn.* holds the instance or its messages/],
    start_hidden: ["hidden", /^It has not started; its start lies in the future/],
    never_started: ["nobody", /^It has messages but no start/],
  };
  assertReasons("idle.explain_fetch(i.id)", found);
  for (const [reason, [id, sentence]] of Object.entries(found)) await check(page, page_of("instances", id), reason, sentence, troubles);
  sql("SELECT idle.pause_hub('orchestrator')");
  await check(page, page_of("instances", "still"), "paused", /^The orchestrator queue is paused/, troubles);
  sql("SELECT idle.resume_hub('orchestrator')");
  // A page asks for no range of versions: the row is what the server says to a dispatcher that does.
  const [row] = JSON.parse(sql("SELECT json_agg(json_build_object('reason', reason, 'detail', json_build_object('text', detail), 'until_ms', NULL)) FROM idle.explain_fetch('quiet', 2, 1) WHERE reason = 'version_filter'"));
  await page.route("**/api/v1/h/idle/instances/quiet", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), waits: [row] } });
  });
  await check(page, page_of("instances", "quiet"), "version_filter", /^Its version \(the range of versions is empty\) is outside the range that dispatchers ask for/, troubles);

  const enqueue = (id, more = "") => sql(`SELECT idle.enqueue_worker_work('${JSON.stringify(activity(id))}'${more})`);
  const items = {};
  const last = () => sql("SELECT max(id) FROM idle.work_items");
  enqueue(1);
  items.leased = [last(), /^It is leased by "worker-7"/];
  sql("SELECT count(*) FROM idle.fetch_work_item(600000, 'worker-7', 600000)");
  enqueue(2, ", p_session_id => 's'");
  sql("SELECT count(*) FROM idle.fetch_work_item(600000, 'worker-7', 600000)");
  enqueue(3, ", p_session_id => 's'");
  items.session_held = [last(), /^Its session "s" is with owner "worker-7"; only that owner can fetch it/];
  enqueue(4);
  items.in_transaction = [last(), /^An open transaction holds it: .*why-item/];
  leaveOpen("SELECT count(*) FROM idle.fetch_work_item(600000)", "why-item", open_);
  enqueue(5, ", p_tag => 'gpu'");
  items.tag_needed = [last(), /^It can be fetched by workers with the tag "gpu"/];
  enqueue(6);
  items.not_visible = [last(), /^It becomes visible later/];
  sql("SELECT idle.abandon_work_item(lock_token, 86400000) FROM idle.fetch_work_item(600000)");
  enqueue(7);
  items.dead_lettered = [last(), /^It has used up max_attempts/];
  sql(`UPDATE idle.worker_queue SET attempt_count = 1000 WHERE id = ${last()}`);
  enqueue(8);
  items.fetchable = [last(), /^It can be fetched now/];
  enqueue(9);
  const paused = last();
  const expect = async (reason, id, sentence) => {
    await page.click(`tbody button.id >> text=/^${id}$/`);
    await said(page, page.locator("dialog .reasons > ul > li"), reason, sentence, troubles);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  };
  assertReasons("idle.explain_work_item(i.id::bigint)", items);
  await visit(page, `${base}/h/idle/work-items`);
  for (const [reason, [id, sentence]] of Object.entries(items)) await expect(reason, id, sentence);
  sql("SELECT idle.pause_hub('worker')");
  await expect("paused", paused, /^The worker queue is paused/);
  assert.deepEqual(troubles, []);
});
