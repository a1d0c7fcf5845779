// Queues of tasks, and the provider queues of orchestrations.
import { Actions } from "../actions";
import { hubPath, type Glance, type ProviderQueue, type TaskQueue } from "../api";
import { Empty, PageHead, Panel, Show, Spark, SqlButton } from "../components/bits";
import { Table } from "../components/table";
import { count, number, rate, visible } from "../format";
import { useApi } from "../load";
import { glance, hub, hubLink } from "../state";
import { shortDuration } from "../time";

function limits(q: TaskQueue): string {
  const parts: string[] = [];
  if (q.concurrency !== null) parts.push(`active ${number(q.active.n)} of ${number(q.concurrency)}`);
  if (q.rate_per_s !== null) parts.push(`rate ${rate(q.rate_per_s)}/s`);
  return parts.join(" · ");
}

export function QueueTable({ rows }: { rows: TaskQueue[] }) {
  if (rows.length === 0) {
    return <Empty title="No tasks yet" text="A queue appears with its first task." sql={`SELECT ${hub.value ?? "app"}.send('mail', '{"to": "ada@example.org"}');`} />;
  }
  return (
    <Table
      caption="Queues of tasks"
      rows={rows}
      rowKey={(q) => q.queue}
      rowHref={(q) => hubLink(["queues", q.queue])}
      columns={[
        {
          key: "queue",
          label: "Queue",
          cell: (q) => (
            <>
              <a class="strong" href={hubLink(["queues", q.queue])}>
                {visible(q.queue)}
              </a>
              {q.paused && <span class="chip warn">paused</span>}
            </>
          ),
        },
        { key: "ready", label: "Ready", num: true, cell: (q) => <a href={hubLink(["tasks"], { queue: q.queue })}>{count(q.ready)}</a> },
        { key: "oldest", label: "Oldest", num: true, cell: (q) => <span class={q.oldest_ms !== null && q.oldest_ms > 60_000 ? "warn-text" : ""}>{shortDuration(q.oldest_ms)}</span> },
        { key: "active", label: "Active", num: true, rank: 2, cell: (q) => <a href={hubLink(["tasks"], { tab: "active", queue: q.queue })}>{count(q.active)}</a> },
        { key: "waiting", label: "Waiting", num: true, rank: 2, cell: (q) => number(q.delayed.n + q.suspended.n + q.blocked.n) },
        { key: "overdue", label: "Overdue", num: true, rank: 3, cell: (q) => (q.overdue.n > 0 ? <a class="warn-text" href={hubLink(["tasks"], { tab: "active", queue: q.queue })}>{count(q.overdue)}</a> : <span class="muted">0</span>) },
        { key: "in", label: "In/s", num: true, rank: 2, cell: (q) => rate(q.rates?.in) },
        { key: "done", label: "Done/s", num: true, rank: 2, cell: (q) => rate(q.rates?.done) },
        { key: "failed", label: "Failed/s", num: true, rank: 3, cell: (q) => <span class={q.rates && q.rates.failed > 0 ? "bad-text" : "muted"}>{rate(q.rates?.failed)}</span> },
        { key: "limits", label: "Limits", rank: 3, cell: (q) => <span class="muted">{limits(q) || "none"}</span> },
        { key: "spark", label: "Done, 15 min", rank: 3, cell: (q) => <Spark values={q.spark} /> },
      ]}
    />
  );
}

export function ProviderTable({ rows }: { rows: ProviderQueue[] }) {
  const to = (q: ProviderQueue, state?: string): string => hubLink([q.queue === "orchestrator" ? "messages" : q.queue === "worker" ? "work-items" : "health"], q.queue === "worker" && state ? { state } : {});
  return (
    <Table
      caption="Provider queues"
      rows={rows}
      rowKey={(q) => q.queue}
      rowHref={(q) => to(q)}
      columns={[
        {
          key: "queue",
          label: "Queue",
          cell: (q) => (
            <>
              <a class="strong" href={to(q)}>
                {q.queue}
              </a>
              {q.paused && <span class="chip warn">paused</span>}
            </>
          ),
        },
        { key: "ready", label: "Ready", num: true, cell: (q) => <a href={to(q, "ready")}>{count(q.ready)}</a> },
        { key: "oldest", label: "Oldest", num: true, cell: (q) => shortDuration(q.oldest_ms) },
        { key: "leased", label: "Leased", num: true, rank: 2, cell: (q) => <a href={to(q, "leased")}>{number(q.leased)}</a> },
        { key: "waiting", label: "Waiting", num: true, rank: 2, cell: (q) => <a href={to(q, "delayed")}>{count(q.waiting)}</a> },
        { key: "waiters", label: "Idle workers", num: true, rank: 3, cell: (q) => number(q.waiters) },
        { key: "in", label: "In/s", num: true, rank: 2, cell: (q) => rate(q.rates?.in) },
        { key: "done", label: "Done/s", num: true, rank: 2, cell: (q) => rate(q.rates?.done) },
        { key: "lost", label: "Lost/s", num: true, rank: 3, cell: (q) => rate(q.rates?.lost) },
        {
          key: "dead",
          label: "Dead",
          num: true,
          cell: (q) =>
            q.dead.n > 0 ? (
              <a class="bad-text" href={hubLink(["dead-letters"], { queue: q.queue })}>
                {count(q.dead)}
              </a>
            ) : (
              "0"
            ),
        },
        { key: "spark", label: "Done, 15 min", rank: 3, cell: (q) => <Spark values={q.spark} /> },
      ]}
    />
  );
}

export function Queues() {
  const name = hub.value ?? "";
  const first = useApi<Glance>(hubPath(name, ["glance"]));
  const g = glance.value ?? first.data;
  return (
    <>
      <PageHead title="Queues" tools={<SqlButton sql={g?.sql} took={g?.took_ms} />} />
      <Show of={{ ...first, data: g }}>
        {(now) => (
          <>
            <Panel title="Task queues" flush>
              <QueueTable rows={now.queues} />
              {now.queues_more && <p class="muted pad">Only the first 200 queues are shown. Search for another one by its name.</p>}
            </Panel>
            <Panel
              title="Provider queues"
              flush
              tools={
                <Actions
                  calls={[
                    now.paused.length > 0 ? { action: "resume_hub", args: { queue: null }, target: name } : null,
                    {
                      action: "pause_hub",
                      args: {},
                      target: name,
                      fields: [{ name: "queue", label: "What to pause", type: "select", value: "", options: [["", "everything"], ["orchestrator", "orchestrations"], ["worker", "activities"], ["tasks", "tasks"], ["intents", "intents for other hubs"]] }],
                    },
                  ]}
                />
              }
            >
              <ProviderTable rows={now.provider} />
            </Panel>
          </>
        )}
      </Show>
    </>
  );
}
