// Tasks.
import type { TaskRow } from "../api";
import { Ago, Empty, IdLink, PageHead, Span, State, Tabs, Until } from "../components/bits";
import { Filters, List, useList } from "../components/list";
import type { Column } from "../components/table";
import { number, visible } from "../format";
import { hub, hubLink, link, queryOf, rights, route } from "../state";
import { RawJson, tryJson } from "../json";
import { createdRange } from "./instances";

const tabs: [string, string][] = [
  ["ready", "Ready"],
  ["delayed", "Delayed"],
  ["blocked", "Blocked"],
  ["active", "Active"],
  ["suspended", "Suspended"],
  ["failed", "Failed"],
  ["ended", "Ended"],
  ["all", "All"],
];

// Each view follows one index of the server.
const views: Record<string, { order: string; state: string[] | null; bulk: string[] }> = {
  ready: { order: "claim", state: ["ready"], bulk: ["cancel_task"] },
  delayed: { order: "due", state: ["delayed"], bulk: ["cancel_task"] },
  blocked: { order: "parked", state: ["blocked"], bulk: ["cancel_task"] },
  active: { order: "lease", state: ["active"], bulk: ["cancel_task"] },
  suspended: { order: "parked", state: ["suspended"], bulk: ["cancel_task"] },
  failed: { order: "failed", state: ["failed", "expired"], bulk: ["replay_task"] },
  ended: { order: "ended", state: ["completed", "failed", "cancelled", "expired", "skipped"], bulk: [] },
  all: { order: "created", state: null, bulk: [] },
};

export function Tasks() {
  const name = hub.value ?? "";
  const tab = views[queryOf("tab")] ? queryOf("tab") : "ready";
  const view = views[tab]!;
  const filter: Record<string, unknown> = {};
  for (const key of ["queue", "kind", "worker", "dedup_key", "message"]) if (queryOf(key)) filter[key] = queryOf(key);
  const invalid: string[] = [];
  for (const key of ["payload", "tags"]) {
    const text = queryOf(key);
    if (text === "") continue;
    if (tryJson(text)?.kind === "object") filter[key] = new RawJson(text);
    else invalid.push(key);
  }
  createdRange(filter);
  // Some views have tasks of several states, of which one can be chosen.
  const state = view.state !== null && view.state.length > 1 ? view.state.filter((s) => s === queryOf("state")) : [];
  const filtered = Object.keys(filter).length > 0 || state.length > 0;
  if (view.state) filter["state"] = state.length > 0 ? state : view.state;
  const list = useList<TaskRow>(["tasks"], { filter, order: view.order }, (t) => t.task_id);
  const query = Object.fromEntries(route.value.query);

  const columns: Column<TaskRow>[] = [
    { key: "id", label: "Task", cell: (t) => <IdLink path={["h", name, "tasks", t.task_id]} id={t.task_id} length={22} /> },
    { key: "state", label: "State", rank: tab === "failed" ? 2 : 1, cell: (t) => <State state={t.state} /> },
    { key: "queue", label: "Queue", rank: 2, cell: (t) => <a href={hubLink(["queues", t.queue])}>{visible(t.queue)}</a> },
    { key: "kind", label: "Kind", cell: (t) => visible(t.kind), rank: 2 },
  ];
  if (tab === "active") {
    columns.push(
      { key: "worker", label: "Worker", rank: 2, cell: (t) => visible(t.worker ?? "–") },
      { key: "lease", label: "Lease", num: true, cell: (t) => <Until ms={t.lease_until_ms} /> },
    );
  } else if (tab === "failed") {
    columns.push({ key: "failure", label: "Failure", grow: true, cell: (t) => <span class="ellipsis bad-text">{visible(t.failure_message ?? t.failure_class ?? "")}</span> });
  } else {
    columns.push({ key: "payload", label: "Payload", rank: 3, grow: true, cell: (t) => <code class="preview">{visible(t.payload ?? "")}</code> });
  }
  columns.push({ key: "attempt", label: "Attempt", num: true, rank: 3, cell: (t) => number(t.attempt_index) });
  if (tab === "ready") columns.push({ key: "priority", label: "Priority", num: true, rank: 3, cell: (t) => number(t.priority) }, { key: "due", label: "Ready", num: true, cell: (t) => <Ago ms={t.available_at_ms} /> });
  else if (tab === "delayed") columns.push({ key: "due", label: "Due", num: true, cell: (t) => <Until ms={t.available_at_ms} past="ago" /> });
  else if (tab === "failed" || tab === "ended") columns.push({ key: "took", label: "Took", num: true, rank: 3, cell: (t) => <Span from={t.created_at_ms} to={t.terminal_at_ms} /> }, { key: "ended", label: "Ended", num: true, cell: (t) => <Ago ms={t.terminal_at_ms} /> });
  else columns.push({ key: "created", label: "Created", num: true, cell: (t) => <Ago ms={t.created_at_ms} /> });

  return (
    <>
      <PageHead title="Tasks" />
      <Tabs label="Tasks by state" tabs={tabs} current={tab} hrefOf={(t) => link(route.value.path, { ...query, tab: t === "ready" ? null : t, state: null, after: null })} />
      <Filters
        fields={[
          ...(view.state !== null && view.state.length > 1 ? [{ key: "state", label: "State", options: view.state.map((s): [string, string] => [s, s]) }] : []),
          { key: "queue", label: "Queue" },
          { key: "kind", label: "Kind" },
          { key: "worker", label: "Worker" },
          { key: "dedup_key", label: "Key" },
          { key: "created_from", label: "Created from", type: "datetime-local" },
          { key: "created_to", label: "Created to", type: "datetime-local" },
          ...(rights.value?.body_filters
            ? [
                { key: "message", label: "Failure contains" },
                { key: "tags", label: "Tags contain", placeholder: '{"customer": 7}' },
                { key: "payload", label: "Payload contains", placeholder: '{"order": 7}', wide: true },
              ]
            : []),
        ]}
      />
      {invalid.length > 0 && <p class="callout warn">The filter on {invalid.join(" and ")} has to be a JSON object, such as {'{"order": 7}'}. It is not applied.</p>}
      <section class="panel flush">
        <List
          list={list}
          caption={`Tasks, ${tab}`}
          what="task"
          filter={{ ...filter, order: view.order }}
          filtered={filtered}
          idOf={(t) => t.task_id}
          hrefOf={(t) => hubLink(["tasks", t.task_id])}
          bulkActions={view.bulk}
          columns={columns}
          empty={
            <Empty
              title={{ ready: "No task is ready", delayed: "No task is delayed", blocked: "No task is blocked", active: "No task is running", suspended: "No task is suspended", failed: "No task has failed", ended: "No task has ended", all: "No tasks" }[tab] ?? "No tasks"}
              text={tab === "failed" ? "Tasks that used up their attempts or expired are listed here." : "Tasks appear here as soon as they are sent."}
              sql={`SELECT ${name}.send('mail', '{"to": "ada@example.org"}');`}
            />
          }
        />
      </section>
    </>
  );
}
