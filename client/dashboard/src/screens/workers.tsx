// Owners of leases. There is no registry of workers.
import { hubPath, type Owner, type OwnerPage, type Page, type TaskRow, type WorkItem } from "../api";
import { Ago, Empty, IdLink, PageHead, Panel, Show, Span, SqlButton, Until } from "../components/bits";
import { Table } from "../components/table";
import { number, visible } from "../format";
import { useApi } from "../load";
import { hub, hubLink, queryOf, rights, setQuery } from "../state";

export function OwnerTable({ rows }: { rows: Owner[] }) {
  return (
    <Table
      caption="Owners of leases"
      rows={rows}
      rowKey={(o) => o.owner_id}
      rowHref={(o) => hubLink(["workers"], { owner: o.owner_id })}
      columns={[
        {
          key: "id",
          label: "Owner",
          cell: (o) => (
            <a class="id" href={hubLink(["workers"], { owner: o.owner_id })}>
              {visible(o.owner_id)}
            </a>
          ),
        },
        { key: "kinds", label: "Holds", rank: 2, cell: (o) => o.kinds.join(", ") },
        { key: "live", label: "Leases", num: true, cell: (o) => number(o.live) },
        { key: "overdue", label: "Overdue", num: true, cell: (o) => <span class={o.overdue > 0 ? "bad-text" : "muted"}>{number(o.overdue)}</span> },
        { key: "oldest", label: "Oldest", num: true, rank: 2, cell: (o) => <Span from={o.oldest_ms} to={null} /> },
        { key: "deadline", label: "Deadline", num: true, cell: (o) => <Until ms={o.next_deadline_ms} /> },
        { key: "queues", label: "Queues", rank: 3, grow: true, cell: (o) => <span class="ellipsis">{o.queues.map(visible).join(", ")}</span> },
      ]}
    />
  );
}

export function Workers() {
  const name = hub.value ?? "";
  const owner = queryOf("owner");
  const list = useApi<OwnerPage>(hubPath(name, ["owners"], { after: queryOf("after"), limit: 100 }), { every: 4000 });
  return (
    <>
      <PageHead title="Workers" tools={<SqlButton sql={list.data?.sql} took={list.data?.took_ms} />} />
      <p class="muted">There is no registry of workers: this lists the owners of leases by their ids, on each page those with overdue leases first. An owner without a lease is not shown.</p>
      <section class="panel flush" aria-label="Owners">
        <Show of={list}>
          {(page) => (
            <>
              {page.rows.length === 0 ? <Empty title="No owner holds a lease" text="A worker appears here while it holds one." sql={`SELECT * FROM ${name}.receive('mail', worker => 'worker-1');`} /> : <OwnerTable rows={page.rows} />}
              <div class="list-foot">
                <span class="muted">{page.complete ? `${number(page.rows.length)} owners` : `searched ${number(page.scanned)} leases; there may be more owners`}</span>
                {page.next !== null && (
                  <button type="button" class="button small" onClick={() => setQuery({ after: page.next })}>
                    Next page
                  </button>
                )}
              </div>
              {page.turns && <Turns turns={page.turns} />}
            </>
          )}
        </Show>
      </section>
      {owner !== "" && <Held owner={owner} />}
    </>
  );
}

function Turns({ turns }: { turns: NonNullable<OwnerPage["turns"]> }) {
  return (
    <p class="list-foot muted">
      <span>
        Turns of orchestrations name no owner: {number(turns.live)} leased
        {turns.oldest_ms !== null && (
          <>
            , the oldest for <Span from={turns.oldest_ms} to={null} />
          </>
        )}
        , <span class={turns.overdue > 0 ? "bad-text" : ""}>{number(turns.overdue)} overdue</span>
        {!turns.complete && "; there are more locks than were looked at"}.
      </span>
    </p>
  );
}

/** What an owner holds: tasks, and for operators work items. Sessions and slots have no list. */
function Held({ owner }: { owner: string }) {
  return (
    <>
      <HeldTasks owner={owner} />
      {rights.value?.levels.includes("operator") && <HeldItems owner={owner} />}
    </>
  );
}

function HeldItems({ owner }: { owner: string }) {
  const name = hub.value ?? "";
  const items = useApi<Page<WorkItem>>(hubPath(name, ["work-items"], { filter: { locked_by: owner, state: "leased" }, limit: 50 }), { every: 4000 });
  return (
    <Panel
      title={`Work items of ${visible(owner)}`}
      flush
      tools={
        <>
          <SqlButton sql={items.data?.sql} />
          <a class="button small" href={hubLink(["work-items"], { locked_by: owner })}>
            In the worker queue
          </a>
        </>
      }
    >
      <Show of={items}>
        {(page) =>
          page.rows.length === 0 ? (
            <Empty title={page.next === null ? "It holds no work item" : "None of the first work items is its own"} />
          ) : (
            <Table
              caption={`Work items of ${owner}`}
              rows={page.rows}
              rowKey={(w) => w.id}
              columns={[
                { key: "id", label: "Id", cell: (w) => <span class="mono">{w.id}</span> },
                { key: "name", label: "Activity", cell: (w) => visible(w.name ?? "–") },
                { key: "instance", label: "Instance", rank: 2, cell: (w) => (w.instance_id ? <IdLink path={["h", name, "instances", w.instance_id]} id={w.instance_id} length={30} /> : "–") },
                { key: "lease", label: "Lease", num: true, cell: (w) => <Until ms={w.locked_until_ms} /> },
              ]}
            />
          )
        }
      </Show>
    </Panel>
  );
}

function HeldTasks({ owner }: { owner: string }) {
  const name = hub.value ?? "";
  const tasks = useApi<Page<TaskRow>>(hubPath(name, ["tasks"], { filter: { worker: owner, state: ["active"] }, order: "lease", limit: 50 }), { every: 4000 });
  return (
    <Panel
      title={`Tasks of ${visible(owner)}`}
      flush
      tools={
        <>
          <SqlButton sql={tasks.data?.sql} />
          <button type="button" class="icon-button" aria-label="Close" onClick={() => setQuery({ owner: null })}>
            ✕
          </button>
        </>
      }
    >
      <Show of={tasks}>
        {(page) =>
          page.rows.length === 0 ? (
            <Empty title="It holds no task" text="It may hold work items, sessions or slots." />
          ) : (
            <Table
              caption={`Tasks of ${owner}`}
              rows={page.rows}
              rowKey={(t) => t.task_id}
              rowHref={(t) => hubLink(["tasks", t.task_id])}
              columns={[
                { key: "id", label: "Task", cell: (t) => <IdLink path={["h", name, "tasks", t.task_id]} id={t.task_id} length={24} /> },
                { key: "queue", label: "Queue", cell: (t) => visible(t.queue) },
                { key: "kind", label: "Kind", rank: 2, cell: (t) => visible(t.kind) },
                { key: "lease", label: "Lease", num: true, cell: (t) => <Until ms={t.lease_until_ms} /> },
                { key: "age", label: "Updated", num: true, rank: 2, cell: (t) => <Ago ms={t.updated_at_ms} /> },
              ]}
            />
          )
        }
      </Show>
    </Panel>
  );
}
