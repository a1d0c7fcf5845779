// T4: every answer of the real server fits its type in src/api.ts. Keys that the page does not know are
// allowed: a newer server may have some.
import { test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { client, hub, sql } from "./server.mjs";

const source = fileURLToPath(new URL("../../src", import.meta.url));

/** What TypeScript says against values of these types of api.ts. */
function misfits(values) {
  const name = join(source, "answers-of-the-server.ts");
  const text = values.map(({ type, value }, i) => `fits<${type}>()(${JSON.stringify(value)}); // ${i}`).join("\n");
  const used = [...new Set(values.flatMap(({ type }) => type.match(/[A-Z]\w+/g)))];
  const file = `import type { ${used.join(", ")} } from "./api"; declare function fits<T>(): <V extends T>(value: V) => void;\n${text}\n`;
  const config = ts.readConfigFile(join(source, "../tsconfig.json"), ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(source, ".."));
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (path, ...rest) => (path === name ? ts.createSourceFile(path, file, ...rest) : read(path, ...rest));
  const exists = host.fileExists.bind(host);
  host.fileExists = (path) => path === name || exists(path);
  const program = ts.createProgram([name], { ...options, noEmit: true }, host);
  return ts.getPreEmitDiagnostics(program, program.getSourceFile(name)).map((d) => {
    const line = d.file ? d.file.getLineAndCharacterOfPosition(d.start).line - 1 : -1;
    return `${values[line]?.path}: ${ts.flattenDiagnosticMessageText(d.messageText, " ").slice(0, 400)}`;
  });
}

test("T4 answers fit their types", async () => {
  const server = await client();
  const one = (column, from) => sql(`SELECT ${column} FROM app.${from} LIMIT 1`);
  const flow = one("flow_id", "list_flows()");
  const member = sql(`SELECT m ->> 'task_id' FROM app.get_flow('${flow}') AS f, jsonb_array_elements(f -> 'members') AS m LIMIT 1`);
  const suspended = one("task_id", `list_tasks('{"state": "suspended"}')`);
  const active = sql(`SELECT task_id FROM app.list_tasks('{"state": "failed"}') LIMIT 1`);
  const running = one("instance_id", "list_instances(p_status => 'Running')");
  const failed = one("instance_id", "list_instances(p_status => 'Failed')");
  const item = sql("SELECT id FROM app.list_work_items() LIMIT 1");
  const answers = [
    ["Me", "/me"],
    ["Answer & { rows: HubRow[] }", "/hubs"],
    ["Glance", hub("glance")],
    ["Series", hub("series?range=15m")],
    ["Series", hub("series?range=15m&queue=images")],
    ["{ at_ms: number; took_ms: number; sql: string; rows: Found[] }", hub("find?text=order")],
    ["OwnerPage", hub("owners")],
    ["Page<Schedule>", hub("schedules")],
    ["Page<Subscription>", hub("subscriptions")],
    ["Health", hub("health")],
    ["QueueDetail", hub("queues/images")],
    ["Page<TaskRow>", hub("tasks?order=created")],
    ...[member, suspended, active].map((id) => ["Task", hub(`tasks/${id}`)]),
    ["Explanation", hub(`tasks/${suspended}/explain`)],
    ["Page<Waitpoint>", hub(`tasks/${suspended}/waitpoints`)],
    ["Page<InstanceRow>", hub("instances")],
    ...[running, failed].map((id) => ["Instance", hub(`instances/${id}`)]),
    ["Page<HistoryEvent>", hub(`instances/${failed}/history`)],
    ["Page<HistoryEvent>", hub(`instances/${failed}/history?order=newest`)],
    ["Answer & { rows: TreeNode[] }", hub(`instances/${failed}/tree`)],
    ["Page<KeyValue>", hub(`instances/${failed}/kv`)],
    // One row: of several, TypeScript gives each the keys of the others, as undefined.
    ["Page<FlowRow>", hub("flows?limit=1")],
    ["Flow", hub(`flows/${flow}`)],
    ["Page<WorkItem>", hub("work-items")],
    ...(item === "" ? [] : [["Explanation", hub(`work-items/${item}/explain`)]]),
    ["Page<Message>", hub("messages")],
    ["Page<DeadLetter>", hub("dead-letters")],
    ["Page<HubEvent>", hub("events")],
    ["Page<BulkJob>", hub("bulk")],
  ];
  const values = [];
  for (const [type, path] of answers) values.push({ type, path, value: await server.get(path) });
  const dry = await server.post(hub("actions"), { action: "pause_queue", args: { queue: "mail" }, reason: "", key: "t4", dry_run: true });
  values.push({ type: "DryRun", path: "actions", value: dry });
  const done = await server.post(hub("actions"), { action: "resume_queue", args: { queue: "mail" }, reason: "", key: "t4", dry_run: false });
  values.push({ type: "ActionResult", path: "actions", value: done });
  const schedule = await server.post(hub("actions"), { action: "create_schedule", args: { name: "x", cron: "0 3 * * *", time_zone: "UTC", task: '{"queue": "a"}', catch_up: "one" }, reason: "", key: "t4s", dry_run: true });
  values.push({ type: "DryRun", path: "actions, a schedule", value: schedule });
  const many = { action: "replay_task", ids: [active], filter: {}, upto: null, reason: "", key: "t4b" };
  values.push({ type: "BulkDryRun", path: "bulk, dry", value: await server.post(hub("bulk"), { ...many, dry_run: true }) });
  // A hub of an older server has no functions for many objects.
  if ((await server.get("/me")).hubs.app.bulk.includes("replay_task")) values.push({ type: "BulkJob", path: "bulk", value: await server.post(hub("bulk"), { ...many, dry_run: false }) });
  assert.deepEqual(misfits(values), []);
  // The test of the test.
  assert.equal(misfits([{ type: "Found", path: "x", value: { what: "task", id: 1, label: "" } }]).length, 1);
  assert.equal(misfits([{ type: "Found", path: "x", value: { what: "task", id: "1" } }]).length, 1);
});
