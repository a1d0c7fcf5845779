// The worker queue: activities that wait or run. Level operator.
import { useState } from "preact/hooks";
import { hubPath, type Explanation, type WorkItem } from "../api";
import { Ago, Empty, IdLink, PageHead, Show, State, Until } from "../components/bits";
import { BodyView } from "../components/body";
import { Dialog } from "../components/dialog";
import { Filters, List, useList } from "../components/list";
import { Reasons } from "../components/reasons";
import { number, visible } from "../format";
import { useApi } from "../load";
import { hub, queryOf } from "../state";
import { explainWorkItem } from "../words";

export function WorkItems() {
  const name = hub.value ?? "";
  const [open, setOpen] = useState<WorkItem | null>(null);
  const filter: Record<string, unknown> = {};
  for (const key of ["state", "name", "instance_id", "tag", "locked_by"]) if (queryOf(key)) filter[key] = queryOf(key);
  const list = useList<WorkItem>(["work-items"], { filter }, (w) => w.id);
  return (
    <>
      <PageHead title="Worker queue" sub={<span class="muted">activities of orchestrations</span>} />
      <Filters
        fields={[
          { key: "state", label: "State", options: [["ready", "ready"], ["delayed", "delayed"], ["leased", "leased"]] },
          { key: "name", label: "Activity" },
          { key: "instance_id", label: "Instance" },
          { key: "tag", label: "Tag" },
          { key: "locked_by", label: "Owner" },
        ]}
      />
      <section class="panel flush">
        <List
          list={list}
          caption="Work items"
          what="work item"
          filtered={Object.keys(filter).length > 0}
          idOf={(w) => w.id}
          empty={<Empty title="No work items" text="Activities that orchestrations schedule wait here." sql={`SELECT ${name}.start('Bill', '{"order": 7}');`} />}
          columns={[
            { key: "id", label: "Id", cell: (w) => <button type="button" class="linkish id" onClick={() => setOpen(w)}>{w.id}</button> },
            { key: "state", label: "State", cell: (w) => <State state={w.state} /> },
            { key: "name", label: "Activity", cell: (w) => visible(w.name ?? "–"), grow: true },
            { key: "instance", label: "Instance", rank: 2, cell: (w) => (w.instance_id ? <IdLink path={["h", name, "instances", w.instance_id]} id={w.instance_id} length={24} /> : "–") },
            { key: "owner", label: "Owner", rank: 2, cell: (w) => visible(w.locked_by ?? "–") },
            { key: "until", label: "Lease", num: true, rank: 3, cell: (w) => <Until ms={w.locked_until_ms} /> },
            { key: "attempts", label: "Attempts", num: true, rank: 3, cell: (w) => number(w.attempt_count) },
            { key: "age", label: "Enqueued", num: true, cell: (w) => <Ago ms={w.created_at_ms} /> },
          ]}
        />
      </section>
      {open && <WorkItemDialog item={open} onClose={() => setOpen(null)} />}
    </>
  );
}

function WorkItemDialog({ item, onClose }: { item: WorkItem; onClose: () => void }) {
  const name = hub.value ?? "";
  const why = useApi<Explanation>(hubPath(name, ["work-items", item.id, "explain"]));
  return (
    <Dialog title={`Work item ${item.id}`} onClose={onClose} wide>
      <div class="dialog-body">
        <h3>Why is it not being fetched?</h3>
        <Show of={why}>{(e) => <Reasons rows={e.rows.map((r) => explainWorkItem(r, { hub: name }))} sql={e.sql} />}</Show>
        <h3>Item</h3>
        <BodyView body={{ text: item.preview, bytes: item.bytes }} path={hubPath(name, ["work-items", item.id, "body", "work_item"])} label="Work item" />
      </div>
    </Dialog>
  );
}
