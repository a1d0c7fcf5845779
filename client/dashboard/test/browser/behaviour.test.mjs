// What the page does: links, keys, time, live updates, actions, bulk, rights.
import { test } from "node:test";
import assert from "node:assert/strict";
import { open, settled, start } from "./page.mjs";

/** Waits until the server has seen something. */
async function until(holds) {
  for (let i = 0; i < 300; i++) {
    if (holds()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(`never: ${holds}`);
}

test("B4 a deep link, logged out: login, then the same view; Back and Forward", async (t) => {
  const { fake, context, troubles } = await start(t, { login: true });
  const page = await context.newPage();
  const link = "/h/app/tasks?tab=failed&queue=mail";
  await page.goto(fake.url + link);
  await page.waitForURL(/\/login/);
  await page.fill("#token", "wrong");
  await page.click("button[type=submit]");
  await page.waitForSelector("text=The login was refused.");
  await page.fill("#token", "secret-token");
  await page.keyboard.press("Enter");
  await page.waitForURL(fake.url + link);
  await settled(page);
  await page.click("nav.side >> text=Flows");
  await page.waitForSelector("h1 >> text=Flows");
  await page.goBack();
  await page.waitForSelector("h1 >> text=Tasks");
  assert.equal(page.url(), fake.url + link);
  await page.goForward();
  await page.waitForSelector("h1 >> text=Flows");
  // A link from elsewhere, with the token in the fragment: taken, and gone from the address.
  fake.state.loggedIn = false;
  const other = await context.newPage();
  await other.goto(`${fake.url}/h/app/workers#token=secret-token`);
  await other.waitForSelector("h1 >> text=Workers");
  assert.equal(other.url(), `${fake.url}/h/app/workers`);
  assert.deepEqual(troubles, []);
});

test("B4 ids with / % # ? .. and a base path", async (t) => {
  const { fake, context, troubles } = await start(t, { basePath: "/belay" });
  const page = await context.newPage();
  const ids = ["a/b", "50%", "%2F", "..", "#x", "?y=1", "~z", "日本 語"];
  const model = fake.data.instances[0];
  for (const id of ids) {
    fake.data.instances.push({ ...model, instance_id: id, status: "Completed", ended_at_ms: model.created_at_ms + 5000 });
    fake.data.histories.set(id, fake.data.histories.get(model.instance_id));
  }
  for (const id of ids) {
    await open(page, `${fake.url}/h/app/instances?tab=all&prefix=${encodeURIComponent(id)}`);
    await page.locator("tbody a.id").first().click();
    await page.waitForFunction((text) => document.querySelector("h1 .breakable")?.textContent === text, id);
    await page.reload();
    await settled(page);
    assert.equal(await page.locator("h1 .breakable").textContent(), id);
    assert.equal(await page.locator(".callout.bad").count(), 0, id);
  }
  assert.ok(page.url().startsWith(`${fake.url}/h/app/`));
  assert.deepEqual(troubles, []);
});

test("B5 keys alone: find a failed task, replay it, see it complete", async (t) => {
  const { fake, context, troubles } = await start(t);
  fake.state.worker = true;
  const page = await context.newPage();
  await open(page, `${fake.url}/h/app`);
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.waitForSelector("h1 >> text=Tasks");
  await settled(page);
  // The tabs are links: reach "Failed" by Tab.
  for (let i = 0; i < 60 && (await page.evaluate(() => document.activeElement?.textContent)) !== "Failed"; i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(/tab=failed/);
  await page.waitForSelector(".state.bad");
  await settled(page);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  assert.equal(await page.locator("tr.cursor").count(), 1);
  await page.keyboard.press("x");
  await page.waitForSelector("text=1 selected");
  await page.keyboard.press("x");
  const failed = fake.data.tasks.filter((x) => ["failed", "expired"].includes(x.state)).sort((a, b) => b.terminal_at_ms - a.terminal_at_ms)[0];
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(failed.task_id));
  await settled(page);
  await page.keyboard.press(".");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Replay");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=it runs once more");
  await page.waitForSelector(".sub .state.ok >> text=completed");
  // Dialogs keep the focus inside, and Esc leaves.
  await page.keyboard.press(".");
  for (const text of ["⋯, more actions", "Delete"]) {
    for (let i = 0; i < 5 && (await page.evaluate(() => document.activeElement?.textContent)) !== text; i++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
  }
  await page.waitForSelector("dialog #typed");
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog") !== null));
  }
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "⋯, more actions");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog >> text=Keys");
  await page.keyboard.press("Escape");
  // Switched off, keys do nothing.
  await open(page, `${fake.url}/settings`);
  await page.uncheck("text=Single-key shortcuts");
  await page.keyboard.press("?");
  assert.equal(await page.locator("dialog").count(), 0);
  assert.deepEqual(troubles, []);
});

test("B6 one zone for texts; a viewer's clock that is 10 min wrong shows no negative ages", async (t) => {
  const { fake, context, troubles } = await start(t, { frozen: true });
  const page = await context.newPage();
  await page.clock.setFixedTime(fake.zero - 600_000);
  const task = fake.data.tasks.find((x) => x.state === "active");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.waitForSelector("text=The clock of this computer is 10 min behind the server's.");
  assert.equal(/−\d|in \d+ min ago|-\d+ (s|min|ms)/.test(await page.locator("main").innerText()), false);
  const shown = async () => page.locator(".path-steps .time").first().textContent();
  const time = (zone) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(task.created_at_ms);
  assert.equal(await shown(), time("Europe/Berlin"));
  await page.keyboard.press("z");
  assert.equal(await shown(), time("UTC"));
  await open(page, `${fake.url}/settings`);
  await page.fill("#zone", "Asia/Kathmandu");
  await page.keyboard.press("Tab");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  assert.equal(await shown(), time("Asia/Kathmandu"));
  assert.match(await page.locator(".path-steps .time").first().getAttribute("title"), /\+05:45/);
  assert.deepEqual(troubles, []);
});

test("B6 times on both sides of a clock change", async (t) => {
  // In Berlin clocks went from 03:00 back to 02:00 an hour ago.
  const change = Date.UTC(2026, 9, 25, 1);
  const { fake, context, troubles } = await start(t, { frozen: true, start: change + 3_600_000 });
  const page = await context.newPage();
  await page.clock.setFixedTime(fake.zero);
  await open(page, `${fake.url}/h/app/events`);
  const task = fake.data.tasks.find((x) => x.state === "completed");
  task.created_at_ms = change - 60_000;
  task.terminal_at_ms = change + 60_000;
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  const titles = await page.locator(".path-steps .time").evaluateAll((all) => all.map((el) => [el.title, el.textContent]));
  const first = titles[0];
  assert.match(first[0], /^2026-10-25T02:59:00\.000\+02:00/);
  const last = titles.find(([title]) => title.startsWith("2026-10-25T02:01:00.000"));
  assert.match(last?.[0] ?? JSON.stringify(titles), /\+01:00/);
  assert.deepEqual(troubles, []);
});

/** The actions that the page sends from now on, without dry runs. */
function actionsOf(page) {
  const sent = [];
  page.on("request", (r) => {
    if (r.method() === "POST" && r.url().endsWith("/actions") && !r.postDataJSON().dry_run) sent.push(r.postDataJSON());
  });
  return sent;
}

test("B7 a task goes through its states without reload; selection and scroll stay", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "active");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.waitForSelector(".live.open");
  await until(() => fake.state.watched(`task:app:${task.task_id}`));
  task.state = "completed";
  task.terminal_at_ms = fake.now();
  fake.state.changed("task", task.task_id);
  await page.waitForSelector(".sub .state.ok");
  // Lists: new rows are announced, selected ones stay.
  await open(page, `${fake.url}/h/app/dead-letters`);
  const rows = page.locator(".table").last().locator("tbody tr");
  await rows.nth(2).locator("input").check();
  const first = await rows.nth(0).getAttribute("data-key");
  fake.data.deadLetters.unshift({ ...fake.data.deadLetters[0], id: "99001" }, { ...fake.data.deadLetters[0], id: "99002" });
  await page.waitForSelector("text=2 new, show");
  assert.equal(await rows.nth(0).getAttribute("data-key"), first);
  assert.equal(await rows.nth(2).locator("input").isChecked(), true);
  await page.click("text=2 new, show");
  assert.equal(await rows.nth(0).getAttribute("data-key"), "99001");
  assert.equal(await rows.nth(4).locator("input").isChecked(), true);
  assert.deepEqual(troubles, []);
});

test("B7 live off: no request; a reload keeps the switch", async (t) => {
  const { fake, context } = await start(t);
  const page = await context.newPage();
  await open(page, `${fake.url}/h/app`);
  await page.waitForSelector(".live.open");
  await page.click(".live");
  await page.waitForSelector(".live.off");
  await page.reload();
  await settled(page);
  await page.waitForSelector(".live.off");
  await page.waitForLoadState("networkidle");
  const before = fake.state.requests.length;
  await page.waitForTimeout(5000);
  assert.equal(fake.state.requests.length, before, fake.state.requests.slice(before).join(", "));
  assert.equal(fake.state.streams, 0);
});

test("B7 a tab that is hidden for 30 s leaves the stream, and comes back", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  await page.clock.install();
  await open(page, `${fake.url}/h/app`);
  await page.waitForSelector(".live.open");
  const turn = (to) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
      document.dispatchEvent(new Event("visibilitychange"));
    }, to);
  await turn("hidden");
  await page.clock.runFor(20_000);
  assert.equal(fake.state.streams, 1);
  await page.clock.runFor(11_000);
  await until(() => fake.state.streams === 0);
  await turn("visible");
  await page.clock.runFor(1000);
  await until(() => fake.state.streams === 1);
  assert.deepEqual(troubles, []);
});

test("B7 eight tabs share a stream, and all update", async (t) => {
  const { fake, context, troubles } = await start(t);
  const pages = [];
  const task = fake.data.tasks.find((x) => x.state === "active");
  for (let i = 0; i < 8; i++) {
    const page = await context.newPage();
    await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
    pages.push(page);
  }
  await until(() => fake.state.watched(`task:app:${task.task_id}`));
  task.state = "completed";
  task.terminal_at_ms = fake.now();
  fake.state.changed("task", task.task_id);
  for (const page of pages) await page.waitForSelector(".sub .state.ok");
  assert.ok(fake.state.maxStreams <= 2, `${fake.state.maxStreams} streams`);
  // The tab that holds the stream goes: another takes over.
  await pages[0].close();
  await until(() => fake.state.opened > 1);
  task.state = "failed";
  await until(() => fake.state.streams > 0 && fake.state.watched(`task:app:${task.task_id}`));
  fake.state.changed("task", task.task_id);
  await pages[7].waitForSelector(".sub .state.bad");
  assert.deepEqual(troubles, []);
});

test("B8 the database goes and comes back: last data, greyed; actions off", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "failed");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  fake.state.away = true;
  await page.click("nav.tabs >> text=Audit");
  await page.waitForSelector("text=The database is away");
  await page.click("nav.tabs >> text=Data");
  assert.equal(await page.locator(".json").first().isVisible(), true);
  assert.equal(await page.locator(".frame.stale").count(), 1);
  await page.waitForSelector("text=Actions are off while the database is away.");
  fake.state.away = false;
  await page.waitForSelector(".frame:not(.stale)");
  await page.waitForSelector("[data-actions] >> text=Replay");
  assert.deepEqual(troubles, []);
});

test("B8 a read that was cut off, or met too many others, does not mean that the database is away", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const flow = `${fake.url}/h/app/flows/${fake.data.flows[0].flow_id}`;
  for (const [problem, title] of [
    [[504, "timed_out", "canceling statement due to statement timeout", "57014"], "Too much to look at in 2 s"],
    [[503, "busy", "too many connections to the database are in use"], "The dashboard is busy"],
  ]) {
    fake.state.fail = { flows: problem };
    await open(page, flow);
    await page.waitForSelector(`.callout.bad >> text=${title}`);
    // Nothing is greyed, and nothing is said of the database.
    assert.deepEqual([await page.locator(".frame.stale").count(), await page.locator("text=The database is away").count()], [0, 0], title);
    fake.state.fail = {};
    await page.click(".callout.bad button >> text=Try again");
    await page.waitForSelector("main .sub .state");
  }
  assert.deepEqual(troubles, []);
});

test("B9 actions: confirmation, reason, the SQL that was shown is what runs, an event", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "active");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.click("[data-actions] >> text=Cancel");
  await page.waitForSelector("#reason");
  assert.equal(await page.locator("dialog button.primary").isDisabled(), true);
  await page.fill("#reason", "wrong <b>input</b>");
  await page.click("dialog summary");
  const sql = await page.locator("dialog .sql pre").first().textContent();
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForSelector("text=cancelled >> nth=0");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(fake.state.actions.length, 1);
  assert.equal(fake.state.actions[0].sql, sql);
  assert.equal(fake.state.actions[0].reason, "wrong <b>input</b>");
  assert.equal(fake.state.actions[0].args.expected_epoch !== undefined, true);
  await page.click("nav.tabs >> text=Audit");
  await page.waitForSelector("td >> text=wrong <b>input</b>");
  // Destructive: the id has to be typed in, and Enter alone does nothing.
  await page.click("[data-actions] >> text=⋯");
  await page.click("[data-actions] >> text=Delete");
  await page.waitForSelector("#typed");
  await page.fill("#typed", task.task_id.slice(1));
  assert.equal(await page.locator("dialog button.danger").isDisabled(), true);
  await page.fill("#typed", task.task_id);
  const sent = actionsOf(page);
  await page.keyboard.press("Enter");
  // Had it been sent, it would have been within the key's event.
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.deepEqual(sent, []);
  await page.click("dialog button.danger");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(fake.state.actions[1].action, "delete_task");
  // Pause and limits of a queue, priority, approve, redrive.
  await open(page, `${fake.url}/h/app/queues/images`);
  await page.click("[data-actions] >> text=Pause");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForSelector(".chip >> text=paused");
  await page.click("[data-actions] >> text=Limits");
  await page.fill("#field-concurrency", "7");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForSelector("text=of 7");
  const suspended = fake.data.tasks.find((x) => x.state === "suspended");
  await open(page, `${fake.url}/h/app/tasks/${suspended.task_id}?tab=waitpoints`);
  await page.click("td >> text=Approve");
  await page.waitForSelector(".sub >> text=ready");
  await open(page, `${fake.url}/h/app/schedules`);
  await page.click("text=New schedule");
  await page.fill("#field-cron", "1 2 3");
  await page.waitForSelector("text=cron expression has to have five fields");
  await page.fill("#field-cron", "0 5 * * *");
  await page.fill("#field-name", "early");
  await page.waitForSelector("dialog >> text=Next times");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForSelector("td >> text=early");
  assert.deepEqual(troubles, []);
});

test("B10 a stale page: the epoch has moved on, nothing is done, and the page says so", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "active");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.click("[data-actions] >> text=Revoke lease");
  await page.fill("#reason", "hangs");
  task.lease_epoch = String(Number(task.lease_epoch) + 2);
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForSelector("text=epoch_moved");
  assert.equal(task.state, "active");
  assert.deepEqual(troubles, []);
});

test("B11 bulk: all that match and existed, not what came later; stop; a second viewer sees it", async (t) => {
  const { fake, context, troubles } = await start(t);
  fake.state.portion = 10;
  fake.state.hold = true;
  const page = await context.newPage();
  await open(page, `${fake.url}/h/app/dead-letters`);
  const rows = page.locator(".table").last().locator("tbody tr");
  await rows.nth(0).locator("input").check();
  const existed = fake.data.deadLetters.length;
  // These come after the list was read.
  for (let i = 0; i < 5; i++) fake.data.deadLetters.unshift({ ...fake.data.deadLetters[0], id: String(99_100 + i) });
  await page.click(".bulk-bar >> text=Redrive all that match");
  await page.waitForSelector(`dialog >> text=Redrive ${existed} objects.`);
  await page.fill("#bulk-reason", "fixed");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForURL(/\/bulk\/1$/);
  // The answer, "stopping", comes after the message that it has stopped.
  await page.route("**/stop", async (request) => {
    const response = await request.fetch();
    await until(() => fake.data.bulk[0].state === "stopped");
    await new Promise((done) => setTimeout(done, 300));
    await request.fulfill({ response });
  });
  const answered = page.waitForResponse("**/stop");
  await page.click("button >> text=Stop");
  await answered;
  await page.waitForSelector(".sub .state >> text=stopped");
  assert.ok(fake.data.bulk[0].done < existed);
  const other = await context.newPage();
  await open(other, `${fake.url}/h/app/bulk/1`);
  await other.waitForSelector(".sub .state >> text=stopped");
  // The rest, to the end.
  await open(page, `${fake.url}/h/app/dead-letters`);
  await rows.nth(5).locator("input").check();
  const later = fake.data.deadLetters.length;
  await page.click(".bulk-bar >> text=Redrive all that match");
  fake.state.portion = 500;
  fake.state.hold = false;
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForURL(/\/bulk\/2$/);
  await page.waitForSelector(".sub .state >> text=done");
  assert.equal(fake.data.bulk[1].done, later);
  // What destroys is no default: Enter in the field with the number does nothing.
  fake.data.deadLetters.push({ ...fake.data.events[0], id: "5", queue: "worker", reason: "orphan", name: "Left", dead_at_ms: fake.now(), attempt_count: 1, preview: "{}", bytes: 2 });
  await open(page, `${fake.url}/h/app/dead-letters`);
  await rows.nth(0).locator("input").check();
  await page.click(".bulk-bar >> text=Discard >> nth=0");
  await page.fill("#bulk-typed", "1");
  await page.keyboard.press("Enter");
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.equal(fake.data.bulk.length, 2);
  await page.click("dialog button.danger");
  await page.waitForURL(/\/bulk\/3$/);
  await page.waitForSelector(".sub .state >> text=done");
  assert.deepEqual(troubles, []);
});

test("B11 a group of dead letters: its queue, reason, name, and the instance of the page; none without a name", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const nameless = fake.data.deadLetters.find((d) => d.name === null);
  await open(page, `${fake.url}/h/app/dead-letters?instance_id=${nameless.instance_id}`);
  const groups = page.locator(".table").first().locator("tbody tr");
  const group = groups.filter({ hasText: "no name" });
  assert.equal(await group.count(), 1);
  // A filter could not tell it from the rest of its queue and reason.
  assert.equal(await group.locator("a, button").count(), 0);
  const named = groups.filter({ hasNotText: "no name" }).first();
  const name = await named.locator("a").textContent();
  const link = new URL(await named.locator("a").getAttribute("href"), fake.url);
  assert.deepEqual([link.searchParams.get("name"), link.searchParams.get("instance_id")], [name, nameless.instance_id]);
  await named.locator("button >> text=Discard").click();
  await page.waitForSelector("#bulk-typed");
  const letter = fake.data.deadLetters.find((d) => d.name === name && d.instance_id === nameless.instance_id);
  assert.deepEqual(fake.state.bulks[0].filter, { instance_id: nameless.instance_id, queue: letter.queue, reason: letter.reason, name });
  assert.deepEqual(troubles, []);
});

test("B11 all that match follow the index of their view", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const model = fake.data.tasks.find((x) => x.state === "failed");
  for (let i = 0; i < 60; i++) fake.data.tasks.push({ ...model, task_id: `${model.task_id.slice(0, -3)}${100 + i}` });
  const orders = { ready: "claim", failed: "failed" };
  for (const [tab, order] of Object.entries(orders)) {
    if (tab === "ready") for (let i = 0; i < 20; i++) fake.data.tasks.push({ ...model, state: "ready", task_id: `${model.task_id.slice(0, -3)}${200 + i}` });
    await open(page, `${fake.url}/h/app/tasks?tab=${tab}`);
    await page.locator("tbody tr input").first().check();
    await page.click(".bulk-bar >> text=all that match");
    await page.waitForSelector("#bulk-reason");
    assert.equal(fake.state.bulks.at(-1).ids, null);
    assert.equal(fake.state.bulks.at(-1).filter.order, order);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  }
  // Counting stopped before it found one: the job may find some.
  fake.state.bulkCount = { n: 0, capped: true };
  await page.click(".bulk-bar >> text=all that match");
  await page.waitForSelector("text=The job goes on behind them.");
  assert.equal(await page.locator("dialog button.primary").isDisabled(), false);
  fake.state.bulkCount = { n: 0, capped: false };
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.click(".bulk-bar >> text=all that match");
  await page.waitForSelector("#bulk-reason");
  assert.equal(await page.locator("dialog button.primary").isDisabled(), true);
  assert.deepEqual(troubles, []);
});

test("the generated data agree with each other: who has tasks is a worker of their queue", async (t) => {
  const { fake } = await start(t);
  for (const queue of fake.data.queues) {
    assert.equal(queue.owners, fake.data.owners.filter((o) => o.queues.includes(queue.queue)).length, queue.queue);
    assert.ok(queue.owners > 0 || queue.active.n === 0, `${queue.queue}: ${queue.active.n} active tasks, and no worker`);
  }
  assert.ok(fake.data.queues.some((q) => q.owners === 0 && q.oldest_ms > 60_000));
});

test("messages are filtered by what they are named after", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  await open(page, `${fake.url}/h/app/messages`);
  await page.click(".filters-toggle");
  await page.getByLabel("Name", { exact: true }).fill("paid");
  await page.keyboard.press("Enter");
  await page.waitForURL(/name=paid/);
  const raised = fake.data.messages.filter((m) => m.name === "paid");
  assert.ok(raised.length > 0 && raised.length < fake.data.messages.length);
  await page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, raised.length);
  assert.deepEqual(troubles, []);
});

test("B12 a double click acts once", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "active");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.click("[data-actions] >> text=Cancel");
  const dryRun = page.waitForResponse((r) => r.url().endsWith("/actions") && r.request().postDataJSON().reason === "twice");
  await page.fill("#reason", "twice");
  await dryRun;
  fake.state.slow = 300;
  const sent = actionsOf(page);
  await page.dblclick("dialog button.primary:not([disabled])");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(sent.length, 1);
  assert.equal(fake.state.actions.length, 1);
  assert.deepEqual(troubles, []);
});

test("B19 a monitor sees no buttons, an operator does; a right that was revoked meanwhile is told", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "failed");
  fake.state.level = "monitor";
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.waitForSelector("text=Actions need level operator.");
  assert.equal(await page.locator("[data-actions]").count(), 0);
  await open(page, `${fake.url}/h/app/tasks?tab=failed`);
  assert.equal(await page.locator("tbody input").count(), 0);
  fake.state.level = "operator";
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.waitForSelector("[data-actions] >> text=Replay");
  fake.state.level = "monitor";
  await page.click("[data-actions] >> text=Replay");
  await page.waitForSelector(".notice.bad >> text=permission denied");
  assert.equal(task.state, "failed");
  fake.state.level = "operator";
  fake.state.read_only = true;
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.waitForSelector("text=This dashboard is read-only. >> nth=0");
  assert.equal(await page.locator("[data-actions]").count(), 0);
  fake.state.read_only = false;
  fake.state.standby = true;
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.waitForSelector("text=Read-only: this server is a standby.");
  assert.deepEqual(troubles, []);
});

test("B20 a hub is dropped while it is watched, and none is left", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "active");
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  fake.state.dropped = true;
  await page.click("nav.tabs >> text=Audit");
  await page.waitForSelector(".callout.bad >> text=There is no such object");
  await page.reload();
  await page.waitForSelector("text=No hub app that you may see");
  await page.click("text=All hubs");
  await page.waitForSelector("text=No hub that you may see");
  await page.waitForSelector("text=SELECT belay.create_hub('app');");
  assert.deepEqual(troubles, []);
});

test("a newer server than the page: reload is offered, never done", async (t) => {
  const { fake, context, troubles } = await start(t, { version: "9.9.9" });
  const page = await context.newPage();
  await open(page, `${fake.url}/h/app`);
  await page.waitForSelector("text=belay was updated.");
  await page.waitForTimeout(300);
  assert.equal(await page.locator("button >> text=Reload").count(), 1);
  assert.deepEqual(troubles, []);
});

test("charts and durations as tables, with their SQL; numbers lead to what they count", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  for (const [path, titles] of [["/h/app", ["Per second", "Wait before start", "Oldest ready"]], ["/h/app/queues/images", ["Per second", "Wait before start", "Run time"]]]) {
    await open(page, fake.url + path);
    await page.waitForSelector(".histogram");
    for (const title of titles) {
      const panel = page.locator(".panel.chart", { has: page.locator("h2", { hasText: title }) });
      await panel.locator("button >> text=As table").click();
      await panel.locator("tbody tr").first().waitFor();
      assert.equal(await panel.locator(".histogram, .plot").count(), 0, title);
      await panel.locator("button >> text=SQL").click();
      assert.match(await page.locator("dialog[open] pre").textContent(), title === "Per second" || title === "Oldest ready" ? /SELECT/ : /wait_buckets/);
      await page.keyboard.press("Escape");
      await panel.locator("button >> text=As chart").click();
      await panel.locator(".histogram, .plot").waitFor();
    }
  }
  await open(page, `${fake.url}/h/app`);
  await page.locator(".strip div", { hasText: "Expired tasks" }).locator("a").click();
  await page.waitForURL(/state=expired/);
  await settled(page);
  const expired = fake.data.tasks.filter((x) => x.state === "expired").length;
  await page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, expired);
  // The other tab has no such state.
  await page.locator("nav.tabs").getByText("Ended", { exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get("tab") === "ended" && !url.searchParams.has("state"));
  assert.deepEqual(troubles, []);
});

test("what is gone shows who deleted it, and is searched for; what took too long has a narrower filter", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const task = fake.data.tasks.find((x) => x.state === "failed");
  fake.data.tasks.splice(fake.data.tasks.indexOf(task), 1);
  fake.data.events.push({ ...fake.data.events.find((e) => e.topic === "operator"), event_id: "1-999999", type: "task_deleted", subject: task.task_id, by: "bob", reason: "no longer needed" });
  await open(page, `${fake.url}/h/app/tasks/${task.task_id}`);
  await page.waitForSelector("text=There is no such object");
  await page.waitForSelector("td >> text=task_deleted");
  await page.waitForSelector("td >> text=no longer needed");
  await page.click("button >> text=/^Search for/");
  assert.equal(await page.inputValue("#search"), task.task_id);
  await page.waitForSelector("text=Nothing has this id");
  fake.state.fail = { tasks: [504, "timed_out", "canceling statement due to statement timeout", "57014"] };
  await open(page, `${fake.url}/h/app/tasks?tab=all&queue=mail`);
  fake.state.fail = {};
  await page.click("a >> text=Only what the last hour created");
  await page.waitForURL((url) => url.searchParams.get("queue") === "mail" && url.searchParams.has("created_from"));
  await page.waitForSelector("tbody tr");
  assert.deepEqual(troubles, []);
});

test("what a worker holds: tasks, and for operators work items", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  const item = fake.data.workItems.find((w) => w.state === "leased");
  const owner = item.locked_by;
  await open(page, `${fake.url}/h/app/workers?owner=${encodeURIComponent(owner)}`);
  const held = page.locator(".panel", { has: page.locator("h2", { hasText: `Work items of ${owner}` }) });
  await held.locator("tbody tr").first().waitFor();
  assert.equal(await held.locator("tbody tr").count(), fake.data.workItems.filter((w) => w.locked_by === owner).length);
  fake.state.level = "monitor";
  await open(page, `${fake.url}/h/app/workers?owner=${encodeURIComponent(owner)}`);
  await page.waitForSelector(`h2 >> text=Tasks of ${owner}`);
  assert.equal(await held.count(), 0);
  assert.deepEqual(troubles, []);
});

test("the list of hubs is read again and again; filters keep the digits of numbers", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  await open(page, fake.url);
  const reads = () => fake.state.requests.filter((r) => r === "GET /api/v1/hubs").length;
  const before = reads();
  await until(() => reads() >= before + 2);
  const asked = page.waitForRequest((r) => r.url().includes("/api/v1/h/app/tasks?"));
  await page.goto(`${fake.url}/h/app/tasks?tab=all&payload=${encodeURIComponent('{"rows": 9007199254740993}')}`);
  assert.match(new URL((await asked).url()).searchParams.get("filter"), /"payload":\{"rows": 9007199254740993\}/);
  // A message is shown as far as it was read.
  const message = fake.data.messages[0];
  message.bytes = 70_000;
  await open(page, `${fake.url}/h/app/messages`);
  await page.click(`tbody button >> text=${message.id}`);
  await page.waitForSelector("dialog[open] >> text=The beginning of 68 kB.");
  assert.deepEqual(troubles, []);
});

test("search finds ids and names, by keys", async (t) => {
  const { fake, context, troubles } = await start(t);
  const page = await context.newPage();
  await open(page, `${fake.url}/h/app`);
  await page.keyboard.press("/");
  await page.keyboard.type("order-8");
  await page.waitForSelector(".found >> text=order-8");
  await page.keyboard.press("Enter");
  await page.waitForURL(/instances\/order-8$/);
  await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type("nothing-has-this");
  await page.waitForSelector("text=Nothing has this id");
  assert.deepEqual(troubles, []);
});
