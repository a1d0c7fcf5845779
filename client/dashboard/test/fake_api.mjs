// A stand-in for `belay dashboard`: the same routes, with generated data. Test code, not shipped.
//
//   node test/fake_api.mjs [--port N] [--seed N] [--scenario NAME] [--frozen]
//
// The data depends on the seed alone. Scenarios: normal, empty, hostile. `state` of startFakeApi changes the
// rest while it runs: level, read_only, standby, away (503), dropped (no hub is left), fail (routes that answer with an error).
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { day, makeData, random } from "./fake_data.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const actionTable = {
  pause_hub: ["Pause", "operator", "disturbing", "optional"],
  resume_hub: ["Resume hub", "operator", "safe", "none"],
  pause_queue: ["Pause", "operator", "disturbing", "optional"],
  resume_queue: ["Resume", "operator", "safe", "none"],
  set_queue: ["Limits", "operator", "disturbing", "optional"],
  cancel_task: ["Cancel", "operator", "disturbing", "required"],
  revoke_lease: ["Revoke lease", "operator", "disturbing", "required"],
  change_priority: ["Priority", "operator", "disturbing", "optional"],
  replay_task: ["Replay", "operator", "safe", "none"],
  resume_task: ["Resume", "operator", "safe", "none"],
  complete_task: ["Complete", "operator", "disturbing", "required"],
  fail_task: ["Fail", "operator", "disturbing", "required"],
  delete_task: ["Delete", "operator", "destructive", "optional"],
  approve_task: ["Approve", "operator", "safe", "none"],
  raise_event: ["Raise event", "client", "disturbing", "none"],
  cancel_instance: ["Cancel", "client", "disturbing", "required"],
  delete_instance: ["Delete", "operator", "destructive", "optional"],
  prune_executions: ["Prune", "operator", "destructive", "optional"],
  cancel_flow: ["Cancel", "operator", "disturbing", "required"],
  delete_flow: ["Delete", "operator", "destructive", "optional"],
  create_schedule: ["New schedule", "operator", "disturbing", "optional"],
  pause_schedule: ["Pause", "operator", "disturbing", "optional"],
  resume_schedule: ["Resume", "operator", "safe", "none"],
  drop_schedule: ["Drop", "operator", "destructive", "optional"],
  redrive_dead_letter: ["Redrive", "operator", "safe", "none"],
  discard_dead_letter: ["Discard", "operator", "destructive", "optional"],
  drop_subscription: ["Drop", "operator", "destructive", "optional"],
  check_tasks: ["Check tasks", "monitor", "safe", "none"],
  check_hub: ["Check hub", "owner", "safe", "none"],
};
const effects = {
  pause_queue: (a) => `Queue ${a.queue} hands out no more tasks. Running tasks continue.`,
  cancel_task: () => "The task ends as cancelled. A worker that holds its lease loses it.",
  revoke_lease: () => "The worker loses its lease; the same attempt can be claimed at once.",
  change_priority: (a) => `The task gets priority ${a.priority}.`,
  delete_task: () => "The task, its attempts and its key are deleted. This cannot be undone.",
  cancel_flow: (a) => `The flow ends as cancelled (${a.policy}).`,
  discard_dead_letter: () => "The dead letter is deleted. This cannot be undone.",
  set_queue: () => "The limits of the queue change at once; running tasks go on.",
  create_schedule: (a) => `Schedule ${a.name || "…"} creates a task at each of its times.`,
};

const levels = { monitor: ["monitor"], operator: ["client", "worker", "monitor", "operator"], owner: ["client", "worker", "monitor", "operator", "owner"], none: [] };

export async function startFakeApi({ port = 0, seed = 7, scenario = "normal", frozen = false, start = null, web = join(here, "../../../build/dashboard"), basePath = "", login = false, version = null, history = 0 } = {}) {
  const born = Date.now();
  const zero = start ?? (frozen ? Date.UTC(2026, 10, 17, 14, 3, 7, 214) : born);
  const now = () => (frozen ? zero : zero + Date.now() - born);
  const data = makeData(seed, zero, scenario);
  const hub = scenario === "hostile" ? '"; DROP <img src=x onerror=window.hacked=1>' : "app";
  const state = { level: "operator", read_only: false, standby: false, preloaded: true, away: false, fail: {}, slow: 0, statements: 0, streams: 0, maxStreams: 0, actions: [], bulks: [], requests: [], loggedIn: !login, way: "token", version: version ?? readFileSync(join(web, "version"), "utf8"), mutate: data, dropped: false };
  const keys = new Map();
  const streams = new Map();
  let lastStream = 0;
  if (history > 0) {
    const events = data.histories.get("import-2026-11");
    const at = events[events.length - 1].at_ms;
    for (let i = events.length; i < history; i++) {
      const source = i % 2 === 1 ? String(i) : null;
      events.push({ event_id: String(i + 1), type: source ? "ActivityCompleted" : "ActivityScheduled", name: source ? null : `Row ${i}`, source_event_id: source, at_ms: at + i * 3, turn_ms: at + i * 3, preview: "{}", bytes: 2 });
    }
  }

  const count = (n) => ({ n: Math.min(n, 10000), capped: n > 10000 });
  const glance = () => {
    const of = (s) => data.tasks.filter((t) => t.state === s).length;
    const group = new Map();
    for (const d of data.deadLetters) {
      const k = `${d.queue} ${d.reason}`;
      const g = group.get(k) ?? { queue: d.queue, reason: d.reason, count: count(0), newest_ms: 0 };
      g.count.n++;
      g.newest_ms = Math.max(g.newest_ms, d.dead_at_ms);
      group.set(k, g);
    }
    const e = data.empty;
    return {
      hub,
      at_ms: now(),
      took_ms: 2.1,
      sql: `SELECT ${hub === "app" ? "app" : `"${hub.replace(/"/g, '""')}"`}.glance(10000);`,
      hub_version: 1,
      provider: ["worker", "orchestrator"].map((queue, i) => ({ queue, ready: count(e ? 0 : [12_400, 12][i]), oldest_ms: e ? null : [61_000, 40][i], leased: e ? 0 : [8, 3][i], waiting: count(e ? 0 : [4, 2][i]), waiters: [5, 2][i], dead: count(e ? 0 : data.deadLetters.filter((d) => d.queue === queue).length), paused: data.paused.some((p) => p.queue === queue), rates: { in: e ? 0 : [500, 502][i], done: e ? 0 : [250, 498][i], lost: 0, failed: 0 }, spark: data.sparks?.[i] ?? ((data.sparks ??= [data.spark(260), data.spark(500)])[i]) })),
      queues: data.queues,
      queues_more: false,
      dead_letters: [...group.values()],
      failed_last_hour: count(of("failed")),
      expired_last_hour: count(of("expired")),
      running_instances: count(data.instances.filter((i) => i.status === "Running").length),
      schedules_with_errors: data.schedules.filter((s) => s.last_error).map((s) => ({ name: s.name, error: s.last_error })),
      subscriptions: data.subscriptions.map((s) => ({ name: s.name, lag: s.lag, lag_ms: s.lag_ms })),
      intents_waiting: count(e ? 0 : 1),
      background_worker: { state: "running", last_loop_ms: 420 },
      oldest_snapshot: e ? null : { age_ms: 8300, pid: 31877 },
      paused: data.paused,
      estimates: { tasks: e ? 0 : 1_214_330, instances: e ? 0 : 84_210, events: e ? 0 : 3_400_112 },
      wait: e ? null : (data.wait ??= data.latency(12)),
      run: e ? null : (data.run ??= data.latency(180)),
    };
  };
  const series = (range) => {
    const step = { "15m": 10_000, "1h": 60_000, "24h": 600_000, "7d": 3_600_000 }[range] ?? 10_000;
    const n = { "15m": 90, "1h": 60, "24h": 144, "7d": 168 }[range] ?? 90;
    const r = random(seed + n);
    const end = Math.floor(now() / step) * step;
    const t = Array.from({ length: n }, (_v, i) => end - (n - 1 - i) * step);
    const wave = (i, base, swing) => Math.max(0, base + swing * Math.sin(i / 9) + (r() - 0.5) * swing * 0.6);
    const none = data.empty;
    return { at_ms: now(), took_ms: 1.4, sql: "SELECT * FROM app.stat_series(…);", durations_sql: "SELECT wait_buckets FROM app.stat_series(…);", step_ms: step, t, in: t.map((_v, i) => (none ? 0 : wave(i, 500, 90))), done: t.map((_v, i) => (none ? 0 : wave(i, 470, 110))), failed: t.map((_v, i) => (none ? 0 : i % 29 === 0 ? 9 : r() * 2)), oldest_ms: t.map((_v, i) => (none ? null : 200 + i * 700 * (r() * 0.2 + 0.9))), depth: t.map(() => 10), wait: glance().wait, run: glance().run };
  };

  const page = (rows, query, sql, idOf) => {
    const limit = Math.min(Number(query.get("limit") ?? 50), 5000);
    const after = query.get("after");
    let from = 0;
    if (after !== null) {
      const [kind, id] = [after.slice(0, 2), after.slice(2)];
      if (kind !== "c:") throw problem(400, "cursor_of_another_filter", "cursor belongs to another filter", "QB006");
      from = rows.findIndex((r) => idOf(r) === id) + 1;
    }
    const part = rows.slice(from, from + limit);
    const more = from + limit < rows.length;
    return { at_ms: now(), took_ms: 1.2, sql, rows: part, next: more ? `c:${idOf(part[part.length - 1])}` : null, scanned: part.length, estimate: 1_214_330, upto: rows.length > 0 ? idOf(rows[0]) : null };
  };
  const problem = (status, error, message, sqlstate, detail, hint) => ({ status, body: { error, message, ...(sqlstate ? { sqlstate } : {}), ...(detail ? { detail } : {}), ...(hint ? { hint } : {}) } });
  const taskRow = (t) => ({ ...t, payload: t.payload === null ? null : t.payload.slice(0, 200), attempts: undefined, result: undefined, checkpoint: undefined, progress: undefined });
  const body = (text, cut = 16_384) => ({ text: text === null || text === undefined ? null : text.slice(0, cut), bytes: text ? Buffer.byteLength(text) : 0 });
  const policy = [
    { key: "attempt_timeout_ms", value: "8000", from: "task" },
    { key: "max_attempts", value: "4", from: "task" },
  ];
  const explain = (t) => {
    if (t.state === "active") return [{ reason: t.lease_until_ms > now() ? "leased" : "lease_over_unsettled", detail: { worker: t.worker, worker_instance: t.worker, until_ms: t.lease_until_ms }, until_ms: t.lease_until_ms }];
    if (t.state === "delayed") return [{ reason: "not_due", detail: { until_ms: t.available_at_ms }, until_ms: t.available_at_ms }];
    if (t.state === "suspended") return [{ reason: "suspended", detail: { suspension: null }, until_ms: zero + 3_600_000 }];
    if (t.state === "blocked") return [{ reason: "blocked_by_upstream", detail: { upstream: [{ task_id: data.tasks[0].task_id, state: "active" }] }, until_ms: null }];
    const q = data.queues.find((x) => x.queue === t.queue);
    const rows = [];
    if (q?.paused) rows.push({ reason: "queue_paused", detail: null, until_ms: null });
    if (q?.rate_per_s) rows.push({ reason: "queue_rate", detail: { rate_per_s: q.rate_per_s, until_ms: now() + 200 }, until_ms: now() + 200 });
    if (t.queue === data.queueNames[5]) rows.push({ reason: "capabilities_missing", detail: { missing: ["avx2"] }, until_ms: null });
    rows.push(rows.length === 0 ? { reason: "claimable", detail: null, until_ms: null } : { reason: "behind", detail: { tasks: 17 }, until_ms: null });
    return rows;
  };
  const bodyText = (what, id, field) => {
    if (what === "tasks") return data.tasks.find((t) => t.task_id === id)?.[field] ?? null;
    if (what === "dead-letters") return data.deadLetters.find((d) => d.id === id)?.preview ?? null;
    if (what === "work-items") return data.workItems.find((d) => d.id === id)?.preview ?? null;
    if (what === "instances") return data.histories.get(id)?.find((e) => field.endsWith(`.${e.event_id}`))?.preview ?? '{"order": 7}';
    return null;
  };

  // ---- Reads of a hub ----
  const read = (parts, query) => {
    const [what, id, sub, field] = parts;
    const filter = JSON.parse(query.get("filter") ?? "{}");
    const order = query.get("order") ?? "created";
    const needs = ["work-items", "messages", "dead-letters"].includes(what) ? "operator" : "monitor";
    if (!levels[state.level].includes(needs)) throw problem(403, "insufficient_privilege", `permission denied for function browse_${what.replace("-", "_")}`, "42501", undefined, needs);
    const sql = (fn) => `SELECT ${hub}.${fn}('${JSON.stringify(filter)}', '${order}');`;
    if (sub === "body") {
      const text = bodyText(what, id, field) ?? "";
      if (query.get("download")) return { download: text };
      return { at_ms: now(), text: text.slice(Number(query.get("offset") ?? 0), Number(query.get("offset") ?? 0) + Number(query.get("length") ?? 65_536)), bytes: text.length };
    }
    switch (what) {
      case "glance":
        return glance();
      case "series":
        return series(query.get("range") ?? "15m");
      case "find": {
        const text = query.get("text") ?? "";
        const rows = [];
        for (const t of data.tasks) if (t.task_id.startsWith(text) || t.dedup_key === text) rows.push({ what: "task", id: t.task_id, label: `${t.kind}, ${t.state}` });
        for (const i of data.instances) if (i.instance_id.startsWith(text)) rows.push({ what: "instance", id: i.instance_id, label: `${i.name}, ${i.status}` });
        for (const q of data.queueNames) if (!data.empty && q.startsWith(text)) rows.push({ what: "queue", id: q, label: "queue" });
        for (const s of data.schedules) if (s.name.startsWith(text)) rows.push({ what: "schedule", id: s.name, label: s.cron });
        return { at_ms: now(), took_ms: 0.6, sql: `SELECT * FROM ${hub}.find('${text}');`, rows: rows.slice(0, 20) };
      }
      case "queues": {
        const found = data.queues.find((x) => x.queue === id);
        const q = found ?? { queue: id, paused: false, ready: count(0), delayed: count(0), active: count(0), suspended: count(0), blocked: count(0), overdue: count(0), oldest_ms: null, owners: 0, concurrency: null, rate_per_s: null, burst: null, rates: null, spark: [] };
        return { at_ms: now(), took_ms: 1.9, sql: `SELECT * FROM ${hub}.list_queues() AS q WHERE q.queue = '${id}';`, queue: q, listed: found !== undefined, kinds: found ? (data.kinds ??= ["welcome", "invoice"].map((kind, i) => ({ kind: data.evil(kind), n: [18_200, 4100][i], failed: [12, 240][i], wait: data.latency(40), run: data.latency(180) }))) : [], owners: data.owners.filter((o) => o.queues.includes(id)) };
      }
      case "tasks": {
        if (id === undefined) {
          let rows = data.tasks.filter((t) => (!filter.state || filter.state.includes(t.state)) && (!filter.queue || t.queue === filter.queue) && (!filter.kind || t.kind === filter.kind) && (!filter.worker || t.worker === filter.worker) && (!filter.dedup_key || t.dedup_key === filter.dedup_key) && (!filter.created_from_ms || t.created_at_ms >= filter.created_from_ms) && (!filter.message || (t.failure_message ?? "").includes(filter.message)));
          if (filter.payload) rows = rows.filter((t) => Object.entries(filter.payload).every(([k, v]) => { try { return JSON.stringify(JSON.parse(t.payload)[k]) === JSON.stringify(v); } catch { return false; } }));
          const by = { due: (a, b) => a.available_at_ms - b.available_at_ms, claim: (a, b) => b.priority - a.priority || a.available_at_ms - b.available_at_ms, lease: (a, b) => a.lease_until_ms - b.lease_until_ms, parked: (a, b) => (a.state < b.state ? -1 : a.state > b.state ? 1 : 0), failed: (a, b) => b.terminal_at_ms - a.terminal_at_ms, ended: (a, b) => b.terminal_at_ms - a.terminal_at_ms, created: (a, b) => b.created_at_ms - a.created_at_ms }[order];
          if (order === "claim") rows = rows.filter((t) => t.state === "ready");
          rows = [...rows].sort((a, b) => by(a, b) || (a.task_id < b.task_id ? -1 : 1));
          const answer = page(rows.map(taskRow), query, sql("browse_tasks"), (t) => t.task_id);
          if (filter.payload && query.get("after") === null) return { ...answer, scanned: 10_000, next: answer.next ?? (rows.length === 0 ? "c:none" : null) };
          return answer;
        }
        const t = data.tasks.find((x) => x.task_id === id);
        if (!t) throw problem(404, "not_found", `task ${id} does not exist`, "QB002");
        if (sub === "explain") return { at_ms: now(), took_ms: 0.8, sql: `SELECT * FROM ${hub}.explain_claim('${id}');`, rows: explain(t) };
        if (sub === "waitpoints") return page(t.state === "suspended" ? [{ waitpoint_id: `${id}-w1`, key: data.evil("approval"), state: "pending", signals: 0, created_at_ms: zero - 30_000, expires_at_ms: null, closed_at_ms: null }, { waitpoint_id: `${id}-w2`, key: "legal", state: "closed", signals: 1, created_at_ms: zero - 30_000, expires_at_ms: null, closed_at_ms: zero - 9000 }] : [], query, `SELECT * FROM ${hub}.list_waitpoints('${id}');`, (w) => w.waitpoint_id);
        const flow = data.flows.find((f) => f.flow_id === t.flow_id);
        const near = (ids) => ids.map((x) => flow.members.find((m) => m.task_id === x)).map((m) => ({ task_id: m.task_id, key: m.key, state: m.state })).slice(0, 20);
        return {
          at_ms: now(),
          took_ms: 0.9,
          sql: `SELECT ${hub}.get_task('${id}');`,
          ...t,
          public_state: t.state,
          capabilities: t.queue === data.queueNames[5] ? ["avx2"] : [],
          tags: body('{"customer": 7}'),
          started_at_ms: t.attempts[0]?.started_ms ?? null,
          cancelled_by: t.state === "cancelled" ? "ada" : null,
          lease: t.state === "active" ? { lease_id: `belay:${id}:1`, epoch: t.lease_epoch, worker: t.worker, worker_instance: t.worker, until_ms: t.lease_until_ms, live: true } : null,
          failure: t.failure_class ? { class: t.failure_class, message: t.failure_message, details: body('{"code": 421, "host": "smtp.example.org"}') } : null,
          payload: body(t.payload),
          result: body(t.result),
          checkpoint: body(t.checkpoint),
          policy,
          upstream: flow ? near(flow.edges.filter((e) => e.downstream_id === id).map((e) => e.upstream_id)) : [],
          upstream_more: 0,
          downstream: flow ? near(flow.edges.filter((e) => e.upstream_id === id).map((e) => e.downstream_id)) : [],
          downstream_more: 0,
          suspension: t.state === "suspended" ? { reason_code: "waiting_for_approval", since_ms: zero - 30_000, timeout_at_ms: zero + 3_600_000, on_timeout: "fail" } : null,
        };
      }
      case "instances": {
        if (id === undefined) {
          const want = { running: ["Running"], failed: ["Failed"], ended: ["Completed", "Failed"], created: null }[order];
          const rows = data.instances.filter((i) => (!want || want.includes(i.status)) && (!filter.name || i.name === filter.name) && (!filter.prefix || i.instance_id.startsWith(filter.prefix))).sort((a, b) => b.created_at_ms - a.created_at_ms);
          return page(rows, query, sql("browse_instances"), (i) => i.instance_id);
        }
        const i = data.instances.find((x) => x.instance_id === id);
        if (!i) throw problem(404, "not_found", `instance ${id} does not exist`, "QB002");
        const history_ = data.histories.get(id);
        if (sub === "history") return page(query.get("order") === "newest" ? [...history_].reverse() : history_, query, `SELECT ${hub}.browse_history('${id}', ${query.get("execution")});`, (e) => e.event_id);
        if (sub === "tree") return { at_ms: now(), took_ms: 0.5, sql: `SELECT * FROM ${hub}.get_instance_tree('${id}');`, complete: true, rows: [{ instance_id: id, name: i.name, status: i.status, depth: 0, more: 0 }, ...data.instances.filter((x) => x.parent_id === id).map((x) => ({ instance_id: x.instance_id, name: x.name, status: x.status, depth: 1, more: 240 }))] };
        if (sub === "kv") return page(i.status === "Running" ? [{ key: data.evil("stage"), value: '"charging"', bytes: 10, updated_at_ms: zero - 8000 }, { key: "total", value: "9007199254740993", bytes: 16, updated_at_ms: zero - 21_000 }] : [], query, `SELECT * FROM ${hub}.get_kv_all_values('${id}');`, (k) => k.key);
        return {
          at_ms: now(),
          took_ms: 1.1,
          sql: `SELECT * FROM ${hub}.get_instance_info('${id}');`,
          ...i,
          executions: Array.from({ length: i.execution }, (_v, n) => ({ execution: n + 1, status: n + 1 === i.execution ? i.status : "ContinuedAsNew", started_at_ms: i.created_at_ms, ended_at_ms: n + 1 === i.execution ? i.ended_at_ms : i.created_at_ms + 9000, events: history_.length })),
          input: body('{"order": 7, "amount": 42.00, "customer": {"id": 9007199254740993, "name": "Ada"}}'),
          output: body(i.status === "Completed" ? '"paid"' : i.status === "Failed" ? "card was declined: insufficient funds" : null),
          custom_status: body(i.custom_status === null ? null : JSON.stringify(i.custom_status)),
          waits: i.status === "Running" ? [{ reason: "activity", detail: { text: `${data.evil("Charge")} #5: leased by bill-3-3310, attempt 2` }, until_ms: zero + 23_000 }, { reason: "timer", detail: { text: "#7" }, until_ms: zero + 41_000 }] : [],
          waits_sql: i.status === "Running" ? `SELECT * FROM ${hub}.explain_waits('${id}', 20);` : "",
        };
      }
      case "flows": {
        if (id === undefined) {
          const rows = data.flows.filter((f) => (!filter.state || filter.state.includes(f.state)) && (!filter.kind || f.kind === filter.kind)).sort((a, b) => b.created_at_ms - a.created_at_ms).map((f) => ({ ...f, members: undefined, edges: undefined, groups: undefined }));
          return page(rows, query, sql("browse_flows"), (f) => f.flow_id);
        }
        const f = data.flows.find((x) => x.flow_id === id);
        if (!f) throw problem(404, "not_found", `flow ${id} does not exist`, "QB002");
        return { at_ms: now(), took_ms: 3.2, sql: `SELECT ${hub}.get_flow('${id}');`, ...f };
      }
      case "schedules":
        return page(data.schedules, query, `SELECT * FROM ${hub}.list_schedules();`, (s) => s.name);
      case "subscriptions":
        return page(data.subscriptions, query, `SELECT * FROM ${hub}.subscriptions;`, (s) => s.name);
      case "dead-letters":
        return page(data.deadLetters.filter((d) => (!filter.queue || d.queue === filter.queue) && (!filter.reason || d.reason === filter.reason) && (!filter.name || d.name === filter.name) && (!filter.instance_id || d.instance_id === filter.instance_id)), query, sql("browse_dead_letters"), (d) => d.id);
      case "work-items":
        if (sub === "explain") {
          const w = data.workItems.find((x) => x.id === id);
          return { at_ms: now(), took_ms: 0.4, sql: `SELECT * FROM ${hub}.explain_work_item(${id});`, rows: [w.state === "leased" ? { reason: "leased", detail: { owner: w.locked_by }, until_ms: w.locked_until_ms } : { reason: "ready", detail: null, until_ms: null }] };
        }
        return page(data.workItems.filter((w) => (!filter.state || w.state === filter.state) && (!filter.name || w.name === filter.name) && (!filter.locked_by || w.locked_by === filter.locked_by)), query, sql("browse_work_items"), (w) => w.id);
      case "messages":
        return page(data.messages.filter((m) => (!filter.instance_id || m.instance_id === filter.instance_id) && (!filter.name || m.name === filter.name)), query, sql("browse_messages"), (m) => m.id);
      case "events":
        return page([...data.events].reverse().filter((e) => (!filter.topics || filter.topics.includes(e.topic)) && (!filter.types || filter.types.includes(e.type)) && (!filter.subject || e.subject === filter.subject) && (!filter.by || e.by === filter.by)), query, sql("browse_events"), (e) => e.event_id);
      case "owners":
        return { ...page(data.owners, query, `SELECT * FROM ${hub}.list_owners();`, (o) => o.owner_id), complete: true, turns: data.empty ? { live: 0, overdue: 0, oldest_ms: null, next_deadline_ms: null, complete: true } : { live: 3, overdue: 1, oldest_ms: zero - 61_000, next_deadline_ms: zero + 12_000, complete: true } };
      case "health": {
        const sizes = ["tasks", "attempts", "instances", "executions", "history_turns", "worker_queue", "orchestrator_queue", "outbox_events", "dead_letters"].map((table, i) => ({ table, live_rows: [1_214_330, 1_502_114, 84_210, 91_204, 2_104_881, 12_408, 14, 3_400_112, 132][i], dead_rows: [21_400, 800, 120, 90, 0, 30_240, 411, 0, 3][i], table_bytes: [412e6, 240e6, 18e6, 21e6, 900e6, 9e6, 1e6, 610e6, 81_920][i], index_bytes: [190e6, 88e6, 9e6, 8e6, 120e6, 4e6, 500_000, 240e6, 32_768][i], toast_bytes: [60e6, 8192, 0, 0, 210e6, 8192, 8192, 8192, 8192][i], last_autovacuum_ms: i === 4 ? null : zero - (i + 1) * 900_000 }));
        return { at_ms: now(), took_ms: 6.4, sql: `SELECT * FROM belay.workers;\nSELECT * FROM belay.hub_sizes WHERE hub = '${hub}';`, background_worker: { pid: 31702, state: "idle", started_at_ms: zero - 4 * day, last_loop_ms: now() - 420 }, duties: ["lease_expiry", "session_cleanup", "outbox_retention", "schedules", "intent_relay", "deadlines", "retention"].map((duty, i) => ({ duty, last_run_ms: now() - (i + 1) * 700, runs: 345_600 - i * 1000, rows: [1204, 4, 88_120, 412, 77, 5760, 20_114][i], errors: i === 3 ? 3 : 0, last_error: i === 3 ? data.evil("queue reports has more than 1000 capability sets") : null, last_error_at_ms: i === 3 ? zero - 46_000 : null })), oldest_snapshot: { pid: 31877, age_ms: 8300, application: data.evil("pg_dump"), state: "active" }, shared_memory: [{ what: "waiting sessions", used: 7, of: null }, { what: "channels", used: 12, of: null }, { what: "leases", used: 21, of: 65_536 }, { what: "counter slots", used: 2, of: 2048 }], sizes: data.empty ? sizes.map((s) => ({ ...s, live_rows: 0, dead_rows: 0 })) : sizes, options: [{ option: "max_attempts", value: "5", is_default: false }, { option: "task_retention", value: "7 days", is_default: false }, { option: "slot_count", value: "1", is_default: true }], links: data.empty ? [] : [{ target: data.evil("warehouse"), server: "warehouse_db", waiting: count(1), last_error: null }], intents: count(data.empty ? 0 : 1), check_estimate: 1_214_330 };
      }
      case "bulk":
        if (id === undefined) return page([...data.bulk].reverse(), query, "", (j) => j.id);
        return data.bulk.find((j) => j.id === id) ?? (() => { throw problem(404, "not_found", `bulk job ${id} does not exist`); })();
    }
    throw problem(404, "no_route", "there is no such route");
  };

  const record = (type, subject, reason, details) => {
    const event = { event_id: `1-${200_000 + data.events.length}`, topic: "operator", type, subject, by: "ada", via: "belay dashboard", reason, occurred_at_ms: now(), details: JSON.stringify(details) };
    data.events.push(event);
    for (const s of streams.values()) if (s.wants.has(`events:${hub}:`)) s.send("events", { hub, rows: [event] });
  };
  const changed = (what, id) => {
    for (const s of streams.values()) if (s.wants.has(`${what}:${hub}:${id}`)) s.send("changed", { hub, what, id });
  };
  state.changed = changed;
  state.watched = (what) => [...streams.values()].some((s) => s.wants.has(what));
  state.data = data;
  state.hub = hub;

  // ---- Actions ----
  const quote = (v) => (v === null || v === undefined ? "NULL" : typeof v === "number" || typeof v === "boolean" ? String(v) : `'${String(v).replace(/'/g, "''")}'`);
  const allowed = (level) => !state.read_only && !state.standby && levels[state.level].includes(level);
  const act = ({ action, args, reason, key, dry_run }) => {
    const entry = actionTable[action];
    if (!entry) throw problem(400, "no_action", `no action "${action}"`);
    const [label, level, kind, why] = entry;
    const sql = `SELECT * FROM ${hub}.${action}(${Object.entries(args).map(([k, v]) => `${k} => ${quote(v)}`).join(", ")});`;
    const subject = args.task_id ?? args.instance_id ?? args.flow_id ?? args.queue ?? args.name ?? args.id ?? hub;
    if (dry_run) {
      const answer = { action, sql, command: `belay ${action.replace("_", " ")} ${quote(subject)}`, level, allowed: allowed(level), kind, reason: why, effect: effects[action]?.(args) ?? `${label} ${subject}.`, confirm: kind === "destructive" ? String(subject) : null };
      if (action === "create_schedule") {
        if (String(args.cron).trim().split(/\s+/).length !== 5) throw problem(409, "cron", "cron expression has to have five fields", "QB006", undefined, "An example is 30 2 * * mon-fri.");
        answer.next_ms = Array.from({ length: 5 }, (_v, i) => zero + (i + 1) * day);
      }
      return answer;
    }
    if (!allowed(level)) throw problem(403, "insufficient_privilege", `permission denied for function ${action}`, "42501", undefined, level);
    if (keys.has(key)) return keys.get(key);
    state.actions.push({ action, args, reason, sql });
    const done = (message, result = "{}", effective = true) => {
      const answer = { at_ms: now(), sql, effective, message, result };
      keys.set(key, answer);
      return answer;
    };
    const t = data.tasks.find((x) => x.task_id === args.task_id);
    if (args.task_id !== undefined) {
      if (!t) throw problem(409, "not_found", `task ${args.task_id} does not exist`, "QB002");
      if (args.expected_epoch !== undefined && args.expected_epoch !== t.lease_epoch) return done("nothing was done: its epoch has moved on (epoch_moved)", '{"result": "already_satisfied", "reason": "epoch_moved"}', false);
      if (args.expected_replay !== undefined && args.expected_replay !== t.replay_count) return done("nothing was done: it was replayed meanwhile", '{"result": "already_satisfied"}', false);
      const to = { cancel_task: "cancelled", revoke_lease: "ready", replay_task: "ready", resume_task: "ready", complete_task: "completed", fail_task: "failed", approve_task: "ready" }[action];
      if (to) {
        t.state = to;
        t.lease_epoch = String(Number(t.lease_epoch) + 1);
        if (action === "replay_task") t.replay_count++;
        t.terminal_at_ms = ["cancelled", "completed", "failed"].includes(to) ? now() : null;
        t.available_at_ms = now();
        t.updated_at_ms = now();
        if (to === "cancelled") t.cancel_reason = reason;
        if (to === "ready") t.failure_class = t.failure_message = null;
        const last = t.attempts[t.attempts.length - 1];
        if (last && last.ended_ms === null) { last.ended_ms = now(); last.outcome = to === "completed" ? "completed" : "cancelled"; }
      }
      if (action === "change_priority") t.priority = args.priority;
      if (action === "delete_task") data.tasks.splice(data.tasks.indexOf(t), 1);
      record(action, args.task_id, reason, args);
      changed("task", args.task_id);
      if (action === "replay_task" && state.worker) setTimeout(() => { t.state = "completed"; t.terminal_at_ms = t.updated_at_ms = now(); t.result = '{"sent": true}'; changed("task", t.task_id); }, 400);
      return done({ replay_task: "it runs once more", cancel_task: "cancelled", revoke_lease: "revoked", change_priority: "priority changed" }[action] ?? "done", JSON.stringify({ result: to ?? "done", task_id: args.task_id }));
    }
    const q = data.queues.find((x) => x.queue === args.queue);
    if (action === "pause_queue" && q) q.paused = true;
    if (action === "resume_queue" && q) q.paused = false;
    if (action === "set_queue" && q) Object.assign(q, { concurrency: args.concurrency, rate_per_s: args.rate_per_s, burst: args.burst });
    if (action === "pause_hub") data.paused.push({ queue: args.queue || "all queues", reason, by: "ada", at_ms: now() });
    if (action === "resume_hub") data.paused.length = 0;
    const s = data.schedules.find((x) => x.name === args.name);
    if (action === "pause_schedule" && s) s.paused = true;
    if (action === "resume_schedule" && s) s.paused = false;
    if (action === "drop_schedule" && s) data.schedules.splice(data.schedules.indexOf(s), 1);
    if (action === "create_schedule") data.schedules.push({ name: args.name, cron: args.cron, time_zone: args.time_zone, catch_up: args.catch_up, paused: false, task: args.task, queue: "reports", next_ms: [zero + day], last_due_ms: null, last_task_id: null, last_error: null, created_at_ms: now() });
    const d = data.deadLetters.findIndex((x) => x.id === args.id);
    if (d >= 0) data.deadLetters.splice(d, 1);
    const i = data.instances.find((x) => x.instance_id === args.instance_id);
    if (action === "cancel_instance" && i) { i.status = "Failed"; i.ended_at_ms = i.updated_at_ms = now(); }
    if (action === "delete_instance" && i) data.instances.splice(data.instances.indexOf(i), 1);
    if (action === "check_tasks" || action === "check_hub") return done("no row: everything is in order", "[]");
    record(action, subject, reason, args);
    return done("done", "{}");
  };

  // ---- Bulk ----
  const lists = { redrive_dead_letter: "deadLetters", discard_dead_letter: "deadLetters", cancel_task: "tasks", replay_task: "tasks", cancel_instance: "instances" };
  const idOf = (row) => row.id ?? row.task_id ?? row.instance_id;
  const matching = ({ action, ids, filter, upto }) => {
    const rows = data[lists[action]] ?? [];
    const keep = rows.filter((r) => Object.entries(filter ?? {}).every(([k, v]) => k === "order" || (Array.isArray(v) ? v.includes(r[k]) : r[k] === v)));
    if (ids) return rows.filter((r) => ids.includes(idOf(r)));
    // Nothing that came later: ids of dead letters grow.
    return upto !== null && lists[action] === "deadLetters" ? keep.filter((r) => Number(idOf(r)) <= Number(upto)) : keep;
  };
  const bulk = (request) => {
    const [label, level, kind, reasonOf] = actionTable[request.action];
    state.bulks.push(request);
    const rows = matching(request);
    if (request.dry_run) return { count: state.bulkCount ?? count(rows.length), examples: rows.slice(0, 5).map((r) => ({ id: idOf(r), label: r.name ?? r.kind ?? "" })), skipped: [], sql: `SELECT ${hub}.${request.action}s('${JSON.stringify(request.filter)}');`, effect: `${label} ${rows.length} objects.`, allowed: allowed(level), level, kind, reason: reasonOf };
    if (!allowed(level)) throw problem(403, "insufficient_privilege", `permission denied for function ${request.action}`, "42501", undefined, level);
    if (keys.has(request.key)) return keys.get(request.key);
    const job = { at_ms: now(), id: String(data.bulk.length + 1), action: request.action, label: `${label} ${rows.length} objects`, state: "running", by: "ada", reason: request.reason, filter: JSON.stringify(request.filter), total: count(rows.length), done: 0, skipped: 0, failed: [], rate: 0, started_at_ms: now(), ended_at_ms: null, cursor: null };
    data.bulk.push(job);
    keys.set(request.key, job);
    const portion = state.portion ?? 50;
    const left = [...rows];
    const step = () => {
      if (job.state === "stopping") { job.state = "stopped"; job.cursor = left[0] ? idOf(left[0]) : null; job.ended_at_ms = now(); }
      if (job.state !== "running") return tellJob(job);
      // A test that wants to meet a running job holds it after its first portion.
      if (state.hold && job.done > 0) return void setTimeout(step, 50);
      const part = left.splice(0, portion);
      for (const row of part) {
        const list = data[lists[request.action]];
        if (lists[request.action] === "deadLetters") list.splice(list.indexOf(row), 1);
        else if (request.action === "replay_task") row.state = "ready";
        else row.state = "cancelled";
        job.done++;
      }
      job.rate = (job.done * 1000) / Math.max(1, now() - job.started_at_ms);
      if (left.length === 0) { job.state = "done"; job.ended_at_ms = now(); record(`${request.action}s`, hub, request.reason, { n: job.done }); }
      else setTimeout(step, 150);
      tellJob(job);
    };
    setTimeout(step, 150);
    return job;
  };
  const tellJob = (job) => { for (const s of streams.values()) if (s.wants.has(`bulk:${hub}:${job.id}`)) s.send("bulk", { hub, job }); };

  const me = () => ({
    at_ms: now(),
    user: "ada",
    login: "token",
    csrf: "csrf-of-the-session",
    read_only: state.read_only,
    standby: state.standby,
    preloaded: state.preloaded,
    bodies: "all",
    versions: { dashboard: state.version, library: "1.0.0", server: "15.14" },
    actions: Object.fromEntries(Object.entries(actionTable).map(([name, [label, level, kind, reason]]) => [name, { label, level, kind, reason }])),
    hubs: state.dropped ? {} : { [hub]: { levels: levels[state.level], actions: Object.keys(actionTable).filter((a) => levels[state.level].includes(actionTable[a][1])), bulk: Object.keys(lists).filter((a) => levels[state.level].includes(actionTable[a][1])), body_filters: true, version: 1, current: true, missing: [] }, ...(hub === "app" ? { orders: { levels: levels[state.level], actions: [], bulk: [], body_filters: true, version: 1, current: false, missing: ["browse_tasks"] } } : {}) },
  });
  const hubsAnswer = () => ({ at_ms: now(), took_ms: 1.1, sql: "SELECT * FROM belay.pg_stat_belay_hub;", rows: Object.keys(me().hubs).map((name, i) => ({ name, owner: ["belay_app", "orders_owner"][i], version: 1, current: i === 0, paused_queues: data.paused.map((p) => p.queue), size_bytes: [2_900_000_000, 48_000_000][i], leases: [21, 0][i], waiters: [7, 1][i], oldest_ready_ms: [61_000, 40][i], dead: count(i === 0 ? data.deadLetters.length : 0), rates: { in: [702, 4][i], done: [551, 4][i], lost: 0, failed: 0 }, spark: (data.hubSparks ??= [data.spark(500), data.spark(4)])[i], place: null, here: true })) });

  const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
  const headers = { "Content-Security-Policy": csp, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin" };
  const types = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", txt: "text/plain" };

  // Ids that a browser would resolve have a tilde in front: src/router.ts.
  const unsegment = (s) => { const d = decodeURIComponent(s); return d.startsWith("~") ? d.slice(1) : d; };

  const answer = (request, response, chunks) => {
    const url = new URL(request.url, "http://fake");
    if (!url.pathname.startsWith(basePath)) { response.writeHead(404).end(); return; }
    const path = url.pathname.slice(basePath.length) || "/";
    const send = (status, value) => {
      response.writeHead(status, { ...headers, "Content-Type": "application/json", "Cache-Control": "no-store" });
      response.end(JSON.stringify(value));
    };
    if (path.startsWith("/assets/")) {
      const name = path.split("/")[3] ?? "";
      if (!/^[\w.-]+$/.test(name)) return void response.writeHead(404).end();
      try {
        const content = readFileSync(join(web, "assets", name));
        response.writeHead(200, { ...headers, "Content-Type": types[name.split(".").pop()] ?? "application/octet-stream", "Cache-Control": "public, max-age=31536000, immutable" });
        response.end(content);
      } catch {
        response.writeHead(404).end();
      }
      return;
    }
    if (!path.startsWith("/api/v1/")) {
      const hash = readFileSync(join(web, "hash"), "utf8");
      response.writeHead(200, { ...headers, "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache" });
      response.end(readFileSync(join(web, "index.html"), "utf8").replaceAll("@assets@", `${basePath}/assets/${hash}`).replace("@login@", state.way));
      return;
    }
    state.requests.push(`${request.method} ${path}`);
    const parts = path.slice("/api/v1/".length).split("/").map(unsegment);
    try {
      const json = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : null;
      if (parts[0] === "session") {
        if (request.method === "DELETE") { state.loggedIn = false; return send(200, {}); }
        if (json.token !== "secret-token" && json.password !== "secret") throw problem(401, "login", "the login was refused");
        state.loggedIn = true;
        return send(200, { csrf: "csrf-of-the-session" });
      }
      if (!state.loggedIn) throw problem(401, "no_session", "no session");
      if (state.away) throw problem(503, "database_away", "the database cannot be reached");
      if (request.method !== "GET" && request.headers["x-belay-csrf"] !== "csrf-of-the-session") throw problem(403, "csrf", "the token of the session is missing");
      const failing = Object.entries(state.fail).find(([prefix]) => parts.slice(2).join("/").startsWith(prefix));
      if (failing) throw problem(...failing[1]);
      if (parts[0] === "me") return send(200, me());
      if (parts[0] === "hubs") return send(200, hubsAnswer());
      if (parts[0] === "stream") {
        if (request.method === "POST") {
          const s = streams.get(parts[1]);
          if (!s) throw problem(404, "not_found", "no such stream");
          for (const w of json.add) { s.wants.add(w); if (w === `glance:${hub}:`) s.send("glance", glance()); }
          for (const w of json.remove) s.wants.delete(w);
          return send(200, {});
        }
        const id = String(++lastStream);
        state.opened = lastStream;
        response.writeHead(200, { ...headers, "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
        const s = { wants: new Set(), send: (event, value) => { response.write(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`); }, end: () => response.end() };
        streams.set(id, s);
        state.streams = streams.size;
        state.maxStreams = Math.max(state.maxStreams, streams.size);
        s.send("hello", { version: state.version, id });
        const timer = setInterval(() => { if (!state.away && s.wants.has(`glance:${hub}:`)) s.send("glance", glance()); }, 2000);
        timer.unref();
        response.on("close", () => { clearInterval(timer); streams.delete(id); state.streams = streams.size; });
        return;
      }
      if (parts[0] !== "h" || !me().hubs[parts[1]]) throw problem(404, "no_hub", `hub "${parts[1]}" does not exist`, "QB002");
      if (request.method === "POST") {
        if (parts[2] === "actions") return send(200, act(json));
        if (parts[2] === "bulk" && parts.length === 3) return send(200, bulk(json));
        if (parts[2] === "bulk" && parts[4] === "stop") { const job = data.bulk.find((j) => j.id === parts[3]); job.state = "stopping"; return send(200, job); }
        throw problem(404, "no_route", "there is no such route");
      }
      state.statements++;
      const result = read(parts.slice(2), url.searchParams);
      if (result.download !== undefined || url.searchParams.get("format") === "jsonl") {
        response.writeHead(200, { ...headers, "Content-Type": "application/octet-stream", "Content-Disposition": "attachment; filename=belay.jsonl", "Content-Security-Policy": "sandbox" });
        response.end(result.download ?? result.rows.map((r) => JSON.stringify(r)).join("\n"));
        return;
      }
      return send(200, result);
    } catch (error) {
      if (error.status === undefined) { console.error(error); return send(500, { error: "fake", message: String(error) }); }
      return send(error.status, error.body);
    }
  };

  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (c) => chunks.push(c));
    request.on("end", () => (state.slow > 0 ? setTimeout(() => answer(request, response, chunks), state.slow) : answer(request, response, chunks)));
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}${basePath}`,
    hub,
    data,
    state,
    now,
    zero,
    close: () => new Promise((done) => { for (const s of streams.values()) s.end(); server.closeAllConnections?.(); server.close(done); }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, other) => { const i = process.argv.indexOf(`--${name}`); return i < 0 ? other : process.argv[i + 1]; };
  const fake = await startFakeApi({ port: Number(option("port", 0)), seed: Number(option("seed", 7)), scenario: option("scenario", "normal"), frozen: process.argv.includes("--frozen") });
  console.log(fake.url);
}
