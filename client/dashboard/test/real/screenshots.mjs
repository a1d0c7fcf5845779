// Pictures of the screens with real data: node test/real/screenshots.mjs OUTPUT [NAME]...
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [output, ...only] = process.argv.slice(2);
mkdirSync(output, { recursive: true });
const [base, token] = process.env.BELAY_DASHBOARD_URL.split("/#token=");
const sql = (text) => execFileSync("psql", ["-XqAt", "-c", text]).toString().trim();
const instance = sql("SELECT instance_id FROM app.list_instances(p_status => 'Failed') LIMIT 1");
const running = sql("SELECT instance_id FROM app.list_instances(p_status => 'Running') WHERE instance_id LIKE 'order-%' LIMIT 1");
const pages = {
  hubs: "/",
  overview: "/h/app",
  queues: "/h/app/queues",
  queue: "/h/app/queues/images",
  instances: "/h/app/instances",
  instance: `/h/app/instances/${instance}`,
  "instance-running": `/h/app/instances/${running}`,
  "instance-events": `/h/app/instances/${instance}?tab=events&event=3`,
  "instance-state": `/h/app/instances/${instance}?tab=state`,
  "instance-tree": `/h/app/instances/${instance}?tab=tree`,
  "work-items": "/h/app/work-items",
  messages: "/h/app/messages",
  tasks: "/h/app/tasks",
  "tasks-failed": "/h/app/tasks?tab=failed",
  task: `/h/app/tasks/${sql("SELECT task_id FROM app.list_tasks('{\"state\": \"failed\"}') LIMIT 1")}`,
  "task-waiting": `/h/app/tasks/${sql("SELECT task_id FROM app.list_tasks('{\"queue\": \"paused-queue\"}') LIMIT 1")}`,
  flows: "/h/app/flows",
  flow: `/h/app/flows/${sql("SELECT flow_id FROM app.list_flows() LIMIT 1")}`,
  schedules: "/h/app/schedules",
  "dead-letters": "/h/app/dead-letters",
  subscriptions: "/h/app/events?tab=subscriptions",
  events: "/h/app/events",
  workers: "/h/app/workers",
  health: "/h/app/health",
  audit: "/h/app/events?tab=audit",
  bulk: "/h/app/bulk",
  settings: "/settings",
  login: "/login",
};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const [width, height] of [[1280, 800], [390, 844]]) {
  for (const theme of ["light", "dark"]) {
    if (process.env.SHOTS && !process.env.SHOTS.split(",").includes(`${width}-${theme}`)) continue;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, timezoneId: "Europe/Berlin", reducedMotion: "reduce" });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("console", (m) => m.type() === "error" && console.log("console:", m.text()));
    page.on("pageerror", (e) => console.log("error:", e.message));
    await page.goto(`${base}/#token=${token}`);
    await page.waitForSelector(".table, .empty");
    for (const [name, path] of Object.entries(pages)) {
      if (only.length > 0 && !only.includes(name)) continue;
      await page.goto(base + path);
      await page.waitForSelector("h1");
      await page.waitForFunction(() => !document.querySelector(".skeleton, .graph-wait")).catch(() => console.log(`${name}: still loading`));
      await page.waitForTimeout(name === "overview" ? 6000 : 200);
      await page.screenshot({ path: `${output}/${name}-${width}-${theme}.png` });
    }
    await context.close();
  }
}
await browser.close();
