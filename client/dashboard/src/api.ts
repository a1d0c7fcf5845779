// The dashboard's HTTP interface: types of its answers, and the calls. Ids and epochs are strings,
// times are milliseconds, bodies are strings as stored.
import { noteServerTime } from "./time";
import { stringify } from "./json";
import { segment } from "./router";

export interface Count {
  n: number;
  capped: boolean;
}

/** What every answer of a read has. */
export interface Answer {
  at_ms: number;
  took_ms: number;
  sql: string;
}

export type Level = "client" | "worker" | "monitor" | "operator" | "owner";
export type ActionKind = "safe" | "disturbing" | "destructive";

export interface ActionInfo {
  label: string;
  level: Level;
  kind: ActionKind;
  reason: "none" | "optional" | "required";
}

export interface HubRights {
  levels: Level[];
  /** Actions that the role may use. */
  actions: string[];
  /** Those that it may use on many objects at once. */
  bulk: string[];
  /** Whether filters may look into bodies; not if some of them are hidden. */
  body_filters: boolean;
  /** Null if the hub is on another node of Citus. */
  version: number | null;
  current: boolean | null;
  missing: string[];
}

export interface Me {
  at_ms: number;
  user: string;
  login: "token" | "postgres" | "proxy";
  csrf: string;
  read_only: boolean;
  standby: boolean;
  preloaded: boolean;
  bodies: "all" | "operator" | "none";
  versions: { dashboard: string; library: string; server: string };
  actions: Record<string, ActionInfo>;
  hubs: Record<string, HubRights>;
}

export interface HubRow {
  name: string;
  owner: string;
  /** Null, as whether it is current and what is paused, if the hub is on another node of Citus. */
  version: number | null;
  current: boolean | null;
  paused_queues: string[] | null;
  size_bytes: number;
  leases: number | null;
  waiters: number | null;
  oldest_ready_ms: number | null;
  dead: Count | null;
  rates: Rates | null;
  spark: number[];
  /** host:port of the server that has the hub. */
  place: string | null;
  here: boolean;
}

export interface Rates {
  in: number;
  done: number;
  lost: number;
  failed: number;
}

export interface Pause {
  queue: string;
  reason: string;
  by: string;
  at_ms: number | null;
}

/** The worker queue, the orchestrator queue, intents for other hubs. */
export interface ProviderQueue {
  queue: string;
  ready: Count;
  oldest_ms: number | null;
  leased: number;
  waiting: Count;
  waiters: number;
  dead: Count;
  paused: boolean;
  rates: Rates | null;
  spark: number[];
}

/** A named queue of tasks. */
export interface TaskQueue {
  queue: string;
  paused: boolean;
  ready: Count;
  delayed: Count;
  active: Count;
  suspended: Count;
  blocked: Count;
  overdue: Count;
  oldest_ms: number | null;
  owners: number;
  /** Who paused it and when, if the events of operators tell. */
  paused_by?: string | null;
  paused_at_ms?: number | null;
  concurrency: number | null;
  rate_per_s: number | null;
  burst: number | null;
  rates: Rates | null;
  spark: number[];
}

/** Percentiles are null if nothing happened in the time that was looked at. */
export interface Latency {
  p50: number | null;
  p95: number | null;
  p99: number | null;
  /** 22 buckets: from 1 ms to 1 day, and what is longer. */
  buckets: number[];
}

export interface Glance {
  hub: string;
  at_ms: number;
  took_ms: number;
  sql: string;
  hub_version: number;
  provider: ProviderQueue[];
  queues: TaskQueue[];
  queues_more: boolean;
  dead_letters: { queue: string; reason: string; count: Count; newest_ms: number }[];
  /** These are null where the server has no cheap way to know them. */
  failed_last_hour: Count | null;
  expired_last_hour: Count | null;
  running_instances: Count | null;
  schedules_with_errors: { name: string; error: string }[];
  subscriptions: { name: string; lag: Count; lag_ms: number | null }[];
  intents_waiting: Count | null;
  /** Absent: the role may not know. Null: it does not run. */
  background_worker?: { state: string; last_loop_ms: number } | null;
  oldest_snapshot: { age_ms: number; pid: number } | null;
  paused: Pause[];
  estimates: { tasks: number; instances: number; events: number };
  /** Of the whole hub since the sample before; null if nothing is known. */
  wait: Latency | null;
  run: Latency | null;
}

export interface Series extends Answer {
  step_ms: number;
  t: number[];
  in: (number | null)[];
  done: (number | null)[];
  failed: (number | null)[];
  oldest_ms: (number | null)[];
  depth: (number | null)[];
  /** Of the range; null if nothing is measured. */
  wait: Latency | null;
  run: Latency | null;
  /** Where the durations come from: of a short range of a queue, not from the samples. */
  durations_sql: string;
}

export interface Page<Row> extends Answer {
  rows: Row[];
  next: string | null;
  scanned: number;
  estimate: number | null;
  /** Newest id when the list was read: what "all that match" means. */
  upto: string | null;
  /** What has to be known of the order. */
  note?: string;
}

export interface TaskRow {
  task_id: string;
  state: string;
  queue: string;
  kind: string;
  priority: number;
  flow_id: string | null;
  flow_key: string | null;
  attempt_index: number;
  retry_count: number;
  available_at_ms: number | null;
  deadline_ms: number | null;
  worker: string | null;
  lease_until_ms: number | null;
  lease_epoch: string;
  failure_class: string | null;
  failure_message: string | null;
  created_at_ms: number;
  updated_at_ms: number;
  terminal_at_ms: number | null;
  payload: string | null;
  payload_bytes: number;
}

export interface Attempt {
  attempt_index: number;
  kind: string;
  outcome: string | null;
  epoch: string;
  lease_count: number;
  worker: string | null;
  worker_instance: string | null;
  started_ms: number;
  ended_ms: number | null;
  error: string | null;
}

export interface Body {
  text: string | null;
  bytes: number;
}

export interface PolicyKey {
  key: string;
  value: string;
  from: "task" | "queue" | "default";
}

export interface Task extends Answer {
  task_id: string;
  state: string;
  public_state: string;
  queue: string;
  kind: string;
  priority: number;
  flow_id: string | null;
  flow_key: string | null;
  dedup_key: string | null;
  capabilities: string[];
  tags: Body;
  attempt_index: number;
  retry_count: number;
  reclaim_count: number;
  replay_count: number;
  lease_epoch: string;
  available_at_ms: number | null;
  deadline_ms: number | null;
  created_at_ms: number;
  started_at_ms: number | null;
  updated_at_ms: number;
  terminal_at_ms: number | null;
  cancel_reason: string | null;
  cancelled_by: string | null;
  lease: { lease_id: string; epoch: string; worker: string; worker_instance: string; until_ms: number; live: boolean } | null;
  progress: { percent: number | null; message: string | null; at_ms: number } | null;
  failure: { class: string; message: string; details: Body } | null;
  payload: Body;
  result: Body;
  checkpoint: Body;
  policy: PolicyKey[];
  attempts: Attempt[];
  upstream: { task_id: string; key: string; state: string }[];
  upstream_more: number;
  downstream: { task_id: string; key: string; state: string }[];
  downstream_more: number;
  suspension: { reason_code: string; since_ms: number; timeout_at_ms: number | null; on_timeout: string } | null;
}

export interface Reason {
  reason: string;
  detail: Record<string, unknown> | null;
  until_ms: number | null;
}

export interface Explanation extends Answer {
  rows: Reason[];
}

export interface Waitpoint {
  waitpoint_id: string;
  key: string;
  state: string;
  signals: number;
  created_at_ms: number;
  expires_at_ms: number | null;
  closed_at_ms: number | null;
}

export interface InstanceRow {
  instance_id: string;
  name: string;
  version: string;
  status: string;
  /** Null: no dispatcher has picked it up. */
  execution: number | null;
  custom_status: string | null;
  parent_id: string | null;
  /** Null: it has messages, and no start. */
  created_at_ms: number | null;
  updated_at_ms: number;
  ended_at_ms: number | null;
}

export interface Execution {
  execution: number;
  status: string;
  started_at_ms: number;
  ended_at_ms: number | null;
  events: number;
}

export interface Instance extends Answer {
  instance_id: string;
  name: string;
  version: string;
  status: string;
  execution: number | null;
  executions: Execution[];
  parent_id: string | null;
  created_at_ms: number | null;
  updated_at_ms: number;
  input: Body;
  output: Body;
  custom_status: Body;
  /** Why it is not fetched, and what it waits for; their details are texts. */
  waits: Reason[];
  waits_sql: string;
}

export interface HistoryEvent {
  event_id: string;
  type: string;
  name: string | null;
  source_event_id: string | null;
  at_ms: number;
  /** When the turn that wrote it was stored. */
  turn_ms: number;
  due_ms?: number | null;
  child?: string | null;
  preview: string;
  bytes: number;
}

export interface KeyValue {
  key: string;
  value: string;
  bytes: number;
  updated_at_ms: number | null;
}

export interface TreeNode {
  instance_id: string;
  name: string;
  status: string;
  depth: number;
  more: number;
}

export interface FlowRow {
  flow_id: string;
  kind: string;
  state: string;
  member_count: number;
  open_count: number;
  counts: Record<string, number>;
  cancel_reason: string | null;
  created_at_ms: number;
  updated_at_ms: number;
  terminal_at_ms: number | null;
}

export interface FlowMember {
  task_id: string;
  key: string;
  state: string;
  queue: string;
  kind: string;
  started_at_ms: number | null;
  terminal_at_ms: number | null;
  attempt_index: number;
  failure_class: string | null;
  worker?: string | null;
  progress?: { percent: number | null; message: string | null; at_ms: number | null } | null;
}

export interface FlowEdge {
  upstream_id: string;
  downstream_id: string;
  state: string;
  pass_as: string | null;
}

export interface FlowGroup {
  task_id: string;
  kind: string;
  k: number | null;
  state: string;
  total: number;
  satisfied: number;
  failed: number;
}

export interface Flow extends Answer, FlowRow {
  sealed: boolean;
  graph_revision: string;
  /** Changes with everything that the answer tells. */
  revision?: string;
  fail_policy: string;
  edge_count: number;
  truncated: boolean;
  members: FlowMember[];
  edges: FlowEdge[];
  groups: FlowGroup[];
}

export interface Schedule {
  name: string;
  cron: string;
  time_zone: string;
  catch_up: string;
  paused: boolean;
  task: string;
  queue: string;
  next_ms: number[];
  last_due_ms: number | null;
  last_task_id: string | null;
  last_error: string | null;
  created_at_ms: number;
}

export interface DeadLetter {
  id: string;
  queue: string;
  reason: string;
  name: string | null;
  instance_id: string | null;
  attempt_count: number;
  detail: string | null;
  enqueued_at_ms: number;
  dead_at_ms: number;
  preview: string;
  bytes: number;
}

export interface WorkItem {
  id: string;
  state: string;
  name: string | null;
  instance_id: string | null;
  activity_id: string | null;
  session_id: string | null;
  tag: string | null;
  visible_at_ms: number;
  locked_until_ms: number | null;
  locked_by: string | null;
  attempt_count: number;
  created_at_ms: number;
  preview: string;
  bytes: number;
}

export interface Message {
  id: string;
  instance_id: string;
  /** Of the message: StartOrchestration, ExternalRaised, TimerFired … */
  kind: string;
  /** Of what it starts or raises; timers and results have none. */
  name: string | null;
  visible_at_ms: number;
  attempt_count: number;
  created_at_ms: number;
  preview: string;
  bytes: number;
}

export interface HubEvent {
  event_id: string;
  topic: string;
  type: string;
  subject: string | null;
  by: string | null;
  via: string | null;
  reason: string | null;
  occurred_at_ms: number;
  details: string;
}

export interface Subscription {
  name: string;
  topics: string[] | null;
  lag: Count;
  lag_ms: number | null;
  lease_until_ms: number | null;
  horizon_pid: number | null;
  created_at_ms: number;
}

export interface Owner {
  owner_id: string;
  kinds: string[];
  live: number;
  overdue: number;
  /** When the oldest lease began, where it is known: of work items, sessions and slots it is not. */
  oldest_ms: number | null;
  next_deadline_ms: number | null;
  queues: string[];
}

export interface OwnerPage extends Page<Owner> {
  complete: boolean;
  /** Leases of turns, whose locks name no owner. Absent: the hub is older. */
  turns?: { live: number; overdue: number; oldest_ms: number | null; next_deadline_ms: number | null; complete: boolean };
}

export interface Duty {
  duty: string;
  last_run_ms: number | null;
  runs: number;
  rows: number;
  errors: number;
  last_error: string | null;
  last_error_at_ms: number | null;
}

export interface Health extends Answer {
  /** Absent: the role may not know. */
  background_worker?: { pid: number; state: string; started_at_ms: number; last_loop_ms: number } | null;
  duties: Duty[] | null;
  oldest_snapshot: { pid: number; age_ms: number; application: string; state: string } | null;
  shared_memory: { what: string; used: number; of: number | null }[] | null;
  sizes: { table: string; live_rows: number; dead_rows: number; table_bytes: number; index_bytes: number; toast_bytes: number; last_autovacuum_ms: number | null }[];
  options: { option: string; value: string | null; is_default: boolean }[];
  links: { target: string; server: string; waiting: Count | null; last_error: string | null }[];
  intents: Count | null;
  /** Rows that check_tasks would read. */
  check_estimate: number;
}

export interface Found {
  what: string;
  id: string;
  label: string;
}

export interface QueueDetail extends Answer {
  queue: TaskQueue;
  /** Whether the list of queues has it: then its settings are known. */
  listed: boolean;
  kinds: { kind: string; n: number; failed: number; wait: Latency; run: Latency }[];
  owners: Owner[];
}

export interface DryRun {
  action: string;
  sql: string;
  command: string;
  level: Level;
  allowed: boolean;
  kind: ActionKind;
  reason: "none" | "optional" | "required";
  effect: string;
  /** What has to be typed in for a destructive action. */
  confirm: string | null;
  next_ms?: number[];
}

export interface ActionResult {
  at_ms: number;
  sql: string;
  /** False: nothing was changed, and `message` says why. */
  effective: boolean;
  message: string;
  result: string;
}

export interface BulkDryRun {
  count: Count;
  examples: { id: string; label: string }[];
  skipped: { reason: string; n: number }[];
  sql: string;
  effect: string;
  allowed: boolean;
  level: Level;
  kind: ActionKind;
  reason: "none" | "optional" | "required";
}

export interface BulkJob {
  at_ms: number;
  id: string;
  action: string;
  label: string;
  state: "running" | "stopping" | "stopped" | "done" | "failed";
  by: string;
  reason: string;
  filter: string;
  total: Count;
  done: number;
  skipped: number;
  failed: { code: string; word: string; n: number; example: string }[];
  rate: number;
  started_at_ms: number;
  ended_at_ms: number | null;
  cursor: string | null;
}

export interface Problem {
  error: string;
  sqlstate?: string;
  message: string;
  detail?: string;
  hint?: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
  get word(): string {
    return this.problem.error;
  }
  get sqlstate(): string | undefined {
    return this.problem.sqlstate;
  }
}

/** Whether the database cannot be reached. The dashboard answers with 503 for other reasons, too. */
export const isAway = (problem: Problem): boolean => problem.error === "database_away";

/** Path before `/assets/…`: what a proxy put in front. */
export const base = ((): string => {
  const url = typeof document === "undefined" ? "" : import.meta.url;
  const at = url.indexOf("/assets/");
  return at < 0 ? "" : new URL(url.slice(0, at + 1)).pathname.replace(/\/$/, "");
})();

let csrf = "";
export function setCsrf(token: string): void {
  csrf = token;
}

/** What is told of every answer: whether the server, the database and the session are there. */
export const observers: ((error: ApiError | null) => void)[] = [];

async function call<T>(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`${base}/api/v1${path}`, {
      method,
      credentials: "same-origin",
      cache: "no-store",
      headers: method === "GET" ? {} : { "Content-Type": "application/json", "X-Belay-CSRF": csrf },
      ...(method === "GET" ? {} : { body: stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw report(new ApiError(0, { error: "unreachable", message: "The dashboard's server does not answer." }));
  }
  const text = await response.text();
  let answer: unknown = null;
  try {
    answer = text === "" ? null : JSON.parse(text);
  } catch {
    // A proxy answers for a server that does not.
    if (response.status >= 502 && response.status <= 504) throw report(new ApiError(0, { error: "unreachable", message: "The dashboard's server does not answer." }));
    throw report(new ApiError(response.status, { error: "not_json", message: `The server answered with status ${response.status} and no JSON.` }));
  }
  if (!response.ok) {
    const problem = (answer ?? { error: `status_${response.status}`, message: `status ${response.status}` }) as Problem;
    throw report(new ApiError(response.status, problem));
  }
  const at = (answer as { at_ms?: unknown } | null)?.at_ms;
  if (typeof at === "number") noteServerTime(at);
  for (const observe of observers) observe(null);
  return answer as T;
}

function report(error: ApiError): ApiError {
  for (const observe of observers) observe(error);
  return error;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: unknown): Promise<T> => call<T>("POST", path, body);
export const del = <T>(path: string): Promise<T> => call<T>("DELETE", path, {});

export type Params = Record<string, string | number | null | undefined | Record<string, unknown>>;

/** A path below a hub: `hubPath("app", ["tasks", id], {limit: 50})`. */
export function hubPath(hub: string, parts: string[], params: Params = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "") continue;
    if (typeof value === "object") {
      if (Object.keys(value).length > 0) search.set(key, stringify(value));
    } else {
      search.set(key, String(value));
    }
  }
  const text = search.toString();
  return `/h/${segment(hub)}/${parts.map(segment).join("/")}${text ? `?${text}` : ""}`;
}

/** A random key, so that a repeated request is done once. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}
