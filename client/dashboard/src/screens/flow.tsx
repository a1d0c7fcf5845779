// One flow as a graph, or as a list.
import { useMemo, useState } from "preact/hooks";
import { Actions } from "../actions";
import { hubPath, type Explanation, type Flow as FlowAnswer, type FlowMember } from "../api";
import { Empty, PageHead, Panel, Show, Span, SqlButton, State } from "../components/bits";
import { Graph, nodeText } from "../components/graph";
import { Reasons } from "../components/reasons";
import { Table } from "../components/table";
import { flowGraph, inOrder, mostDrawn, toDot, toLines } from "../flow_graph";
import { number, plural, visible } from "../format";
import { useApi } from "../load";
import { hub, hubLink, queryOf, setQuery } from "../state";
import { serverNow } from "../time";
import { explainClaim } from "../words";
import { Gone } from "./events";
import { MemberBar } from "./flows";

/** Gives the browser a file. */
function save(fileName: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  const a = document.createElement("a");
  a.href = url;
  a.download = fileName;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function Flow({ id }: { id: string }) {
  const name = hub.value ?? "";
  const flow = useApi<FlowAnswer>(hubPath(name, ["flows", id]), { watch: `flow:${id}` });
  const f = flow.data;
  const selected = queryOf("task") || null;
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const graph = useMemo(() => (f ? flowGraph(f.members, f.edges, opened) : null), [f, opened]);
  const drawable = graph !== null && graph.nodes.length <= mostDrawn.nodes && graph.edges.length <= mostDrawn.edges;
  const asList = queryOf("view") === "list" || !drawable;
  const member = f?.members.find((m) => m.task_id === selected) ?? null;
  const foldAll = (
    <>
      {" "}
      <button type="button" class="button small" onClick={() => setOpened(new Set())}>
        Fold all
      </button>
    </>
  );
  const open = f !== null && f.terminal_at_ms === null;
  const file = id.replace(/[^\w-]/g, "_").slice(0, 60);
  return (
    <>
      <PageHead
        title={
          <>
            <a href={hubLink(["flows"])}>Flows</a> <span class="muted">/</span> <span class="breakable mono-title">{visible(id)}</span>
          </>
        }
        sub={
          f && (
            <>
              <State state={f.state} />
              <span>{visible(f.kind)}</span>
              <span>
                {number(f.member_count - f.open_count)} of {number(f.member_count)} ended
              </span>
              <MemberBar counts={f.counts} total={f.member_count} />
              <span class="muted">
                <Span from={f.created_at_ms} to={f.terminal_at_ms} />
              </span>
              {!f.sealed && <span class="chip">not sealed</span>}
            </>
          )
        }
        tools={
          f && (
            <>
              <Actions
                menu
                calls={[
                  open
                    ? {
                        action: "cancel_flow",
                        args: { flow_id: id },
                        target: id,
                        onDone: flow.reload,
                        fields: [
                          {
                            name: "policy",
                            label: "What happens to its members",
                            type: "select",
                            value: "cancel_all",
                            options: [
                              ["cancel_all", "cancel all that have not ended"],
                              ["cancel_pending", "cancel those without a lease"],
                              ["flow_only", "leave them"],
                            ],
                          },
                        ],
                      }
                    : { action: "delete_flow", args: { flow_id: id }, target: id, onDone: flow.reload },
                ]}
              />
              {drawable && (
                <button type="button" class="button" aria-pressed={asList} onClick={() => setQuery({ view: asList ? null : "list" })}>
                  {asList ? "As graph" : "As list"}
                </button>
              )}
              <button type="button" class="button" onClick={() => graph && save(`flow-${file}.dot`, toDot(graph))}>
                DOT
              </button>
              {drawable && (
                <button
                  type="button"
                  class="button"
                  onClick={() => {
                    const texts = new Map(graph.nodes.map((n) => [n.id, nodeText(n, serverNow())]));
                    void import("../layout").then(({ layOut, toSvg }) => save(`flow-${file}.svg`, toSvg(layOut(graph, 184, 44), graph, 184, 44, (n) => texts.get(n) ?? "")));
                  }}
                >
                  SVG
                </button>
              )}
              <button type="button" class="button" onClick={() => save(`flow-${file}.jsonl`, toLines(f.members, f.edges))}>
                JSON lines
              </button>
              <SqlButton sql={f.sql} took={f.took_ms} />
            </>
          )
        }
      />
      <Show of={flow} rows={8} gone={<Gone id={id} />}>
        {(now) => (
          <>
            {now.cancel_reason !== null && <p class="callout warn">Cancelled: {visible(now.cancel_reason)}</p>}
            {now.truncated && (
              <p class="callout warn">
                The flow has {plural(now.member_count, "member")} and {plural(now.edge_count, "edge")}; the page has {number(now.members.length)} and {number(now.edges.length)} of them.
              </p>
            )}
            {graph && !drawable && (
              <p class="callout">
                {plural(graph.nodes.length, "node")} and {plural(graph.edges.length, "edge")} are too many to draw, so the members are listed.
                {opened.size > 0 && foldAll}
              </p>
            )}
            {now.members.length === 0 ? (
              <Empty title="The flow has no members yet" text="It can grow until it is sealed." sql={`SELECT ${name}.add_task_to_flow('${id.replace(/'/g, "''")}', '{"key": "first", "queue": "io"}');`} />
            ) : asList ? (
              <section class="panel flush">
                <Members flow={now} />
              </section>
            ) : (
              <div class={`split flow-split ${member ? "open" : ""}`}>
                <section class="panel flush" aria-label="Graph">
                  {graph && (
                    <>
                      <Graph graph={graph} groups={now.groups} selected={selected} onSelect={(task) => setQuery({ task }, true)} onOpen={(group) => setOpened(new Set([...opened, group]))} />
                      {(graph.nodes.length < now.members.length || opened.size > 0) && (
                        <p class="muted pad">
                          {plural(now.members.length, "member")}, {plural(graph.nodes.length, "node")}: members with like neighbours and the same queue are folded. A click opens a group.
                          {opened.size > 0 && foldAll}
                        </p>
                      )}
                    </>
                  )}
                </section>
                {member && <MemberPanel member={member} flow={now} />}
              </div>
            )}
            {!asList && now.members.length > 0 && now.members.length <= fewMembers && (
              <Panel title="Members" flush>
                <Members flow={now} />
              </Panel>
            )}
          </>
        )}
      </Show>
    </>
  );
}

const fewMembers = 50; // so many are listed below their picture

function MemberPanel({ member, flow }: { member: FlowMember; flow: FlowAnswer }) {
  const name = hub.value ?? "";
  const why = useApi<Explanation>(member.terminal_at_ms === null ? hubPath(name, ["tasks", member.task_id, "explain"]) : null);
  const group = flow.groups.find((g) => g.task_id === member.task_id);
  return (
    <Panel
      title={visible(member.key)}
      tools={
        <button type="button" class="icon-button" aria-label="Close the member" onClick={() => setQuery({ task: null }, true)}>
          ✕
        </button>
      }
    >
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <State state={member.state} />
        </dd>
        <dt>Queue</dt>
        <dd>
          <a href={hubLink(["queues", member.queue])}>{visible(member.queue)}</a>
        </dd>
        <dt>Attempt</dt>
        <dd>{number(member.attempt_index)}</dd>
        {member.worker && (
          <>
            <dt>Worker</dt>
            <dd>{visible(member.worker)}</dd>
          </>
        )}
        <dt>Time</dt>
        <dd>{member.started_at_ms === null ? <span class="muted">not started</span> : <Span from={member.started_at_ms} to={member.terminal_at_ms} />}</dd>
        {member.failure_class && (
          <>
            <dt>Failure</dt>
            <dd class="bad-text">{visible(member.failure_class)}</dd>
          </>
        )}
        {group && (
          <>
            <dt>Join</dt>
            <dd>
              {group.kind === "quorum" ? `${group.k} of ${group.total}` : group.kind.replace("_", " ")}, {group.satisfied} satisfied
            </dd>
          </>
        )}
      </dl>
      {member.terminal_at_ms === null && (
        <>
          <h3>Why not running?</h3>
          <Show of={why} rows={1}>
            {(e) => <Reasons rows={e.rows.map((r) => explainClaim(r, { hub: name, queue: member.queue }))} />}
          </Show>
        </>
      )}
      <p>
        <a class="button" href={hubLink(["tasks", member.task_id])}>
          Open task
        </a>
      </p>
    </Panel>
  );
}

function Members({ flow }: { flow: FlowAnswer }) {
  const rows = useMemo(() => inOrder(flow.members, flow.edges), [flow.members, flow.edges]);
  const keys = useMemo(() => new Map(rows.map((m) => [m.task_id, m.key])), [rows]);
  const before = useMemo(() => {
    const map = new Map<string, string[]>();
    for (const e of flow.edges) (map.get(e.downstream_id) ?? map.set(e.downstream_id, []).get(e.downstream_id)!).push(keys.get(e.upstream_id) ?? e.upstream_id);
    return map;
  }, [flow.edges, keys]);
  const [limit, setLimit] = useState(200);
  return (
    <>
      <Table
        caption="Members of the flow"
        rows={rows.slice(0, limit)}
        rowKey={(m) => m.task_id}
        rowHref={(m) => hubLink(["tasks", m.task_id])}
        columns={[
          { key: "key", label: "Member", grow: true, cell: (m) => <a href={hubLink(["tasks", m.task_id])}>{visible(m.key)}</a> },
          { key: "state", label: "State", cell: (m) => <State state={m.state} /> },
          { key: "queue", label: "Queue", rank: 2, cell: (m) => visible(m.queue) },
          { key: "after", label: "After", rank: 2, cell: (m) => <span class="ellipsis">{(before.get(m.task_id) ?? []).slice(0, 6).map(visible).join(", ")}</span> },
          { key: "attempt", label: "Attempt", num: true, rank: 3, cell: (m) => number(m.attempt_index) },
          { key: "took", label: "Took", num: true, cell: (m) => <Span from={m.started_at_ms} to={m.terminal_at_ms ?? (m.started_at_ms === null ? 0 : null)} /> },
        ]}
      />
      {rows.length > limit && (
        <p class="pad">
          <button type="button" class="button small" onClick={() => setLimit(limit + 500)}>
            Show 500 more of {number(rows.length)}
          </button>
        </p>
      )}
    </>
  );
}
