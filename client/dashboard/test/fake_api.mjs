// A stand-in for `belay dashboard`: the same routes, with generated data. Test code, not shipped.
//
//   node test/fake_api.mjs [--port N] [--seed N] [--scenario NAME] [--frozen]
//
// The data depends on the seed alone. Scenarios: normal, empty, hostile. `state` of startFakeApi changes the
// rest while it runs: level, read_only, standby, away (503), fail (routes that answer with an error).
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const day = 86_400_000;

/** Numbers from 0 to 1 by a linear congruential generator: the same for the same seed. */
export function random(seed) {
  let x = (seed >>> 0) + 0x9e3779b9;
  return () => {
    x = (Math.imul(x ^ (x >>> 16), 0x45d9f3b) + 0x1234567) >>> 0;
    let y = x;
    y = Math.imul(y ^ (y >>> 15), 0x2c1b3c6d) >>> 0;
    y = Math.imul(y ^ (y >>> 12), 0x297a2d39) >>> 0;
    return ((y ^ (y >>> 15)) >>> 0) / 4294967296;
  };
}

const hostile = ["<script>window.hacked=1</script>", '"><svg onload=window.hacked=1>', "<img src=x onerror=window.hacked=1>", "javascript:window.hacked=1", "${window.hacked=1}", "__proto__", "a\u202eb\u200bc", "nul\u0000byte", "x/y%2F..#?&", ".."];

export function makeData(seed, now, scenario) {
  const rnd = random(seed);
  const int = (low, high) => low + Math.floor(rnd() * (high - low + 1));
  const pick = (list) => list[Math.floor(rnd() * list.length)];
  const hex = (n) => Array.from({ length: n }, () => "0123456789abcdef"[int(0, 15)]).join("");
  const uuid = (ms) => {
    const t = Math.floor(ms).toString(16).padStart(12, "0");
    return `${t.slice(0, 8)}-${t.slice(8)}-7${hex(3)}-${pick(["8", "9", "a", "b"])}${hex(3)}-${hex(12)}`;
  };
  let bad = 0;
  const evil = (plain) => (scenario === "hostile" ? `${hostile[bad++ % hostile.length]} ${plain}` : plain);
  const empty = scenario === "empty";
  const count = (n) => ({ n: Math.min(n, 10000), capped: n > 10000 });
  const spark = (base) => Array.from({ length: 24 }, (_v, i) => Math.max(0, Math.round(base * (0.7 + 0.3 * Math.sin(i / 4 + base)) + (rnd() - 0.5) * base * 0.4)));
  const latency = (p50) => {
    const buckets = Array.from({ length: 22 }, () => 0);
    const middle = Math.max(0, Math.round(Math.log2(Math.max(1, p50)) * 0.95));
    for (let i = 0; i < 21; i++) buckets[i] = Math.round(4000 * Math.exp(-((i - middle) ** 2) / 5) * (0.8 + rnd() * 0.4)) + (i > middle && i < middle + 7 ? int(0, 60) : 0);
    return { p50, p95: p50 * 9.5, p99: p50 * 42, buckets };
  };

  // ---- Queues and tasks ----
  const queueNames = ["mail", "images", "reports", "billing", "search-index", "cpu"].map(evil);
  const kinds = { 0: ["welcome", "invoice", "digest"], 1: ["resize", "encode"], 2: ["nightly", "export"], 3: ["charge", "refund"], 4: ["index", "reindex"], 5: ["simulate"] };
  const workers = ["mailer-1-4127", "mailer-2-4130", "img-7-881", "img-7-882", "report-1-92", "bill-3-3310"].map(evil);
  const failures = [
    ["transient", "connection to smtp.example.org timed out after 30000 ms"],
    ["permanent", "card was declined: insufficient funds"],
    ["timeout", "attempt exceeded attempt_timeout_ms = 120000"],
    ["infra_crash", "worker img-7-881 did not renew its lease"],
    ["permanent", "source image is truncated at byte 48213"],
  ];
  const payloadOf = (q, i) => {
    if (scenario === "hostile") return JSON.stringify({ html: hostile[i % hostile.length], big: 1 }).replace('"big":1', '"big":9007199254740993,"big":2,"__proto__":{"x":1}');
    return [
      `{"to": "ada${i}@example.org", "template": "welcome", "locale": "${pick(["de", "en", "ne"])}", "order": ${4100 + i}}`,
      `{"url": "s3://in/cat-${i}.png", "width": ${pick([64, 900, 1600])}, "formats": ["webp", "avif"]}`,
      `{"report": "revenue", "day": "2026-11-${String(int(1, 17)).padStart(2, "0")}", "rows": 9007199254740993, "filters": {"region": "EU", "region": "DE"}}`,
      `{"order": ${7000 + i}, "amount": ${int(5, 900)}.90, "currency": "EUR"}`,
      `{"document": ${90000 + i}, "fields": ["title", "body"]}`,
      `{"seed": ${i}, "steps": 100000}`,
    ][q];
  };
  const tasks = [];
  const makeTask = (i, state, q = int(0, 5)) => {
    const ended = ["completed", "failed", "cancelled", "expired"].includes(state);
    const created = now - (ended ? int(20, 3600) * 1000 : state === "ready" ? int(0, 240) * 1000 : int(5, 900) * 1000);
    const attempts = [];
    const n = state === "ready" || state === "delayed" || state === "blocked" ? int(0, 1) * (state === "blocked" ? 0 : 1) : state === "failed" ? 4 : int(1, 2);
    let at = created + int(5, 900);
    for (let k = 1; k <= n; k++) {
      const last = k === n;
      const took = int(120, 9000);
      const failure = pick(failures);
      const open = last && state === "active";
      attempts.push({
        attempt_index: k,
        kind: k === 1 ? "initial" : "retry",
        outcome: open || (last && state === "suspended") ? null : last && state === "completed" ? "completed" : last && state === "cancelled" ? "cancelled" : "failed",
        epoch: String(2 * k),
        lease_count: int(1, 2),
        worker: workers[q % workers.length].replace(/-\d+$/, ""),
        worker_instance: workers[q % workers.length],
        started_ms: open ? now - int(1, 40) * 1000 : at,
        ended_ms: open || (last && state === "suspended") ? null : at + took,
        error: (last && (state === "completed" || state === "cancelled" || open || state === "suspended")) ? null : evil(`${failure[0]}: ${failure[1]}`),
      });
      at += took + 1000 * 2 ** k;
    }
    const lastAttempt = attempts[attempts.length - 1];
    const failure = state === "failed" || (attempts.length > 1 && state !== "completed") ? pick(failures) : null;
    const payload = payloadOf(q, i);
    const end = ended ? Math.max(created + 50, lastAttempt?.ended_ms ?? created + 2000) : null;
    const leaseUntil = state === "active" ? now + int(-4, 30) * 1000 : null;
    const task = {
      task_id: uuid(created),
      state,
      queue: queueNames[q],
      kind: evil(pick(kinds[q])),
      priority: pick([0, 0, 0, 100, 200]),
      flow_id: null,
      flow_key: null,
      attempt_index: attempts.length,
      retry_count: Math.max(0, attempts.length - 1),
      reclaim_count: 0,
      replay_count: 0,
      available_at_ms: state === "delayed" ? now + int(5, 4000) * 1000 : created,
      deadline_ms: rnd() < 0.2 ? created + 3 * day : null,
      worker: state === "active" ? lastAttempt.worker_instance : null,
      lease_until_ms: leaseUntil,
      lease_epoch: String(2 * attempts.length + 1),
      failure_class: failure?.[0] ?? null,
      failure_message: failure ? evil(failure[1]) : null,
      created_at_ms: created,
      updated_at_ms: end ?? lastAttempt?.started_ms ?? created,
      terminal_at_ms: end,
      payload,
      payload_bytes: Buffer.byteLength(payload),
      attempts,
      dedup_key: rnd() < 0.3 ? evil(`order:${7000 + i}`) : null,
      result: state === "completed" ? '{"sent": true, "message_id": "20261117.4127@example.org", "took_ms": 214}' : null,
      checkpoint: state === "active" && rnd() < 0.5 ? '{"page": 48, "cursor": "b2Zmc2V0"}' : null,
      progress: state === "active" && rnd() < 0.6 ? { percent: int(5, 95), message: evil("page 48 of 120"), at_ms: now - 2300 } : null,
      cancel_reason: state === "cancelled" ? evil("duplicate order") : null,
    };
    tasks.push(task);
    return task;
  };
  if (!empty) {
    for (let i = 0; i < 46; i++) makeTask(i, "ready");
    for (let i = 0; i < 12; i++) makeTask(100 + i, "delayed");
    for (let i = 0; i < 18; i++) makeTask(200 + i, "active", i % 4);
    for (let i = 0; i < 5; i++) makeTask(300 + i, "suspended", 3);
    for (let i = 0; i < 23; i++) makeTask(400 + i, "failed");
    for (let i = 0; i < 4; i++) makeTask(500 + i, "expired");
    for (let i = 0; i < 6; i++) makeTask(600 + i, "cancelled");
    for (let i = 0; i < 180; i++) makeTask(700 + i, "completed");
    for (let i = 0; i < 3; i++) makeTask(950 + i, "blocked", 1);
  }

  // ---- Flows ----
  const flows = [];
  const makeFlow = (kind, shape, state) => {
    const created = now - int(40, 900) * 1000;
    const flow_id = uuid(created);
    const members = shape.map(([key, queue, st, from, took]) => ({
      task_id: uuid(created + 1),
      key: evil(key),
      state: st,
      queue: queueNames[queue],
      kind: evil(kinds[queue][0]),
      started_at_ms: st === "blocked" || st === "ready" || st === "skipped" ? null : created + from,
      terminal_at_ms: ["completed", "failed", "skipped"].includes(st) ? created + from + took : null,
      attempt_index: st === "blocked" || st === "skipped" ? 0 : 1,
      failure_class: st === "failed" ? "permanent" : null,
      worker: st === "active" ? workers[2] : null,
    }));
    const counts = {};
    for (const m of members) counts[m.state] = (counts[m.state] ?? 0) + 1;
    const open = members.filter((m) => m.terminal_at_ms === null).length;
    const flow = { flow_id, kind: evil(kind), state, member_count: members.length, open_count: open, counts, cancel_reason: null, created_at_ms: created, updated_at_ms: now - 900, terminal_at_ms: state === "running" || state === "open" ? null : now - 5000, sealed: state !== "open", graph_revision: "4", fail_policy: "continue", truncated: false, members, edges: [], groups: [] };
    flows.push(flow);
    for (const m of members) {
      const t = makeTask(2000 + tasks.length, m.state === "skipped" ? "cancelled" : m.state, shape[members.indexOf(m)][1]);
      Object.assign(t, { task_id: m.task_id, flow_id, flow_key: m.key, state: m.state, queue: m.queue, created_at_ms: created });
    }
    return flow;
  };
  const connect = (flow, pairs) => {
    flow.edges = pairs.map(([a, b]) => ({ upstream_id: flow.members[a].task_id, downstream_id: flow.members[b].task_id, state: flow.members[a].state === "completed" ? "satisfied" : "open", pass_as: null }));
    flow.edge_count = flow.edges.length;
  };
  if (!empty) {
    const thumbs = makeFlow("thumbnails", [["fetch", 1, "completed", 300, 1200], ["small", 1, "completed", 1700, 2100], ["large", 1, "active", 1800, 0], ["webp", 1, "completed", 1750, 3000], ["notify", 0, "blocked", 0, 0], ["index", 4, "blocked", 0, 0]], "running");
    connect(thumbs, [[0, 1], [0, 2], [0, 3], [1, 4], [2, 4], [3, 5], [2, 5]]);
    thumbs.groups = [{ task_id: thumbs.members[4].task_id, kind: "quorum", k: 1, state: "open", total: 2, satisfied: 1, failed: 0 }];
    const etl = makeFlow("month end", [["extract orders", 3, "completed", 100, 8000], ["extract refunds", 3, "completed", 120, 4100], ["join", 5, "completed", 8300, 12000], ["check totals", 5, "failed", 20500, 900], ["publish", 2, "skipped", 21500, 0], ["mail finance", 0, "skipped", 21500, 0]], "failed");
    connect(etl, [[0, 2], [1, 2], [2, 3], [3, 4], [4, 5]]);
    const resize = makeFlow("catalogue", [["plan", 2, "completed", 100, 900], ...Array.from({ length: 950 }, (_v, i) => [`resize-${String(i).padStart(4, "0")}`, 1, i < 900 ? "completed" : i < 948 ? "active" : "failed", 1100 + i * 20, 1500]), ["pack", 5, "blocked", 0, 0], ["ship", 0, "blocked", 0, 0]], "running");
    connect(resize, [...Array.from({ length: 950 }, (_v, i) => [0, i + 1]), ...Array.from({ length: 950 }, (_v, i) => [i + 1, 951]), [951, 952]]);
    for (let i = 0; i < 6; i++) {
      const f = makeFlow(pick(["thumbnails", "month end", "onboarding"]), [["first", 0, "completed", 100, 700], ["second", 3, "completed", 900, 800], ["third", 4, "completed", 1900, 300]], "completed");
      connect(f, [[0, 1], [1, 2]]);
    }
  }

  // ---- Orchestrations ----
  const instances = [];
  const histories = new Map();
  const history = (id, started, state, n) => {
    const events = [];
    let at = started;
    const push = (type, fields = {}, gap = 40) => {
      at += gap;
      const event = { event_id: String(events.length + 1), type, name: null, source_event_id: null, at_ms: at, preview: "", bytes: 0, ...fields };
      const body = { type, event_id: events.length + 1, name: event.name, source_event_id: event.source_event_id === null ? null : Number(event.source_event_id), instance_id: id, execution_id: 1, timestamp_ms: at, input: event.name ? { order: 7, amount: "42.00" } : undefined };
      event.preview = JSON.stringify(body);
      event.bytes = event.preview.length;
      events.push(event);
      return event.event_id;
    };
    push("OrchestrationStarted", { name: evil("Bill") }, 0);
    const reserve = push("ActivityScheduled", { name: evil("Reserve") });
    push("ActivityCompleted", { source_event_id: reserve }, 6100);
    const mail = push("ActivityScheduled", { name: evil("SendReceipt") });
    const charge = push("ActivityScheduled", { name: evil("Charge") }, 3);
    const child = push("SubOrchestrationScheduled", { name: evil("Ship"), child: `${id}::sub::5` }, 5);
    const timer = push("TimerCreated", { name: "Timer", due_ms: state === "Running" ? now + 41_000 : at + 9000 }, 2);
    push("ActivityCompleted", { source_event_id: mail }, 2300);
    push("SubOrchestrationCompleted", { source_event_id: child }, 5200);
    push("KeyValueSet", { name: "stage" }, 30);
    push("CustomStatusUpdated", { name: evil("charging") }, 4);
    for (let i = 0; i < n; i++) {
      const a = push("ActivityScheduled", { name: `Step ${i % 7}` }, 15);
      push(i % 31 === 30 ? "ActivityFailed" : "ActivityCompleted", { source_event_id: a }, 20 + (i % 13) * 30);
    }
    if (state !== "Running") {
      push("TimerFired", { source_event_id: timer }, 900);
      push(state === "Failed" ? "ActivityFailed" : "ActivityCompleted", { source_event_id: charge }, 400);
      push("SomethingNew", { name: evil("of a later version") }, 10);
      push(state === "Failed" ? "OrchestrationFailed" : "OrchestrationCompleted", {}, 20);
    }
    return events;
  };
  const makeInstance = (id, status, name, extra = 0, parent = null) => {
    const started = now - int(status === "Running" ? 25 : 60, status === "Running" ? 60 : 7200) * 1000;
    const events = history(id, started, status, extra);
    const last = events[events.length - 1].at_ms;
    const row = {
      instance_id: id,
      name: evil(name),
      version: "1.0.0",
      status,
      execution: 1,
      custom_status: status === "Running" ? evil("charging") : null,
      parent_id: parent,
      created_at_ms: started,
      updated_at_ms: last,
      ended_at_ms: status === "Running" ? null : last,
    };
    instances.push(row);
    histories.set(id, events);
    return row;
  };
  if (!empty) {
    const first = makeInstance(scenario === "hostile" ? "../<b>%2F?#&order-7" : "order-7", "Running", "Bill");
    first.execution = 3;
    makeInstance(`${first.instance_id}::sub::5`, "Completed", "Ship", 0, first.instance_id);
    makeInstance("order-8", "Failed", "Bill");
    makeInstance("import-2026-11", "Completed", "Import", 400);
    for (let i = 0; i < 34; i++) makeInstance(evil(`order-${1000 + i}`), pick(["Running", "Running", "Completed", "Completed", "Completed", "Failed"]), pick(["Bill", "Onboard", "Ship"]));
  }

  // ---- The rest ----
  const deadLetters = [];
  const activities = ["ChargeCard", "SendReceipt", "Resize", "Notify"].map(evil);
  for (let i = 0; i < (empty ? 0 : 132); i++) {
    const name = pick(activities);
    const orphan = rnd() < 0.12;
    const body = orphan ? `{"ExternalRaised": {"instance": "gone-${i}", "name": "paid"}}` : `{"ActivityExecute": {"instance": "order-${1000 + (i % 30)}", "execution_id": 1, "id": 4, "name": ${JSON.stringify(name)}, "input": {"order": ${7000 + i}}}}`;
    deadLetters.push({ id: String(88_000 + 132 - i), queue: orphan ? "orchestrator" : "worker", reason: orphan ? "orphan" : "max_attempts", name: orphan ? "ExternalRaised" : name, instance_id: orphan ? `gone-${i}` : `order-${1000 + (i % 30)}`, attempt_count: orphan ? 0 : 5, detail: orphan ? null : evil("leased 5 times"), enqueued_at_ms: now - i * 61_000 - 400_000, dead_at_ms: now - i * 61_000 - 180_000, preview: body, bytes: body.length });
  }
  const workItems = [];
  for (let i = 0; i < (empty ? 0 : 40); i++) {
    const leased = i < 8;
    const body = `{"ActivityExecute": {"instance": "order-${1000 + i}", "execution_id": 1, "id": 4, "name": "ChargeCard", "input": {"order": ${i}}}}`;
    workItems.push({ id: String(5000 + i), state: leased ? "leased" : i % 9 === 0 ? "delayed" : "ready", name: pick(activities), instance_id: `order-${1000 + i}`, activity_id: "4", session_id: null, tag: i % 5 === 0 ? "gpu" : null, visible_at_ms: now - 4000, locked_until_ms: leased ? now + 20_000 - i * 3000 : null, locked_by: leased ? workers[i % 6] : null, attempt_count: leased ? 1 : 0, created_at_ms: now - i * 900, preview: body, bytes: body.length });
  }
  const messages = [];
  for (let i = 0; i < (empty ? 0 : 12); i++) {
    const body = `{"TimerFired": {"instance": "order-${1000 + i}", "fire_at_ms": ${now}}}`;
    messages.push({ id: String(9000 + i), instance_id: `order-${1000 + i}`, kind: pick(["TimerFired", "ActivityCompleted", "ExternalRaised"]), visible_at_ms: now + (i < 4 ? 30_000 : -800), attempt_count: 0, created_at_ms: now - 3000, preview: body, bytes: body.length });
  }
  const events = [];
  for (let i = 0; i < (empty ? 0 : 160); i++) {
    const operator = i % 11 === 0;
    const instance = i % 3 === 0;
    const t = pick(tasks);
    events.push({
      event_id: `1-${String(100000 + i)}`,
      topic: operator ? "operator" : instance ? "instance" : "completion",
      type: operator ? pick(["priority_changed", "replayed", "queue_changed", "hub_paused", "dead_letters_redriven"]) : instance ? pick(["started", "completed", "failed"]) : pick(["success", "success", "success", "failed"]),
      subject: operator ? t.task_id : instance ? pick(instances).instance_id : t.task_id,
      by: operator ? evil("ada") : null,
      via: operator ? "belay dashboard" : null,
      reason: operator ? evil(pick(["customer waits", "after the fix of 14:00", "duplicate"])) : null,
      occurred_at_ms: now - (160 - i) * 3700,
      details: operator ? '{"by": "ada", "as": "operator", "old_priority": 0, "new_priority": 200}' : '{"execution_id": 1, "orchestration_name": "Bill"}',
    });
  }
  const next = (ms, step) => [ms, ms + step, ms + 2 * step];
  const schedules = empty
    ? []
    : [
        { name: evil("nightly"), cron: "30 2 * * mon-fri", time_zone: "Europe/Berlin", catch_up: "one", paused: false, task: '{"queue": "reports", "kind": "nightly"}', queue: queueNames[2], next_ms: next(now + 11 * 3_600_000, day), last_due_ms: now - 13 * 3_600_000, last_task_id: tasks[5].task_id, last_error: evil("queue reports has more than 1000 capability sets"), created_at_ms: now - 30 * day },
        { name: evil("poll inbox"), cron: "*/15 8-17 * * *", time_zone: "UTC", catch_up: "none", paused: false, task: '{"queue": "mail", "kind": "digest"}', queue: queueNames[0], next_ms: next(now + 400_000, 900_000), last_due_ms: now - 500_000, last_task_id: tasks[6].task_id, last_error: null, created_at_ms: now - 8 * day },
        { name: evil("month end"), cron: "0 4 1 * *", time_zone: "America/New_York", catch_up: "all", paused: true, task: '{"queue": "billing"}', queue: queueNames[3], next_ms: [], last_due_ms: now - 16 * day, last_task_id: null, last_error: null, created_at_ms: now - 90 * day },
      ];
  const subscriptions = empty ? [] : [
    { name: evil("audit"), topics: ["operator"], lag: count(2), lag_ms: 4100, lease_until_ms: null, horizon_pid: null, created_at_ms: now - 20 * day },
    { name: evil("warehouse"), topics: null, lag: count(18_400), lag_ms: 840_000, lease_until_ms: now + 12_000, horizon_pid: 31877, created_at_ms: now - 60 * day },
  ];
  const owners = empty ? [] : workers.map((w, i) => ({ owner_id: w, kinds: i === 2 ? ["items", "tasks"] : i === 5 ? ["turns", "slots"] : ["tasks"], live: [4, 3, 6, 2, 1, 5][i], overdue: i === 3 ? 2 : 0, oldest_ms: [4200, 9100, 31_000, 96_000, 800, 12_000][i], next_deadline_ms: now + [22_000, 9000, 4000, -8000, 29_000, 15_000][i], queues: [queueNames[i % 6], ...(i === 2 ? [queueNames[5]] : [])] })).sort((a, b) => b.overdue - a.overdue);
  const queues = empty
    ? []
    : queueNames.map((queue, i) => {
        const of = (state) => tasks.filter((t) => t.queue === queue && t.state === state).length;
        return { queue, paused: i === 4, ready: count(i === 4 ? 18_231 : of("ready")), delayed: count(of("delayed")), active: count(of("active")), suspended: count(of("suspended")), blocked: count(of("blocked")), overdue: count(i === 1 ? 2 : 0), oldest_ms: i === 5 ? null : [40, 900, 12_000, 260_000, 7_300_000, 0][i], owners: i === 3 ? 0 : 2, concurrency: i === 1 ? 20 : null, rate_per_s: i === 0 ? 5 : null, burst: i === 0 ? 10 : null, rates: { in: [48, 12, 0.4, 3.2, 140, 0][i], done: [47.5, 12.2, 0.4, 0, 0, 0][i], lost: 0, failed: [0, 0.1, 0, 0.2, 0, 0][i] }, spark: spark([48, 12, 1, 3, 0, 0][i]) };
      });
  return { now, queueNames, tasks, flows, instances, histories, deadLetters, workItems, messages, events, schedules, subscriptions, owners, queues, latency, spark, rnd, bulk: [], evil, empty, paused: [] };
}

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
  raise_event: ["Raise event", "client", "disturbing", "optional"],
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
  pause_queue: (a) => `Queue ${a.queue} hands out no more tasks. Running ones go on.`,
  cancel_task: () => "The task ends as cancelled. A worker that holds its lease loses it.",
  revoke_lease: () => "The worker loses its lease; the same attempt can be claimed at once.",
  change_priority: (a) => `The task gets priority ${a.priority}.`,
  delete_task: () => "The task, its attempts and its key are deleted for good.",
  cancel_flow: (a) => `The flow ends as cancelled (${a.policy}).`,
  discard_dead_letter: () => "The dead letter is deleted for good.",
  set_queue: () => "The limits of the queue change at once; running tasks go on.",
  create_schedule: (a) => `Schedule ${a.name || "…"} creates a task at each of its times.`,
};

const levels = { monitor: ["monitor"], operator: ["client", "worker", "monitor", "operator"], owner: ["client", "worker", "monitor", "operator", "owner"], none: [] };

export async function startFakeApi({ port = 0, seed = 7, scenario = "normal", frozen = false, start = null, web = join(here, "../../../build/dashboard"), basePath = "", login = false, version = null, history = 0 } = {}) {
  const born = Date.now();
  const zero = start ?? (frozen ? Date.UTC(2026, 10, 17, 14, 3, 7, 214) : born);
  const now = () => (frozen ? zero : zero + Date.now() - born);
  const data = makeData(seed, zero, scenario);
  const hub = scenario === "hostile" ? '"; DROP' : "app";
  const state = { level: "operator", read_only: false, standby: false, preloaded: true, away: false, fail: {}, slow: 0, statements: 0, streams: 0, maxStreams: 0, actions: [], requests: [], loggedIn: !login, way: "token", version: version ?? readFileSync(join(web, "version"), "utf8"), mutate: data };
  const keys = new Map();
  const streams = new Map();
  let lastStream = 0;
  if (history > 0) {
    const events = data.histories.get("import-2026-11");
    const at = events[events.length - 1].at_ms;
    for (let i = events.length; i < history; i++) {
      const source = i % 2 === 1 ? String(i) : null;
      events.push({ event_id: String(i + 1), type: source ? "ActivityCompleted" : "ActivityScheduled", name: source ? null : `Row ${i}`, source_event_id: source, at_ms: at + i * 3, preview: "{}", bytes: 2 });
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
      sql: `SELECT ${hub === "app" ? "app" : '"""; DROP"'}.glance(10000);`,
      hub_version: 10,
      provider: ["worker", "orchestrator", "intents"].map((queue, i) => ({ queue, ready: count(e ? 0 : [12_400, 12, 0][i]), oldest_ms: e ? null : [61_000, 40, null][i], leased: e ? 0 : [8, 3, 0][i], waiting: count(e ? 0 : [4, 2, 1][i]), waiters: [5, 2, 0][i], dead: count(e ? 0 : data.deadLetters.filter((d) => d.queue === queue).length), paused: data.paused.some((p) => p.queue === queue), rates: { in: e ? 0 : [500, 502, 0.1][i], done: e ? 0 : [250, 498, 0.1][i], lost: 0, failed: 0 }, spark: data.sparks?.[i] ?? ((data.sparks ??= [data.spark(260), data.spark(500), data.spark(0)])[i]) })),
      queues: data.queues,
      queues_more: false,
      dead_letters: [...group.values()],
      failed_last_hour: count(of("failed")),
      expired_last_hour: count(of("expired")),
      running_instances: count(data.instances.filter((i) => i.status === "Running").length),
      schedules_with_errors: data.schedules.filter((s) => s.last_error).map((s) => ({ name: s.name, error: s.last_error })),
      subscriptions: data.subscriptions.map((s) => ({ name: s.name, lag: s.lag, lag_ms: s.lag_ms })),
      intents_waiting: count(e ? 0 : 1),
      background_worker: { state: "idle", last_loop_ms: 420 },
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
    return { at_ms: now(), took_ms: 1.4, sql: "SELECT * FROM app.stat_series(…);", step_ms: step, t, in: t.map((_v, i) => (none ? 0 : wave(i, 500, 90))), done: t.map((_v, i) => (none ? 0 : wave(i, 470, 110))), failed: t.map((_v, i) => (none ? 0 : i % 29 === 0 ? 9 : r() * 2)), oldest_ms: t.map((_v, i) => (none ? null : 200 + i * 700 * (r() * 0.2 + 0.9))), depth: t.map(() => 10), wait: glance().wait, run: glance().run };
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
    { key: "max_attempts", value: "4", from: "default" },
    { key: "backoff", value: '{"kind": "exponential", "initial_ms": 1000, "max_ms": 60000, "multiplier": 2.0, "jitter": 0}', from: "default" },
    { key: "retryable", value: '["transient", "timeout", "infra_crash"]', from: "default" },
    { key: "attempt_timeout_ms", value: "120000", from: "queue" },
    { key: "max_replays", value: "20", from: "task" },
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
        const q = data.queues.find((x) => x.queue === id);
        if (!q) throw problem(404, "not_found", `queue "${id}" does not exist`, "QB002");
        const latency = (data.queueLatency ??= data.latency(40));
        return { at_ms: now(), took_ms: 1.9, sql: `SELECT * FROM ${hub}.queue_depths WHERE queue = '${id}';`, queue: q, policy, retention_ms: day, kinds: ["welcome", "invoice", "digest"].map((kind, i) => ({ kind: data.evil(kind), n: [18_200, 4100, 77][i], failed: [12, 240, 0][i], wait: latency, run: latency })), owners: data.owners.filter((o) => o.queues.includes(id)) };
      }
      case "tasks": {
        if (id === undefined) {
          let rows = data.tasks.filter((t) => (!filter.state || filter.state.includes(t.state)) && (!filter.queue || t.queue === filter.queue) && (!filter.kind || t.kind === filter.kind) && (!filter.worker || t.worker === filter.worker) && (!filter.dedup_key || t.dedup_key === filter.dedup_key) && (!filter.created_from_ms || t.created_at_ms >= filter.created_from_ms) && (!filter.message || (t.failure_message ?? "").includes(filter.message)));
          if (filter.payload) rows = rows.filter((t) => Object.entries(filter.payload).every(([k, v]) => { try { return JSON.stringify(JSON.parse(t.payload)[k]) === JSON.stringify(v); } catch { return false; } }));
          const by = { due: (a, b) => a.available_at_ms - b.available_at_ms, claim: (a, b) => b.priority - a.priority || a.available_at_ms - b.available_at_ms, lease: (a, b) => a.lease_until_ms - b.lease_until_ms, failed: (a, b) => b.terminal_at_ms - a.terminal_at_ms, ended: (a, b) => b.terminal_at_ms - a.terminal_at_ms, created: (a, b) => b.created_at_ms - a.created_at_ms }[order];
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
          downstream: flow ? near(flow.edges.filter((e) => e.upstream_id === id).map((e) => e.downstream_id)) : [],
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
        if (sub === "tree") return { at_ms: now(), took_ms: 0.5, sql: `SELECT * FROM ${hub}.get_instance_tree('${id}');`, rows: [{ instance_id: id, name: i.name, status: i.status, depth: 0, more: 0 }, ...data.instances.filter((x) => x.parent_id === id).map((x) => ({ instance_id: x.instance_id, name: x.name, status: x.status, depth: 1, more: 240 }))] };
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
          waits: i.status === "Running" ? [{ reason: "activity", detail: { id: 5, name: data.evil("Charge"), child: null, item: "5004", state: "leased", owner: "bill-3-3310" }, until_ms: zero + 23_000 }, { reason: "timer", detail: { id: 7, name: "", child: null }, until_ms: zero + 41_000 }] : [],
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
        return page(data.workItems.filter((w) => (!filter.state || w.state === filter.state) && (!filter.name || w.name === filter.name)), query, sql("browse_work_items"), (w) => w.id);
      case "messages":
        return page(data.messages.filter((m) => !filter.instance_id || m.instance_id === filter.instance_id), query, sql("browse_messages"), (m) => m.id);
      case "events":
        return page([...data.events].reverse().filter((e) => (!filter.topics || filter.topics.includes(e.topic)) && (!filter.types || filter.types.includes(e.type)) && (!filter.subject || e.subject === filter.subject) && (!filter.by || e.by === filter.by)), query, sql("browse_events"), (e) => e.event_id);
      case "owners":
        return { ...page(data.owners, query, `SELECT * FROM ${hub}.list_owners();`, (o) => o.owner_id), complete: true };
      case "health": {
        const sizes = ["tasks", "task_attempts", "instances", "executions", "history", "worker_queue", "orchestrator_queue", "outbox", "dead_letters"].map((table, i) => ({ table, live_rows: [1_214_330, 1_502_114, 84_210, 91_204, 2_104_881, 12_408, 14, 3_400_112, 132][i], dead_rows: [21_400, 800, 120, 90, 0, 30_240, 411, 0, 3][i], table_bytes: [412e6, 240e6, 18e6, 21e6, 900e6, 9e6, 1e6, 610e6, 81_920][i], index_bytes: [190e6, 88e6, 9e6, 8e6, 120e6, 4e6, 500_000, 240e6, 32_768][i], toast_bytes: [60e6, 8192, 0, 0, 210e6, 8192, 8192, 8192, 8192][i], last_autovacuum_ms: i === 4 ? null : zero - (i + 1) * 900_000 }));
        return { at_ms: now(), took_ms: 6.4, sql: `SELECT * FROM belay.workers;\nSELECT * FROM belay.hub_sizes WHERE hub = '${hub}';`, background_worker: { pid: 31702, state: "idle", started_at_ms: zero - 4 * day, last_loop_ms: now() - 420 }, duties: ["lease_expiry", "session_cleanup", "outbox_retention", "schedules", "intent_relay", "stat_minutes", "task_retention"].map((duty, i) => ({ duty, last_run_ms: now() - (i + 1) * 700, runs: 345_600 - i * 1000, rows: [1204, 4, 88_120, 412, 77, 5760, 20_114][i], errors: i === 3 ? 3 : 0, last_error: i === 3 ? data.evil("queue reports has more than 1000 capability sets") : null, last_error_at_ms: i === 3 ? zero - 46_000 : null })), oldest_snapshot: { pid: 31877, age_ms: 8300, application: data.evil("pg_dump"), state: "active" }, shared_memory: [{ what: "leases", used: 21, of: 65_536 }, { what: "waiters", used: 7, of: null }, { what: "claim cursors", used: 3511, of: 4096 }, { what: "stat slots", used: 212, of: 1024 }], sizes: data.empty ? sizes.map((s) => ({ ...s, live_rows: 0, dead_rows: 0 })) : sizes, options: [{ option: "max_attempts", value: "5", is_default: false }, { option: "task_retention", value: "7 days", is_default: false }, { option: "slot_count", value: "1", is_default: true }], links: data.empty ? [] : [{ target: data.evil("warehouse"), server: "warehouse_db", waiting: count(1), last_error: null }], intents: count(data.empty ? 0 : 1), check_estimate: 1_214_330 };
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
    const rows = matching(request);
    if (request.dry_run) return { count: count(rows.length), examples: rows.slice(0, 5).map((r) => ({ id: idOf(r), label: r.name ?? r.kind ?? "" })), skipped: [], sql: `SELECT ${hub}.${request.action}s('${JSON.stringify(request.filter)}');`, effect: `${label} ${rows.length} objects.`, allowed: allowed(level), level, kind, reason: reasonOf };
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
    versions: { dashboard: state.version, library: "0.1.0", server: "15.14" },
    actions: Object.fromEntries(Object.entries(actionTable).map(([name, [label, level, kind, reason]]) => [name, { label, level, kind, reason }])),
    hubs: { [hub]: { levels: levels[state.level], actions: Object.keys(actionTable).filter((a) => levels[state.level].includes(actionTable[a][1])), bulk: Object.keys(lists).filter((a) => levels[state.level].includes(actionTable[a][1])), version: 10, current: true, missing: [] }, ...(hub === "app" ? { orders: { levels: levels[state.level], actions: [], bulk: [], version: 9, current: false, missing: ["browse_tasks"] } } : {}) },
  });
  const hubsAnswer = () => ({ at_ms: now(), took_ms: 1.1, sql: "SELECT * FROM belay.pg_stat_belay_hub;", rows: Object.keys(me().hubs).map((name, i) => ({ name, owner: ["belay_app", "orders_owner"][i], version: 10 - i, current: i === 0, paused_queues: data.paused.map((p) => p.queue), size_bytes: [2_900_000_000, 48_000_000][i], leases: [21, 0][i], waiters: [7, 1][i], oldest_ready_ms: [61_000, 40][i], dead: count(i === 0 ? data.deadLetters.length : 0), rates: { in: [702, 4][i], done: [551, 4][i], lost: 0, failed: 0 }, spark: (data.hubSparks ??= [data.spark(500), data.spark(4)])[i] })) });

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
