// What the stand-in for the server has: queues, tasks, flows, instances and the rest of a hub. The data depend on
// the seed alone.
export const day = 86_400_000;

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
    ["transient", "connection to smtp.example.org was refused"],
    ["permanent", "card was declined: insufficient funds"],
    ["timeout", "attempt exceeded attempt_timeout_ms = 8000"],
    ["infra_crash", "the worker did not renew its lease"],
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
    let lastFailure = null;
    for (let k = 1; k <= n; k++) {
      const last = k === n;
      const open = last && state === "active";
      const failure = pick(failures);
      const took = failure[0] === "timeout" && !(last && state !== "failed") ? 8000 : int(120, 7500);
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
      if (attempts.at(-1).error !== null) lastFailure = failure;
      at += took + 1000 * 2 ** k;
    }
    const lastAttempt = attempts[attempts.length - 1];
    const failure = state !== "completed" ? lastFailure : null;
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
      const event = { event_id: String(events.length + 1), type, name: null, source_event_id: null, at_ms: at, turn_ms: gap < 10 ? (events.at(-1)?.turn_ms ?? at) : at + 3, preview: "", bytes: 0, ...fields };
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
    const timer = push("TimerCreated", { due_ms: state === "Running" ? now + 41_000 : at + 9000 }, 2);
    push("ActivityCompleted", { source_event_id: mail }, 2300);
    push("SubOrchestrationCompleted", { source_event_id: child }, 5200);
    push("KeyValueSet", { name: "stage" }, 30);
    push("CustomStatusUpdated", {}, 4);
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
    deadLetters.push({ id: String(88_000 + 132 - i), queue: orphan ? "orchestrator" : "worker", reason: orphan ? "orphan" : "max_attempts", name: i % 40 === 39 ? null : orphan ? "paid" : name, instance_id: orphan ? `gone-${i}` : `order-${1000 + (i % 30)}`, attempt_count: orphan ? 0 : 5, detail: orphan ? null : evil("leased 5 times"), enqueued_at_ms: now - i * 61_000 - 400_000, dead_at_ms: now - i * 61_000 - 180_000, preview: body, bytes: body.length });
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
    const kind = pick(["TimerFired", "ActivityCompleted", "ExternalRaised"]);
    messages.push({ id: String(9000 + i), instance_id: `order-${1000 + i}`, kind, name: kind === "ExternalRaised" ? evil("paid") : null, visible_at_ms: now + (i < 4 ? 30_000 : -800), attempt_count: 0, created_at_ms: now - 3000, preview: body, bytes: body.length });
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
  const owners = empty ? [] : workers.map((w, i) => ({ owner_id: w, kinds: i === 2 ? ["items", "tasks"] : i === 5 ? ["sessions", "slots"] : ["tasks"], live: [4, 3, 6, 2, 1, 5][i], overdue: i === 3 ? 2 : 0, oldest_ms: i === 5 ? null : now - [4200, 9100, 31_000, 96_000, 800][i], next_deadline_ms: now + [22_000, 9000, 4000, -8000, 29_000, 15_000][i], queues: i === 5 ? [] : [queueNames[i]] })).sort((a, b) => b.overdue - a.overdue);
  const queues = empty
    ? []
    : queueNames.map((queue, i) => {
        const of = (state) => tasks.filter((t) => t.queue === queue && t.state === state).length;
        return { queue, paused: i === 4, ready: count(i === 4 ? 18_231 : of("ready")), delayed: count(of("delayed")), active: count(of("active")), suspended: count(of("suspended")), blocked: count(of("blocked")), overdue: count(i === 1 ? 2 : 0), oldest_ms: [40, 900, 12_000, 8400, 7_300_000, 260_000][i], owners: owners.filter((o) => o.queues.includes(queue)).length, concurrency: i === 1 ? 60 : null, rate_per_s: i === 0 ? 5 : null, burst: i === 0 ? 10 : null, rates: { in: [48, 12, 0.4, 3.2, 140, 0.1][i], done: [47.5, 12.2, 0.4, 3.1, 0, 0][i], lost: 0, failed: [0, 0.1, 0, 0.2, 0, 0][i] }, spark: spark([48, 12, 1, 3, 0, 0][i]) };
      });
  return { now, queueNames, tasks, flows, instances, histories, deadLetters, workItems, messages, events, schedules, subscriptions, owners, queues, latency, spark, rnd, bulk: [], evil, empty, paused: [] };
}
