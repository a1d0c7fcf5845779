// Pictures of every screen, light and dark, wide and narrow: node test/screenshots.mjs OUTPUT [NAME]...
// With --docs before OUTPUT those of the documentation, as `make screenshots` draws them. The data come
// from the stand-in for the server: its clock and ids are fixed, so that the same pages give the same pictures.
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { startFakeApi } from "./fake_api.mjs";

const docs = process.argv[2] === "--docs";
const [output, ...names] = process.argv.slice(docs ? 3 : 2);
const only = docs ? ["overview", "instance", "task", "flow", "dead-letters", "health"] : names;
mkdirSync(output, { recursive: true });
const fake = await startFakeApi({ frozen: true });
const hub = fake.data;
// Few of those: the text of many makes a large file.
if (docs) hub.deadLetters.splice(6);
// What needs attention fits one line, and all queues are seen.
if (docs) {
  hub.subscriptions.splice(1);
  for (const q of hub.queues) q.overdue.n = 0;
}
const byState = (state, q) => hub.tasks.find((t) => t.state === state && (q === undefined || t.queue === hub.queueNames[q]));
const flow = (kind) => hub.flows.find((f) => f.kind === kind).flow_id;
export const pages = {
  hubs: "/",
  overview: "/h/app",
  queues: "/h/app/queues",
  queue: "/h/app/queues/images",
  "work-items": "/h/app/work-items",
  messages: "/h/app/messages",
  instances: "/h/app/instances",
  instance: "/h/app/instances/order-7",
  "instance-idle": "/h/app/instances/order-8?idle=1",
  "instance-events": "/h/app/instances/order-7?tab=events&event=3",
  "instance-state": "/h/app/instances/order-7?tab=state",
  tasks: "/h/app/tasks",
  "tasks-failed": "/h/app/tasks?tab=failed",
  "tasks-filter": "/h/app/tasks?tab=all&queue=mail",
  task: `/h/app/tasks/${byState("failed", 2)?.task_id ?? byState("failed").task_id}`,
  "task-waiting": `/h/app/tasks/${byState("ready", 5)?.task_id}`,
  "task-active": `/h/app/tasks/${byState("active", 0)?.task_id}`,
  "task-suspended": `/h/app/tasks/${byState("suspended").task_id}?tab=waitpoints`,
  flows: "/h/app/flows",
  flow: `/h/app/flows/${flow("thumbnails")}`,
  "flow-folded": `/h/app/flows/${flow("catalogue")}`,
  schedules: "/h/app/schedules",
  "dead-letters": "/h/app/dead-letters",
  events: "/h/app/events",
  audit: "/h/app/events?tab=audit",
  subscriptions: "/h/app/events?tab=subscriptions",
  workers: "/h/app/workers",
  health: "/h/app/health",
  bulk: "/h/app/bulk",
  settings: "/settings",
  login: "/login",
};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const [width, height] of docs ? [[1280, 800]] : [[1280, 800], [390, 844]]) {
  for (const theme of ["light", "dark"]) {
    if (process.env.SHOTS && !process.env.SHOTS.split(",").includes(`${width}-${theme}`)) continue;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, timezoneId: "Europe/Berlin", reducedMotion: "reduce" });
    const page = await context.newPage();
    page.on("console", (m) => m.type() === "error" && console.log("console:", m.text()));
    page.on("pageerror", (e) => console.log("error:", e.message));
    await page.clock.setFixedTime(fake.zero);
    for (const [name, path] of Object.entries(pages)) {
      if (only.length > 0 && !only.includes(name)) continue;
      await page.goto(fake.url + path);
      await page.waitForSelector("h1");
      await page.waitForFunction(() => !document.querySelector(".skeleton") && !document.querySelector(".graph-wait"), undefined, { timeout: 5000 }).catch(() => console.log(`${name}: still loading`));
      await page.waitForTimeout(150);
      await page.screenshot({ path: docs ? `${output}/dashboard-${name}-${theme}.png` : `${output}/${name}-${width}-${theme}.png` });
    }
    await context.close();
  }
}
await browser.close();
await fake.close();
