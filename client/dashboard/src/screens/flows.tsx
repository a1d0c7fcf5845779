// Flows: graphs of tasks.
import type { FlowRow } from "../api";
import { Ago, Empty, IdLink, PageHead, Span, State, Tabs } from "../components/bits";
import { Filters, List, useList } from "../components/list";
import { number, visible } from "../format";
import { hub, hubLink, link, queryOf, route } from "../state";
import { stateWord } from "../words";
import { createdRange } from "./instances";

// Of flows with many members only "ended" and "open" are known.
const order = ["completed", "ended", "active", "open", "ready", "delayed", "suspended", "blocked", "failed", "expired", "cancelled", "skipped"];

/** Shares of the members' states, with the same in words. */
export function MemberBar({ counts, total }: { counts: Record<string, number>; total: number }) {
  let x = 0;
  const parts = order.filter((s) => (counts[s] ?? 0) > 0);
  const words = parts.map((s) => `${number(counts[s])} ${stateWord(s).word}`).join(", ");
  return (
    <svg class="member-bar" viewBox="0 0 120 10" width={120} height={10} role="img" aria-label={words} preserveAspectRatio="none">
      <title>{words}</title>
      <rect class="back" width={120} height={10} rx={2} />
      {parts.map((s) => {
        const w = ((counts[s] ?? 0) / Math.max(1, total)) * 120;
        const rect = <rect key={s} class={`${stateWord(s).tone} ${s}`} x={x} width={w} height={10} />;
        x += w;
        return rect;
      })}
    </svg>
  );
}

const tabs: [string, string][] = [
  ["running", "Running"],
  ["failed", "Failed"],
  ["ended", "Ended"],
  ["all", "All"],
];
const states: Record<string, string[] | null> = { running: ["open", "running"], failed: ["failed"], ended: ["completed", "failed", "cancelled"], all: null };

export function Flows() {
  const name = hub.value ?? "";
  const tab = states[queryOf("tab")] !== undefined ? queryOf("tab") : "running";
  const filter: Record<string, unknown> = {};
  if (queryOf("kind")) filter["kind"] = queryOf("kind");
  createdRange(filter);
  const filtered = Object.keys(filter).length > 0;
  const state = states[tab];
  if (state) filter["state"] = state;
  const list = useList<FlowRow>(["flows"], { filter }, (f) => f.flow_id);
  const query = Object.fromEntries(route.value.query);
  return (
    <>
      <PageHead title="Flows" />
      <Tabs label="Flows by state" tabs={tabs} current={tab} hrefOf={(t) => link(route.value.path, { ...query, tab: t === "running" ? null : t, after: null })} />
      <Filters
        fields={[
          { key: "kind", label: "Kind" },
          { key: "created_from", label: "Created from", type: "datetime-local" },
          { key: "created_to", label: "Created to", type: "datetime-local" },
        ]}
      />
      <section class="panel flush">
        <List
          list={list}
          caption={`Flows, ${tab}`}
          what="flow"
          filtered={filtered}
          idOf={(f) => f.flow_id}
          hrefOf={(f) => hubLink(["flows", f.flow_id])}
          empty={
            <Empty
              title={tab === "running" ? "No flow is running" : tab === "failed" ? "No flow has failed" : "No flows"}
              text="A flow is a directed acyclic graph of tasks."
              sql={`SELECT ${name}.create_flow('{"kind": "thumbnails", "tasks": [\n    {"key": "fetch", "queue": "io"},\n    {"key": "small", "queue": "img", "after": ["fetch"]}]}');`}
            />
          }
          columns={[
            { key: "id", label: "Flow", cell: (f) => <IdLink path={["h", name, "flows", f.flow_id]} id={f.flow_id} length={22} /> },
            { key: "kind", label: "Kind", cell: (f) => visible(f.kind), grow: true },
            { key: "state", label: "State", cell: (f) => <State state={f.state} /> },
            { key: "bar", label: "Members", rank: 2, cell: (f) => <MemberBar counts={f.counts} total={f.member_count} /> },
            { key: "members", label: "Ended", num: true, rank: 2, cell: (f) => `${number(f.member_count - f.open_count)} of ${number(f.member_count)}` },
            { key: "took", label: "Age", num: true, rank: 3, cell: (f) => <Span from={f.created_at_ms} to={f.terminal_at_ms} /> },
            { key: "created", label: "Created", num: true, rank: 2, cell: (f) => <Ago ms={f.created_at_ms} /> },
          ]}
        />
      </section>
    </>
  );
}
