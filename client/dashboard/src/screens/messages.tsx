// The orchestrator queue: messages to instances. Level operator.
import { useState } from "preact/hooks";
import type { Message } from "../api";
import { Ago, Empty, IdLink, PageHead } from "../components/bits";
import { Dialog } from "../components/dialog";
import { Filters, List, useList } from "../components/list";
import { bytes, number, visible, visibleLines } from "../format";
import { hub, queryOf } from "../state";

export function MessageList({ instance }: { instance?: string }) {
  const name = hub.value ?? "";
  const [open, setOpen] = useState<Message | null>(null);
  const filter: Record<string, unknown> = {};
  if (instance !== undefined) filter["instance_id"] = instance;
  else if (queryOf("instance_id")) filter["instance_id"] = queryOf("instance_id");
  if (queryOf("name")) filter["name"] = queryOf("name");
  const list = useList<Message>(["messages"], { filter }, (m) => m.id);
  return (
    <section class="panel flush">
      <List
        list={list}
        caption="Messages"
        what="message"
        filtered={instance === undefined && Object.keys(filter).length > 0}
        idOf={(m) => m.id}
        empty={<Empty title="No messages wait" text="Starts, timers, events and results for instances wait here until their turn." sql={`SELECT ${name}.raise('order-7', 'paid', '{"by": "card"}');`} />}
        columns={[
          { key: "id", label: "Id", cell: (m) => <button type="button" class="linkish id" onClick={() => setOpen(m)}>{m.id}</button> },
          { key: "kind", label: "Message", cell: (m) => visible(m.kind) },
          { key: "name", label: "Name", cell: (m) => visible(m.name ?? "–") },
          ...(instance === undefined ? [{ key: "instance", label: "Instance", cell: (m: Message) => <IdLink path={["h", name, "instances", m.instance_id]} id={m.instance_id} length={26} /> }] : []),
          { key: "preview", label: "Body", rank: 3 as const, grow: true, cell: (m) => <code class="preview">{visible(m.preview)}</code> },
          { key: "bytes", label: "Size", num: true, rank: 3 as const, cell: (m) => bytes(m.bytes) },
          { key: "attempts", label: "Turns", num: true, rank: 2 as const, cell: (m) => number(m.attempt_count) },
          { key: "visible", label: "Visible", num: true, cell: (m) => <Ago ms={m.visible_at_ms} /> },
        ]}
      />
      {open && (
        <Dialog title={`Message ${open.id}`} onClose={() => setOpen(null)} wide>
          <div class="dialog-body">
            <pre class="text" tabIndex={0} aria-label="Body">
              {visibleLines(open.preview)}
            </pre>
            {new TextEncoder().encode(open.preview).length < open.bytes && <p class="muted">The beginning of {bytes(open.bytes)}. A message has no id by which the server could find the rest.</p>}
          </div>
        </Dialog>
      )}
    </section>
  );
}

export function Messages() {
  return (
    <>
      <PageHead title="Orchestrator queue" sub={<span class="muted">messages to instances</span>} />
      <Filters fields={[{ key: "instance_id", label: "Instance" }, { key: "name", label: "Name" }]} />
      <MessageList />
    </>
  );
}
