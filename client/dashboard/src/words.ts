// States, reasons and errors in sentences.
import { duration, relative } from "./time";
import { number, plural } from "./format";
import { isAway, type Problem, type Reason } from "./api";

export type Tone = "ok" | "run" | "wait" | "bad" | "off";

const states: Record<string, [Tone, string]> = {
  completed: ["ok", "completed"],
  active: ["run", "active"],
  running: ["run", "running"],
  open: ["run", "open"],
  leased: ["run", "leased"],
  ready: ["wait", "ready"],
  waiting: ["wait", "waiting"],
  delayed: ["wait", "delayed"],
  suspended: ["wait", "suspended"],
  blocked: ["wait", "blocked"],
  pending: ["wait", "pending"],
  stopping: ["wait", "stopping"],
  failed: ["bad", "failed"],
  expired: ["bad", "expired"],
  cancelled: ["off", "cancelled"],
  skipped: ["off", "skipped"],
  ended: ["off", "ended"],
  stopped: ["off", "stopped"],
  closed: ["off", "closed"],
  done: ["ok", "done"],
  continuedasnew: ["ok", "continued as new"],
  paused: ["off", "paused"],
};

export function stateWord(state: string): { tone: Tone; word: string } {
  const [tone, word] = states[state.toLowerCase()] ?? ["wait", state];
  return { tone, word };
}

export interface Step {
  text: string;
  path?: string[];
}

export interface Sentence {
  text: string;
  until: number | null;
  next: Step | null;
  links: { label: string; path: string[] }[];
  /** Nothing is wrong: it waits as intended. */
  calm: boolean;
}

interface Context {
  hub: string;
  queue?: string;
}

const str = (value: unknown): string => (typeof value === "string" ? value : value === null || value === undefined ? "" : String(value));
const num = (value: unknown): number | null => (typeof value === "number" ? value : null);
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(str) : []);
const upstream = (value: unknown): { task_id: string; state: string }[] =>
  Array.isArray(value)
    ? value.map((v: unknown) => {
        const o = (typeof v === "object" && v !== null ? v : {}) as Record<string, unknown>;
        return { task_id: str(o["task_id"]), state: str(o["state"]) };
      })
    : [];

/** Which transaction holds something: ` of process 7, open for 4 s`, ` (prepared, move-1)`. */
const holder = (d: Record<string, unknown>): string => {
  const age = num(d["age_ms"]);
  return `${d["pid"] ? ` of process ${str(d["pid"])}` : d["gid"] ? ` (prepared, ${str(d["gid"])})` : ""}${age !== null ? `, open for ${duration(age)},` : ""}`;
};

const say = (text: string, rest: Partial<Sentence> = {}): Sentence => ({ text, until: null, next: null, links: [], calm: false, ...rest });

/** A reason of explain_claim as a sentence with its next step. */
export function explainClaim(row: Reason, context: Context): Sentence {
  const d = row.detail ?? {};
  const until = row.until_ms ?? num(d["until_ms"]);
  const queue = context.queue ?? "";
  const queuePath = ["h", context.hub, "queues", queue];
  switch (row.reason) {
    case "claimable":
      return say("It can be claimed now; the next claim from its queue takes it.", {
        calm: true,
        next: { text: `See which workers serve queue ${queue}.`, path: queuePath },
      });
    case "behind":
      return say(`${plural(num(d["tasks"]) ?? 0, "task")} of queue ${queue} ${num(d["tasks"]) === 1 ? "comes" : "come"} before it.`, {
        calm: true,
        next: { text: "Raise its priority, or see the queue in claim order.", path: queuePath },
      });
    case "not_found":
      return say("The task does not exist.", { next: { text: "It may have been deleted by retention: look for its events.", path: ["h", context.hub, "events"] } });
    case "terminal":
      return say(`It has ended: ${stateWord(str(d["state"])).word}.`, { calm: d["state"] === "completed", next: { text: "Replay runs it once more." } });
    case "leased":
      return say(`Worker ${str(d["worker_instance"]) || str(d["worker"])} holds its lease.`, {
        until,
        calm: true,
        next: { text: "Wait for the worker, or revoke the lease.", path: ["h", context.hub, "workers"] },
      });
    case "lease_over_unsettled":
      return say(`The lease of worker ${str(d["worker_instance"]) || str(d["worker"])} expired${until ? ` ${relative(until)}` : ""} and has not been settled yet.`, {
        next: { text: "The next claim or the background worker settles it; check that the background worker runs.", path: ["h", context.hub, "health"] },
      });
    case "not_due":
      return say("Its time has not come.", { until, calm: true, next: { text: `It joins queue ${queue} then.`, path: queuePath } });
    case "deadline_passed":
      return say("Its deadline has passed; it expires as soon as it is settled.", { next: { text: "Check that the background worker runs.", path: ["h", context.hub, "health"] } });
    case "suspended":
      return say("It is suspended and waits for a signal.", { until, next: { text: "Approve a waitpoint below, or resume the task." } });
    case "hub_paused":
      return say("Tasks of this hub are paused.", { next: { text: "Resume the hub.", path: ["h", context.hub, "queues"] } });
    case "queue_paused":
      return say(`Queue ${queue} is paused.`, { next: { text: "Resume the queue.", path: queuePath } });
    case "queue_concurrency":
      return say(`Queue ${queue} runs ${number(num(d["active"]))} of at most ${number(num(d["concurrency"]))} tasks at once.`, {
        next: { text: "Wait for a place, or raise the limit of the queue.", path: queuePath },
      });
    case "queue_limits_locked":
      return say(`An open transaction${holder(d)} holds the limits of queue ${queue}.`, {
        next: { text: "Its end lets claims go on: look for long transactions.", path: ["h", context.hub, "health"] },
      });
    case "queue_rate":
      return say(`Queue ${queue} allows ${str(d["rate_per_s"])} claims per second${until ? `; next token ${relative(until)}` : ""}.`, {
        until,
        calm: true,
        next: { text: "Raise the rate of the queue.", path: queuePath },
      });
    case "capabilities_missing":
      return say(`No worker with ${list(d["missing"]).join(", ") || "the capabilities that it needs"} has claimed from queue ${queue}.`, {
        next: { text: "Start a worker with these capabilities.", path: ["h", context.hub, "workers"] },
      });
    case "capabilities_needed":
      return say(`It can be claimed by a worker with ${list(d["capabilities"]).join(", ") || list(d["needed"]).join(", ") || "the capabilities that it needs"}.`, {
        calm: true,
        next: { text: "See which workers are there.", path: ["h", context.hub, "workers"] },
      });
    case "slot_not_given":
      return say(`It belongs to slot ${str(d["slot"])}, which no claim has asked for.`, { next: { text: "See which owners hold slots.", path: ["h", context.hub, "workers"] } });
    case "row_locked":
      return say(`An open transaction${holder(d)} holds its row.`, {
        next: { text: d["pid"] ? `See pg_stat_activity for process ${str(d["pid"])}.` : d["gid"] ? "See pg_prepared_xacts." : "Look for long transactions.", path: ["h", context.hub, "health"] },
      });
    case "blocked_by_upstream": {
      const open = upstream(d["upstream"]);
      return say(`It waits for ${open.length === 1 ? "a task" : `${open.length} tasks`} before it.`, {
        calm: true,
        next: { text: "See why these have not ended." },
        links: open.slice(0, 20).map((u) => ({ label: `${u.task_id} (${stateWord(u.state).word})`, path: ["h", context.hub, "tasks", u.task_id] })),
      });
    }
    case "upstream_needs_replay": {
      const ended = upstream(d["upstream"]);
      return say(`${ended.length === 1 ? "A task" : `${ended.length} tasks`} before it ended without success.`, {
        next: { text: "Replay these tasks first." },
        links: ended.slice(0, 20).map((u) => ({ label: `${u.task_id} (${stateWord(u.state).word})`, path: ["h", context.hub, "tasks", u.task_id] })),
      });
    }
    case "held_until_seal":
      return say("It is held until its flow is sealed.", { next: { text: "The application seals the flow with seal_flow." } });
    default:
      return say(`${row.reason}: ${JSON.stringify(row.detail ?? {})}`, { until });
  }
}

/** A reason of explain_fetch or explain_waits as a sentence. */
export function explainFetch(row: Reason, context: Context): Sentence {
  const d = row.detail ?? {};
  const text = str(d["text"]);
  const until = row.until_ms;
  const messages: Step = { text: "See the messages.", path: ["h", context.hub, "messages"] };
  switch (row.reason) {
    case "paused":
      return say("The orchestrator queue is paused.", { next: { text: "Resume the hub.", path: ["h", context.hub, "queues"] } });
    case "locked":
      return say("A dispatcher has leased its turn.", { until, calm: true, next: { text: "See which owners hold leases.", path: ["h", context.hub, "workers"] } });
    case "in_transaction":
      return say(text ? `An open transaction is in the way: ${text}.` : "An open transaction holds the instance or one of its messages.", { next: { text: "Look for long transactions.", path: ["h", context.hub, "health"] } });
    case "version_filter":
      return say(`Its version (${text}) is outside the range that dispatchers ask for.`, { next: { text: "Start a dispatcher that supports this version." } });
    case "no_messages":
      return say(`Nothing is queued for it${text ? ` (${text})` : ""}.`, { calm: true, next: { text: "Its timeline shows what it has begun; Raise event sends it a message." } });
    case "not_visible":
      return say("All its messages lie in the future.", { until, calm: true, next: messages });
    case "start_hidden":
      return say("It has not started; its start lies in the future.", { until, calm: true, next: messages });
    case "never_started":
      return say(`It has messages but no start${text ? ` (${text})` : ""}.`, { until, next: { text: "Start it, or its messages become dead letters." } });
    case "dead_lettered":
      return say(text ? `It has dead letters: ${text}.` : "Its messages have used up max_attempts.", { next: { text: "Redrive or discard its dead letters.", path: ["h", context.hub, "dead-letters"] } });
    case "activity": {
      const a = awaitedActivity(text);
      return say(`${a ? `Activity ${a.name}${a.name ? " " : ""}#${a.id}` : text ? `Activity ${text}` : "An activity"}${a?.state === "leased" ? ` is leased${a.owner ? ` by ${a.owner}` : ""}${a.attempt > 1 ? `, attempt ${a.attempt}` : ""}` : a?.state === "delayed" ? " is delayed" : a ? " waits for a worker" : " has not completed"}.`, {
        until,
        calm: a?.state !== "ready",
        next: a?.owner ? { text: "See what its worker holds.", path: ["h", context.hub, "workers"] } : { text: "See the worker queue.", path: ["h", context.hub, "work-items"] },
      });
    }
    case "timer":
      return say(`It waits for timer ${text}.`, { until, calm: true, next: messages });
    case "message":
      return say(`A message${text ? ` ${text}` : ""} becomes visible later.`, { until, calm: true, next: messages });
    case "event":
      return say(`It waits for event ${text}.`, { calm: true, next: { text: "Raise event sends it." } });
    case "child":
      return say("A child has not ended.", { calm: true, next: { text: "See what it waits for." }, links: text ? [{ label: text, path: ["h", context.hub, "instances", text] }] : [] });
    default:
      return say(`${row.reason}${text ? `: ${text}` : ""}`, { until });
  }
}

/** What explain_waits says of an activity: `Charge #4: leased by worker-18, attempt 2`. */
export function awaitedActivity(text: string): { name: string; id: string; state: string; owner: string; attempt: number } | null {
  const m = /^(?:(.*) )?#(\d+): (?:leased(?: by (.*))?, attempt (\d+)|(ready|delayed))$/s.exec(text);
  return m ? { name: m[1] ?? "", id: m[2]!, state: m[5] ?? "leased", owner: m[3] ?? "", attempt: Number(m[4] ?? 0) } : null;
}

/** A reason of explain_work_item as a sentence. Its detail is a text. */
export function explainWorkItem(row: Reason, context: Context): Sentence {
  const text = str(row.detail?.["text"]);
  const until = row.until_ms;
  const workers: Step = { text: "See which workers hold leases.", path: ["h", context.hub, "workers"] };
  switch (row.reason) {
    case "fetchable":
      return say(`It can be fetched now${text ? ` (${text})` : ""}.`, { calm: true, next: workers });
    case "tag_needed":
      return say(`It can be fetched by ${text || "workers with its tag"}.`, { calm: true, next: { text: "Start a worker with this tag if there is none.", path: ["h", context.hub, "workers"] } });
    case "paused":
      return say("The worker queue is paused.", { next: { text: "Resume the hub.", path: ["h", context.hub, "queues"] } });
    case "leased":
      return say(`It is leased${text ? ` ${text}` : ""}.`, { until, calm: true, next: workers });
    case "not_visible":
      return say("It becomes visible later.", { until, calm: true, next: { text: "It joins its queue then.", path: ["h", context.hub, "work-items"] } });
    case "session_held":
      return say(`Its ${text || "session is held"}; only that owner can fetch it.`, { until, next: { text: "See what that owner holds.", path: ["h", context.hub, "workers"] } });
    case "in_transaction":
      return say(`An open transaction holds it${text ? `: ${text}` : ""}.`, { next: { text: "Look for long transactions.", path: ["h", context.hub, "health"] } });
    case "dead_lettered":
      return say("It has used up max_attempts: the next fetch makes it a dead letter.", { next: { text: "See the dead letters.", path: ["h", context.hub, "dead-letters"] } });
    case "not_found":
      return say("The work item does not exist: it was acknowledged, cancelled, or became a dead letter.", { next: { text: "See the dead letters.", path: ["h", context.hub, "dead-letters"] } });
    default:
      return say(`${row.reason}${text ? `: ${text}` : ""}`, { until });
  }
}

export interface ErrorWords {
  title: string;
  text: string;
  statement: string | null;
  retry: boolean;
}

/** What went wrong and what to do about it. */
export function errorWords(problem: Problem, status: number, hub: string | null): ErrorWords {
  const said = [problem.message, problem.detail, problem.hint].filter(Boolean).join(" ");
  const schema = hub ?? "app";
  if (problem.error === "unreachable") {
    return { title: "The dashboard does not answer", text: "Its process may have ended, or the network is down. The page keeps trying.", statement: null, retry: true };
  }
  if (isAway(problem)) {
    return { title: "The database is away", text: "The page shows the last data and keeps trying to reconnect.", statement: null, retry: true };
  }
  switch (problem.sqlstate) {
    case "42501":
      return {
        title: `Needs level ${problem.hint ?? "monitor"}`,
        text: "Your role may not read this. Other panels still work. Ask the owner of the hub for:",
        statement: `SELECT belay.grant_hub('${schema}', current_user, '${problem.hint ?? "monitor"}');`,
        retry: true,
      };
    case "25006":
      return { title: "Read-only: standby", text: "This server is a standby: nothing can be changed here.", statement: null, retry: false };
    case "42883":
      return { title: "The hub is older than the dashboard", text: `${said} Upgrade the hub to see this:`, statement: `SELECT belay.upgrade_hub('${schema}');`, retry: true };
    case "57014":
      return { title: "Too much to look at in 2 s", text: "The read was cut off. A narrower filter, or a shorter range, finds its rows faster.", statement: null, retry: true };
  }
  if (status === 404) return { title: "There is no such object", text: said || "It may have been deleted. Search for its id, or look at the events.", statement: null, retry: true };
  if (status === 503) return { title: "The dashboard is busy", text: `${said} Wait a moment before you try again.`.trim(), statement: null, retry: true };
  if (status === 429) return { title: "Too many requests", text: "Wait a moment before you try again.", statement: null, retry: true };
  if (status === 504) return { title: "The read took too long", text: said, statement: null, retry: true };
  return { title: problem.error.replace(/_/g, " "), text: said, statement: null, retry: true };
}

/** `41 s left`, of a wait that ends by itself. */
export function untilWords(until: number | null, now: number): string {
  if (until === null) return "";
  return until <= now ? `over since ${duration(now - until)}` : `${duration(until - now)} left`;
}
