// Dead letters: what was set aside, in groups and rows.
import { useState } from "preact/hooks";
import { Actions, bulk, labelOf, mayBulk, toneOf } from "../actions";
import { hubPath, type DeadLetter } from "../api";
import { Ago, Empty, IdLink, PageHead, Panel, Time } from "../components/bits";
import { BodyView } from "../components/body";
import { Dialog } from "../components/dialog";
import { Filters, List, useList } from "../components/list";
import { Table } from "../components/table";
import { itemInput, number, plural, visible } from "../format";
import { glance, hub, link, queryOf, route } from "../state";

interface Group {
  queue: string;
  reason: string;
  name: string;
  n: number;
  newest: number;
}

export function DeadLetters() {
  const name = hub.value ?? "";
  const [open, setOpen] = useState<DeadLetter | null>(null);
  const filter: Record<string, unknown> = {};
  for (const key of ["queue", "reason", "name", "instance_id"]) if (queryOf(key)) filter[key] = queryOf(key);
  const list = useList<DeadLetter>(["dead-letters"], { filter }, (d) => d.id);
  const groups = new Map<string, Group>();
  for (const d of list.rows) {
    const key = `${d.queue}\n${d.reason}\n${d.name ?? ""}`;
    const g = groups.get(key) ?? { queue: d.queue, reason: d.reason, name: d.name ?? "", n: 0, newest: 0 };
    g.n++;
    g.newest = Math.max(g.newest, d.dead_at_ms);
    groups.set(key, g);
  }
  const rows = [...groups.values()].sort((a, b) => b.n - a.n);
  const allowed = mayBulk(["redrive_dead_letter", "discard_dead_letter"]);
  const total = glance.value?.dead_letters.reduce((n, d) => n + d.count.n, 0) ?? null;
  // A filter cannot ask for letters without a name: such a group has neither link nor actions.
  const filterOf = (g: Group): Record<string, unknown> => ({ ...filter, queue: g.queue, reason: g.reason, name: g.name });
  return (
    <>
      <PageHead title="Dead letters" />
      <Filters
        fields={[
          { key: "queue", label: "Queue", options: [["worker", "worker"], ["orchestrator", "orchestrator"], ["intent", "intent"]] },
          { key: "reason", label: "Reason", options: [["max_attempts", "max_attempts"], ["orphan", "orphan"], ["undeliverable", "undeliverable"]] },
          { key: "name", label: "Name" },
          { key: "instance_id", label: "Instance" },
        ]}
      />
      {rows.length > 0 && (
        <Panel title="Groups" flush tools={<span class="muted small">of the {plural(list.rows.length, "letter")} below{total !== null && total > list.rows.length ? `; ${number(total)} in all` : ""}</span>}>
          <Table
            caption="Groups of dead letters"
            rows={rows}
            rowKey={(g) => `${g.queue} ${g.reason} ${g.name}`}
            columns={[
              {
                key: "name",
                label: "Name",
                grow: true,
                cell: (g) => (g.name === "" ? <span class="muted">no name</span> : <a href={link(route.value.path, filterOf(g) as Record<string, string>)}>{visible(g.name)}</a>),
              },
              { key: "queue", label: "Queue", rank: 2, cell: (g) => g.queue },
              { key: "reason", label: "Reason", cell: (g) => <code>{visible(g.reason)}</code>, rank: 2 },
              { key: "n", label: "Letters", num: true, cell: (g) => number(g.n) },
              { key: "newest", label: "Newest", num: true, rank: 2, cell: (g) => <Ago ms={g.newest} /> },
              ...(allowed.length > 0
                ? [
                    {
                      key: "actions",
                      label: "Whole group",
                      cell: (g: Group) => g.name !== "" && (
                        <div class="actions">
                          {allowed.map((a) => (
                            <button key={a} type="button" class={`button small ${toneOf(a)}`} onClick={() => bulk({ action: a, ids: null, filter: filterOf(g), upto: list.resource.data?.upto ?? null, what: "dead letter" })}>
                              {labelOf(a)}
                            </button>
                          ))}
                        </div>
                      ),
                    },
                  ]
                : []),
            ]}
          />
        </Panel>
      )}
      <section class="panel flush" aria-label="Dead letters">
        <List
          list={list}
          caption="Dead letters"
          what="dead letter"
          filter={filter}
          filtered={Object.keys(filter).length > 0}
          idOf={(d) => d.id}
          bulkActions={["redrive_dead_letter", "discard_dead_letter"]}
          empty={<Empty title="No dead letters" text="Items that used up max_attempts, messages without an instance and intents that cannot be delivered are set aside here." />}
          columns={[
            { key: "id", label: "Id", cell: (d) => <button type="button" class="linkish id" onClick={() => setOpen(d)}>{d.id}</button> },
            { key: "name", label: "Name", cell: (d) => visible(d.name ?? "–") },
            { key: "instance", label: "Instance", rank: 2, cell: (d) => (d.instance_id ? <IdLink path={["h", name, "instances", d.instance_id]} id={d.instance_id} length={22} /> : "–") },
            { key: "reason", label: "Reason", rank: 2, cell: (d) => <code>{visible(d.reason)}</code> },
            { key: "attempts", label: "Attempts", num: true, rank: 3, cell: (d) => number(d.attempt_count) },
            { key: "preview", label: "Input", rank: 3, grow: true, cell: (d) => <code class="preview">{visible(itemInput(d.preview))}</code> },
            { key: "dead", label: "Dead since", num: true, cell: (d) => <Ago ms={d.dead_at_ms} /> },
          ]}
        />
      </section>
      {open && (
        <Dialog title={`Dead letter ${open.id}`} onClose={() => setOpen(null)} wide>
          <div class="dialog-body">
            <dl class="facts">
              <dt>Queue</dt>
              <dd>{open.queue}</dd>
              <dt>Reason</dt>
              <dd>
                {visible(open.reason)} {open.detail ? `(${visible(open.detail)})` : ""}
              </dd>
              <dt>Attempts</dt>
              <dd>{number(open.attempt_count)}</dd>
              <dt>Enqueued</dt>
              <dd>
                <Time ms={open.enqueued_at_ms} both />
              </dd>
              <dt>Dead since</dt>
              <dd>
                <Time ms={open.dead_at_ms} both />
              </dd>
            </dl>
            <BodyView body={{ text: open.preview, bytes: open.bytes }} path={hubPath(name, ["dead-letters", open.id, "body", "work_item"])} label="Body" />
          </div>
          <div class="dialog-foot">
            <Actions
              calls={[
                { action: "redrive_dead_letter", args: { id: open.id }, target: open.id, onDone: () => { setOpen(null); list.resource.reload(); } },
                { action: "discard_dead_letter", args: { id: open.id }, target: open.id, onDone: () => { setOpen(null); list.resource.reload(); } },
              ]}
            />
          </div>
        </Dialog>
      )}
    </>
  );
}
