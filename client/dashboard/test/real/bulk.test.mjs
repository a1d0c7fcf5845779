// A bulk job that is stopped half-way, seen by two viewers, in a tab that was closed, and that goes on.
import { test } from "node:test";
import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newContext, open } from "../browser/page.mjs";
import { logIn, sql, startDashboard, until } from "./server.mjs";

/**
 * Between a dashboard and its database: the directory for PGHOST. What a connection sends with a text in it
 * for the count-th time waits until it is released; the answers of others go on.
 */
async function startGate(t, text, count) {
  const directory = mkdtempSync(join(tmpdir(), "belay-b11-"));
  const gate = { directory, held: false };
  const released = new Promise((done) => { gate.release = done; });
  let seen = 0;
  const server = createServer((client) => {
    const onward = connect(join(process.env.PGHOST, `.s.PGSQL.${process.env.PGPORT}`));
    for (const [one, other] of [[client, onward], [onward, client]]) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
    onward.pipe(client);
    let before = Promise.resolve();
    client.on("data", (part) => {
      const holds = part.includes(text) && ++seen === count;
      if (holds) gate.held = true;
      before = (holds ? before.then(() => released) : before).then(() => void (onward.destroyed || onward.write(part)));
    });
  });
  await new Promise((done) => server.listen(join(directory, `.s.PGSQL.${process.env.PGPORT}`), done));
  t.after(() => {
    gate.release();
    server.close();
    rmSync(directory, { recursive: true });
  });
  return gate;
}

test("B11 5,000 dead letters: stopped half-way, a closed tab opened again, a second viewer, and on to the end", async (t) => {
  const add = (count) =>
    sql(`INSERT INTO app.dead_letters SELECT nextval('app.dead_letters_id'), 'worker', n, 'b11', 1, n, NULL, NULL, format('{"ActivityExecute":{"instance":"b11","execution_id":1,"id":%s,"name":"Many","input":""}}', n), 3, 'max_attempts', NULL, now(), now() FROM generate_series(1, ${count}) AS n`);
  const left = () => Number(sql("SELECT count(*) FROM app.dead_letters WHERE instance_id = 'b11'"));
  const waiting = () => Number(sql("SELECT count(*) FROM app.work_items WHERE instance_id = 'b11'"));
  // The portions are told apart by their cursors; the first has the statement's text, the others are of the same connection.
  const gate = await startGate(t, "the service is back, b11", 6);
  const dashboard = await startDashboard(t, ["--listen", "127.0.0.1:0"], { PGHOST: gate.directory });
  const { context, troubles, close } = await newContext(dashboard);
  t.after(close);
  add(5000);
  const page = await logIn(context, dashboard);
  await open(page, `${dashboard.url}/h/app/dead-letters?instance_id=b11`);
  await page.locator(".table").last().locator("tbody tr").nth(0).locator("input").check();
  add(50);
  await page.click(".bulk-bar >> text=Redrive all that match");
  await page.fill("#bulk-typed", "5000");
  await page.fill("#bulk-reason", "the service is back, b11");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForURL(/\/bulk\/\d+$/);
  const job = page.url();
  await page.close();
  await until("five portions are done", () => gate.held);
  const second = await newContext(dashboard);
  t.after(second.close);
  const again = await context.newPage();
  const viewer = await logIn(second.context, dashboard);
  for (const one of [again, viewer]) {
    await open(one, job);
    await one.waitForSelector(".sub .state >> text=running");
    await one.waitForSelector("dd >> text=2,500 of 5,000");
  }
  await viewer.click("button >> text=Stop");
  await viewer.waitForSelector(".sub .state >> text=stopping");
  gate.release();
  for (const one of [again, viewer]) {
    await one.waitForSelector(".sub .state >> text=stopped");
    // The portion that was under way is done, and no other.
    await one.waitForSelector("dd >> text=3,000 of 5,000");
  }
  assert.deepEqual([left(), waiting()], [2050, 3000]);
  await again.click("button >> text=Go on");
  await again.waitForURL((url) => url.href !== job);
  await again.waitForSelector(".sub .state >> text=done");
  await again.waitForSelector("dd >> text=2,000 of 2,000");
  // What came after the list was read stays.
  assert.deepEqual([left(), waiting()], [50, 5000]);
  assert.deepEqual([...troubles, ...second.troubles], []);
});
