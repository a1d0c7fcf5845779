// The dashboard's process and the database end and come back under a page; proxies in front, a Unix socket.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer, request as send } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newContext, open } from "../browser/page.mjs";
import { base, freePort, logIn, sql, startDashboard, token, until } from "./server.mjs";

test("B8 the dashboard is restarted under a page: it says so, and leads back to its view", async (t) => {
  const listen = ["--listen", `127.0.0.1:${await freePort()}`];
  const first = await startDashboard(t, listen);
  const { context, troubles, close } = await newContext(first);
  t.after(close);
  const page = await logIn(context, first);
  const view = `${first.url}/h/app/tasks?tab=failed`;
  await open(page, view);
  await page.waitForSelector(".live.open");
  await first.stop();
  await page.waitForSelector(".banner.bad >> text=The dashboard does not answer");
  assert.equal(await page.locator(".frame.stale tbody tr").count() > 0, true);
  const second = await startDashboard(t, listen);
  // Sessions are in memory only.
  await page.waitForSelector("#token");
  await page.fill("#token", second.token);
  await page.click("button[type=submit]");
  await page.waitForURL(view);
  await page.waitForSelector(".frame:not(.stale) tbody tr");
  await page.waitForSelector(".live.open");
  assert.deepEqual(troubles, []);
});

test("B8 the database stops under a page: last data with its age, actions off; it comes back by itself", async (t) => {
  const id = sql("SELECT task_id FROM app.create_task('paused-queue', '{}')");
  const { context, troubles, close } = await newContext({ url: base });
  t.after(close);
  const overview = await logIn(context, { url: base, token });
  await open(overview, `${base}/h/app`);
  await overview.waitForSelector(".foot >> text=data of");
  const task = await context.newPage();
  await open(task, `${base}/h/app/tasks/${id}`);
  await task.waitForSelector("[data-actions] >> text=Cancel");
  const control = (...words) => execFileSync("pg_ctl", ["-D", data, "-w", "-s", ...words], { stdio: "ignore" });
  const data = sql("SHOW data_directory");
  const start = () => control("-l", process.env.BELAY_SERVER_LOG, "start");
  let runs = true;
  t.after(() => runs || start());
  control("-m", "fast", "stop");
  runs = false;
  // Nobody asks for anything: both pages notice.
  for (const page of [overview, task]) {
    const banner = page.locator(".banner.bad", { hasText: "The database is away" });
    await banner.waitFor();
    assert.equal(await page.locator(".frame.stale").count(), 1);
    const age = async () => Number(/from (\d+)(?:\.\d+)? s ago/.exec(await banner.textContent())?.[1] ?? 0);
    await until("the age of the last data grows", async () => (await age()) >= 2);
  }
  assert.equal(await overview.locator("tbody tr").count() > 0, true);
  await task.waitForSelector("text=Actions are off while the database is away.");
  assert.equal(await task.locator("[data-actions] button >> text=Cancel").count(), 0);
  start();
  runs = true;
  for (const page of [overview, task]) await page.waitForSelector(".frame:not(.stale)");
  await task.waitForSelector("[data-actions] >> text=Cancel");
  // Live updates, too.
  sql(`SELECT app.cancel_task('${id}', 'by hand')`);
  await task.waitForSelector(".sub .state >> text=cancelled");
  assert.deepEqual(troubles, []);
});

/** A proxy in front of a dashboard, at a port of its own: passes on every byte as it comes. */
async function startProxy(t, target, headers = {}) {
  const proxy = createServer((request, response) => {
    const onward = send({ ...target, method: request.method, path: request.url, headers: { ...request.headers, ...headers } }, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      answer.on("data", (part) => response.write(part));
      answer.on("end", () => response.end());
      answer.on("error", () => response.destroy());
    });
    response.on("close", () => onward.destroy());
    onward.on("error", () => (response.headersSent ? response.destroy() : response.writeHead(502).end("<html>Bad Gateway</html>")));
    request.pipe(onward);
  });
  await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${proxy.address().port}`;
}

/** What a viewer does behind a proxy: a list, a link, a change that is told of, an action, a download. */
async function use(page, url) {
  const id = sql("SELECT task_id FROM app.create_task('b23', '{\"behind\": \"a proxy\"}')");
  await open(page, `${url}/h/app/tasks?tab=all`);
  await page.click(`a.id[title="${id}"]`);
  await page.waitForURL(`${url}/h/app/tasks/${id}`);
  await page.reload();
  await page.waitForSelector(".live.open");
  await until("the dashboard waits for the task", () => sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'belay dashboard' AND state = 'active' AND query LIKE '%wait_for_work%'") !== "0");
  sql("SELECT count(*) FROM app.claim_tasks('w', 'b23', '{b23}', p_lease_ms => 600000)");
  await page.waitForSelector(".sub .state >> text=active");
  await page.click("[data-actions] >> text=Cancel");
  await page.fill("#reason", "through the proxy");
  await page.click("dialog button.primary:not([disabled])");
  await page.waitForSelector(".sub .state >> text=cancelled");
  assert.equal(sql(`SELECT cancel_reason FROM app.tasks WHERE id = '${id}'`), "through the proxy");
}

test("B23 below a path, behind a proxy that buffers nothing", async (t) => {
  const port = await freePort();
  const url = `${await startProxy(t, { host: "127.0.0.1", port })}/belay`;
  const dashboard = await startDashboard(t, ["--listen", `127.0.0.1:${port}`, "--base-path", "/belay", "--public-url", url]);
  assert.equal(dashboard.url, url);
  const { context, troubles, close } = await newContext({ url });
  t.after(close);
  const page = await logIn(context, dashboard);
  await use(page, url);
  // Everything is below the path: the cookie, the assets, what the page asks for.
  assert.deepEqual((await context.cookies()).map((c) => c.path), ["/belay"]);
  const paths = await page.evaluate(() => performance.getEntriesByType("resource").map((r) => new URL(r.name).pathname));
  assert.deepEqual(paths.filter((path) => !path.startsWith("/belay/")), []);
  assert.deepEqual(troubles, []);
});

test("B23 a Unix socket behind a proxy that logs users in: nobody logs in again, not after a restart either", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "belay-b23-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const socketPath = join(directory, "dashboard.sock");
  const url = await startProxy(t, { socketPath }, { "x-remote-user": "postgres" });
  const options = ["--listen", `unix:${socketPath}`, "--login", "proxy", "--public-url", url];
  const first = await startDashboard(t, options);
  const { context, troubles, close } = await newContext({ url });
  t.after(close);
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector(".table");
  await use(page, url);
  await first.stop();
  // The proxy answers for it, with a page of its own.
  await page.waitForSelector(".banner.bad >> text=The dashboard does not answer");
  await startDashboard(t, options);
  await page.waitForSelector(".frame:not(.stale)");
  await page.waitForSelector(".live.open");
  await use(page, url);
  assert.deepEqual(troubles, []);
});
