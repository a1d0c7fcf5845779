// One queue of tasks: settings, latencies, what comes next, who serves it.
import { Actions } from "../actions";
import { hubPath, type Page, type PolicyKey, type QueueDetail, type Series, type TaskRow } from "../api";
import { Chart, LatencyPanel } from "../components/chart";
import { Ago, Empty, IdLink, PageHead, Panel, Show, SqlButton, State } from "../components/bits";
import { Table } from "../components/table";
import { count, number, rate, visible } from "../format";
import { useApi } from "../load";
import { hub, hubLink, queryOf } from "../state";
import { shortDuration } from "../time";
import { RangeTabs } from "./overview";
import { OwnerTable } from "./workers";

export function Queue({ queue }: { queue: string }) {
  const name = hub.value ?? "";
  const detail = useApi<QueueDetail>(hubPath(name, ["queues", queue]), { every: 2000 });
  const next = useApi<Page<TaskRow>>(hubPath(name, ["tasks"], { filter: { queue }, order: "claim", limit: 20 }), { every: 4000 });
  const range = queryOf("range") || "15m";
  const series = useApi<Series>(hubPath(name, ["series"], { range, queue }), { every: range === "15m" ? 2000 : 60_000 });
  const d = detail.data;
  return (
    <>
      <PageHead
        title={
          <>
            <a href={hubLink(["queues"])}>Queues</a> <span class="muted">/</span> {visible(queue)}
          </>
        }
        sub={d?.queue.paused && <span class="chip warn">paused</span>}
        tools={
          d && (
            <>
              <Actions
                calls={[
                  d.queue.paused ? { action: "resume_queue", args: { queue }, target: queue, onDone: detail.reload } : { action: "pause_queue", args: { queue }, target: queue, onDone: detail.reload },
                  {
                    action: "set_queue",
                    args: { queue },
                    target: queue,
                    onDone: detail.reload,
                    fields: [
                      { name: "concurrency", label: "Most tasks active at once", type: "number", value: d.queue.concurrency === null ? "" : String(d.queue.concurrency), hint: "Empty: no limit." },
                      { name: "rate_per_s", label: "Claims per second", type: "number", value: d.queue.rate_per_s === null ? "" : String(d.queue.rate_per_s), hint: "Empty: no limit." },
                      { name: "burst", label: "Burst", type: "number", value: d.queue.burst === null ? "" : String(d.queue.burst) },
                    ],
                  },
                ]}
              />
              <SqlButton sql={d.sql} took={d.took_ms} />
            </>
          )
        }
      />
      <Show of={detail} rows={8}>
        {(q) => (
          <>
            {!q.listed && <p class="callout">The list of queues has the first 200 that have settings or open tasks. Of this one only open tasks are counted; its limits are not shown.</p>}
            <dl class="strip">
              <div>
                <dt>Ready</dt>
                <dd>
                  <a href={hubLink(["tasks"], { queue })}>{count(q.queue.ready)}</a>
                </dd>
              </div>
              <div>
                <dt>Oldest ready</dt>
                <dd>{shortDuration(q.queue.oldest_ms)}</dd>
              </div>
              <div>
                <dt>Active</dt>
                <dd>
                  <a href={hubLink(["tasks"], { tab: "active", queue })}>{count(q.queue.active)}</a>
                  {q.queue.concurrency !== null && <span class="muted"> of {number(q.queue.concurrency)}</span>}
                </dd>
              </div>
              <div>
                <dt>Delayed</dt>
                <dd>
                  <a href={hubLink(["tasks"], { tab: "delayed", queue })}>{count(q.queue.delayed)}</a>
                </dd>
              </div>
              <div>
                <dt>Suspended</dt>
                <dd>
                  <a href={hubLink(["tasks"], { tab: "suspended", queue })}>{count(q.queue.suspended)}</a>
                </dd>
              </div>
              <div>
                <dt>Blocked</dt>
                <dd>
                  <a href={hubLink(["tasks"], { tab: "blocked", queue })}>{count(q.queue.blocked)}</a>
                </dd>
              </div>
              <div>
                <dt>Overdue leases</dt>
                <dd>
                  <a class={q.queue.overdue.n > 0 ? "warn-text" : ""} href={hubLink(["tasks"], { tab: "active", queue })}>{count(q.queue.overdue)}</a>
                </dd>
              </div>
              <div>
                <dt>Rate limit</dt>
                <dd>{q.queue.rate_per_s === null ? "none" : `${rate(q.queue.rate_per_s)}/s, burst ${number(q.queue.burst)}`}</dd>
              </div>
            </dl>
            <RangeTabs current={range} />
            <div class="grid-charts">
              {series.data && !series.data.done.some((n) => n !== null) && (
                <Chart
                  title="Ready"
                  t={series.data.t}
                  sql={series.data.sql}
                  unit={(n) => number(Math.round(n))}
                  lines={[{ label: "ready", color: "accent", values: series.data.depth }]}
                />
              )}
              {series.data?.done.some((n) => n !== null) && (
                <Chart
                  title="Per second"
                  t={series.data.t}
                  sql={series.data.sql}
                  unit={rate}
                  lines={[
                    { label: "in", color: "muted", values: series.data.in, dash: true },
                    { label: "done", color: "accent", values: series.data.done },
                    { label: "failed", color: "bad", values: series.data.failed },
                  ]}
                />
              )}
              {series.data?.wait && <LatencyPanel title="Wait before start" of={series.data.wait} sql={series.data.durations_sql} />}
              {series.data?.run && <LatencyPanel title="Run time" of={series.data.run} sql={series.data.durations_sql} />}
            </div>
            <Panel title="Next in claim order" flush tools={<SqlButton sql={next.data?.sql} />}>
              <Show of={next}>
                {(page) =>
                  page.rows.length === 0 ? (
                    <Empty title="Nothing waits" text="The next task that becomes ready is listed here." />
                  ) : (
                    <Table
                      caption="Next tasks in claim order"
                      rows={page.rows}
                      rowKey={(t) => t.task_id}
                      rowHref={(t) => hubLink(["tasks", t.task_id])}
                      columns={[
                        { key: "id", label: "Task", cell: (t) => <IdLink path={["h", name, "tasks", t.task_id]} id={t.task_id} length={22} /> },
                        { key: "kind", label: "Kind", cell: (t) => visible(t.kind) },
                        { key: "state", label: "State", cell: (t) => <State state={t.state} />, rank: 2 },
                        { key: "priority", label: "Priority", num: true, cell: (t) => number(t.priority) },
                        { key: "since", label: "Ready since", num: true, cell: (t) => <Ago ms={t.available_at_ms} /> },
                        { key: "attempt", label: "Attempt", num: true, rank: 3, cell: (t) => number(t.attempt_index) },
                      ]}
                    />
                  )
                }
              </Show>
            </Panel>
            {q.kinds.length > 0 && (
              <Panel title="Kinds" flush>
                  <Table
                    caption="Kinds of tasks"
                    rows={q.kinds}
                    rowKey={(k) => k.kind}
                    columns={[
                      { key: "kind", label: "Kind", cell: (k) => visible(k.kind) || <span class="muted">none</span> },
                      { key: "n", label: "Ended", num: true, cell: (k) => number(k.n) },
                      { key: "failed", label: "Failed", num: true, cell: (k) => `${((k.failed / Math.max(1, k.n)) * 100).toFixed(1)} %` },
                      { key: "wait", label: "Wait p95", num: true, rank: 2, cell: (k) => shortDuration(k.wait.p95) },
                      { key: "run", label: "Run p95", num: true, rank: 2, cell: (k) => shortDuration(k.run.p95) },
                    ]}
                  />
              </Panel>
            )}
            <Panel title="Owners of leases" flush>
              {q.owners.length === 0 ? <Empty title="No worker holds a lease" text="There is no registry of workers: an owner without a lease is not shown." /> : <OwnerTable rows={q.owners} />}
            </Panel>
          </>
        )}
      </Show>
    </>
  );
}

export function PolicyTable({ rows }: { rows: PolicyKey[] }) {
  return (
    <Table
      caption="Policy"
      rows={rows}
      rowKey={(p) => p.key}
      columns={[
        { key: "key", label: "Key", cell: (p) => <code>{p.key}</code> },
        { key: "value", label: "Value", cell: (p) => <code class="wrap">{visible(p.value)}</code>, wrap: true },
        { key: "from", label: "From", cell: (p) => <span class={p.from === "default" ? "muted" : "strong"}>{p.from}</span> },
      ]}
    />
  );
}
