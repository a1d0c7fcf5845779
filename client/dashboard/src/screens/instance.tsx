// One orchestration: what it waits for, its timeline, events, state, tree, messages and audit.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Actions } from "../actions";
import { ApiError, get, hubPath, type Answer, type HistoryEvent, type Instance as InstanceAnswer, type KeyValue, type Page, type TreeNode } from "../api";
import { Empty, ErrorView, IdLink, Loading, PageHead, Panel, Show, Span, SqlButton, State, Tabs, Time } from "../components/bits";
import { BodyView } from "../components/body";
import { download } from "../components/list";
import { Reasons } from "../components/reasons";
import { Timeline } from "../components/timeline";
import { Table } from "../components/table";
import { Virtual } from "../components/virtual";
import { bytes, number, visible } from "../format";
import { useApi } from "../load";
import { hub, hubLink, link, queryOf, route, setQuery, zone } from "../state";
import { clock } from "../time";
import { bars, turns } from "../timeline";
import { awaitedActivity, explainFetch } from "../words";
import { Audit, Gone } from "./events";
import { MessageList } from "./messages";

interface History {
  events: HistoryEvent[];
  complete: boolean;
  error: ApiError | null;
  sql: string;
  path: string;
  /** Reads the next page of a history that is read newest first. */
  older: (() => void) | null;
}

/**
 * The history of an execution. Oldest first: all of it, page by page; goes on behind the last event when `version` changes.
 * Newest first: a page, and older ones when they are asked for.
 */
function useHistory(instance: string, execution: number | null, version: number, newest: boolean): History {
  const name = hub.value ?? "";
  const key = `${instance} ${execution} ${newest}`;
  const state = useRef<{ key: string; events: HistoryEvent[]; after: string | null; sql: string; path: string }>({ key: "", events: [], after: null, sql: "", path: "" });
  const [shown, setShown] = useState<{ complete: boolean; error: ApiError | null; n: number }>({ complete: false, error: null, n: 0 });
  useEffect(() => {
    if (execution === null) return;
    const controller = new AbortController();
    if (state.current.key !== key) state.current = { key, events: [], after: null, sql: "", path: "" };
    const runNewest = async (): Promise<void> => {
      const page = await get<Page<HistoryEvent>>(hubPath(name, ["instances", instance, "history"], { execution, order: "newest", limit: 500 }), controller.signal);
      const old = state.current;
      const first = old.events[0]?.event_id;
      const meets = first === undefined ? -1 : page.rows.findIndex((e) => e.event_id === first);
      // What came since is put in front; more than a page of it replaces what is there.
      const whole = meets < 0;
      state.current = {
        key,
        events: whole ? page.rows : [...page.rows.slice(0, meets), ...old.events],
        after: whole ? page.next : old.after,
        sql: page.sql,
        path: hubPath(name, ["instances", instance, "history"], { execution }),
      };
      setShown({ complete: state.current.after === null, error: null, n: state.current.events.length });
    };
    const run = async (): Promise<void> => {
      if (newest) return runNewest();
      const known = new Set(state.current.events.map((e) => e.event_id));
      for (;;) {
        const path = hubPath(name, ["instances", instance, "history"], { execution, order: "oldest", after: state.current.after, limit: 5000 });
        const page = await get<Page<HistoryEvent>>(path, controller.signal);
        const fresh = page.rows.filter((e) => !known.has(e.event_id));
        for (const e of fresh) known.add(e.event_id);
        state.current = {
          key,
          events: fresh.length > 0 ? [...state.current.events, ...fresh] : state.current.events,
          after: page.next ?? state.current.after,
          sql: page.sql,
          path: hubPath(name, ["instances", instance, "history"], { execution }),
        };
        setShown({ complete: page.next === null, error: null, n: state.current.events.length });
        if (page.next === null) return;
      }
    };
    run().catch((error: unknown) => {
      if (controller.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      setShown((s) => ({ ...s, error }));
    });
    return () => controller.abort();
  }, [key, version]);
  const older = (): void => {
    const from = state.current;
    get<Page<HistoryEvent>>(hubPath(name, ["instances", instance, "history"], { execution, order: "newest", after: from.after, limit: 1000 })).then(
      (page) => {
        if (state.current.key !== key || state.current.after !== from.after) return;
        state.current = { ...state.current, events: [...state.current.events, ...page.rows], after: page.next };
        setShown({ complete: page.next === null, error: null, n: state.current.events.length });
      },
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        setShown((s) => ({ ...s, error }));
      },
    );
  };
  return { older: newest && !shown.complete ? older : null, events: state.current.key === key ? state.current.events : [], complete: shown.complete, error: shown.error, sql: state.current.sql, path: state.current.path };
}

const tabs: [string, string][] = [
  ["timeline", "Timeline"],
  ["events", "Events"],
  ["state", "State"],
  ["tree", "Tree"],
  ["messages", "Messages"],
  ["audit", "Audit"],
];

export function Instance({ id }: { id: string }) {
  const name = hub.value ?? "";
  const instance = useApi<InstanceAnswer>(hubPath(name, ["instances", id]), { watch: `instance:${id}` });
  const i = instance.data;
  const chosen = queryOf("execution") !== "" ? Number(queryOf("execution")) : (i?.execution ?? null);
  const execution = i?.executions.find((e) => e.execution === chosen) ?? null;
  const tab = queryOf("tab") || "timeline";
  const loaded = useHistory(id, chosen, i?.updated_at_ms ?? 0, tab === "events" && queryOf("order") === "newest");
  // An instance that no dispatcher has picked up has no execution, and nothing to load.
  const history = i && chosen === null ? { ...loaded, complete: true, older: null } : loaded;
  const query = Object.fromEntries(route.value.query);
  const attempts = useMemo(() => {
    const found = (i?.waits ?? []).map((w) => (w.reason === "activity" && chosen === i?.execution ? awaitedActivity(String(w.detail?.["text"] ?? "")) : null));
    return new Map(found.flatMap((a) => (a ? [[a.id, a.attempt] as const] : [])));
  }, [i?.waits, chosen]);
  const rows = useMemo(() => bars(history.events, execution?.ended_at_ms ?? null), [history.events, execution?.ended_at_ms]);
  return (
    <>
      <PageHead
        title={
          <>
            <a href={hubLink(["instances"])}>Orchestrations</a> <span class="muted">/</span> <span class="breakable">{visible(id)}</span>
          </>
        }
        sub={
          i && (
            <>
              <State state={i.status} />
              <span>
                {visible(i.name)} <span class="muted">{visible(i.version)}</span>
              </span>
              <span class="muted">
                <Span from={i.created_at_ms} to={i.status === "Running" ? null : i.updated_at_ms} />
              </span>
              {i.parent_id !== null && (
                <span>
                  child of <IdLink path={["h", name, "instances", i.parent_id]} id={i.parent_id} length={28} />
                </span>
              )}
              {i.executions.length > 1 && (
                <label class="inline">
                  <span class="muted">execution</span>
                  <select value={String(chosen)} onChange={(e) => setQuery({ execution: Number(e.currentTarget.value) === i.execution ? null : e.currentTarget.value, event: null, from: null, to: null })}>
                    {[...i.executions].reverse().map((x) => (
                      <option key={x.execution} value={x.execution}>
                        {x.execution} of {i.executions.length}
                      </option>
                    ))}
                  </select>
                </label>
              )}
            </>
          )
        }
        tools={
          i && (
            <>
              <Actions
                menu
                calls={[
                  i.status === "Running"
                    ? {
                        action: "raise_event",
                        args: { instance_id: id },
                        target: id,
                        onDone: instance.reload,
                        fields: [
                          { name: "event", label: "Event", type: "text", value: "" },
                          { name: "data", label: "Data (JSON)", type: "json", value: "null" },
                        ],
                      }
                    : null,
                  i.status === "Running" ? { action: "cancel_instance", args: { instance_id: id }, target: id, onDone: instance.reload } : null,
                  i.executions.length > 1 ? { action: "prune_executions", args: { instance_id: id }, target: id, onDone: instance.reload, fields: [{ name: "keep_last", label: "Executions to keep", type: "number", value: "1" }] } : null,
                  { action: "delete_instance", args: { instance_id: id }, target: id, onDone: instance.reload, fields: [{ name: "force", label: "also while it runs", type: "checkbox", value: "false" }] },
                ]}
              />
              <SqlButton sql={i.sql} took={i.took_ms} />
            </>
          )
        }
      />
      <Show of={instance} rows={8} gone={<Gone id={id} />}>
        {(now) => (
          <>
            {now.waits.length > 0 && (
              <section class="why" aria-label="Waits for">
                <h2 class="eyebrow">Waits for</h2>
                <Reasons rows={now.waits.map((r) => explainFetch(r, { hub: name }))} sql={now.waits_sql} />
              </section>
            )}
            <Tabs label="Parts of the instance" tabs={tabs} current={tab} hrefOf={(t) => link(route.value.path, { ...query, tab: t === "timeline" ? null : t, after: null })} />
            {history.error && (tab === "timeline" || tab === "events") && <ErrorView error={history.error} retry={instance.reload} />}
            {tab === "timeline" && (
              <section class="panel flush" aria-label="Timeline">
                {history.events.length === 0 ? history.complete ? <Empty title="No events" text="The history of this execution is empty." /> : <Loading rows={6} /> : <Timeline bars={rows} turns={turns(history.events)} attempts={attempts} end={execution?.ended_at_ms ?? null} selected={queryOf("event") || null} />}
                <HistoryFoot history={history} total={execution?.events ?? null} />
              </section>
            )}
            {tab === "events" && <Events id={id} execution={chosen ?? 1} history={history} total={execution?.events ?? null} />}
            {tab === "state" && <StateTab id={id} instance={now} />}
            {tab === "tree" && <Tree id={id} />}
            {tab === "messages" && <MessageList instance={id} />}
            {tab === "audit" && <Audit subject={id} />}
          </>
        )}
      </Show>
    </>
  );
}

function HistoryFoot({ history, total }: { history: History; total: number | null }) {
  return (
    <div class="list-foot">
      <span class="muted">
        {number(history.events.length)}
        {total !== null ? ` of ${number(total)}` : ""} events{history.complete || history.older ? "" : ", loading …"}
      </span>
      <span class="tools">
        {history.older && (
          <button type="button" class="button small" onClick={history.older}>
            Show older
          </button>
        )}
        <SqlButton sql={history.sql} />
        <a class="button small" href={download(history.path)} download>
          Download
        </a>
      </span>
    </div>
  );
}

function Events({ id, execution, history, total }: { id: string; execution: number; history: History; total: number | null }) {
  const name = hub.value ?? "";
  const newest = queryOf("order") === "newest";
  const selected = queryOf("event");
  const events = history.events;
  const at = events.findIndex((e) => e.event_id === selected);
  const event = at >= 0 ? events[at]! : null;
  const [jump, setJump] = useState("");
  return (
    <section class="panel flush" aria-label="Events">
      <div class="bar-tools">
        <button type="button" class="button small" onClick={() => setQuery({ order: newest ? null : "newest" })}>
          {newest ? "Newest first" : "Oldest first"}
        </button>
        <form
          class="inline"
          onSubmit={(e) => {
            e.preventDefault();
            setQuery({ event: jump });
          }}
        >
          <label class="inline">
            <span class="muted">Jump to event</span>
            <input class="short" type="text" inputMode="numeric" value={jump} onInput={(e) => setJump(e.currentTarget.value)} />
          </label>
          <button type="submit" class="button small">
            Go
          </button>
        </form>
      </div>
      <div class={`split ${event ? "open" : ""}`}>
        <Virtual
          rows={events.length}
          rowHeight={30}
          role="list"
          label="Events of the history"
          className="event-rows"
          jump={at >= 0 ? at : null}
          draw={(view) =>
            events.slice(view.first, view.last).map((e) => (
              <div role="listitem" key={e.event_id}>
                <button type="button" class={`event-row ${e.event_id === selected ? "selected" : ""}`} aria-pressed={e.event_id === selected} onClick={() => setQuery({ event: e.event_id === selected ? null : e.event_id }, true)}>
                  <span class="mono muted nr">{e.event_id}</span>
                  <span class="mono muted when">{clock(e.at_ms, zone.value)}</span>
                  <span class="type">{visible(e.type)}</span>
                  <span class="ellipsis">
                    {visible(e.name ?? "")}
                    {e.source_event_id !== null && <span class="muted"> of #{e.source_event_id}</span>}
                  </span>
                </button>
              </div>
            ))
          }
        />
        {event && (
          <div class="split-detail">
            <div class="split-head">
              <h3>
                #{event.event_id} {visible(event.type)}
              </h3>
              <button type="button" class="icon-button" aria-label="Close the event" onClick={() => setQuery({ event: null }, true)}>
                ✕
              </button>
            </div>
            <p>
              <Time ms={event.at_ms} both />
            </p>
            <BodyView
              key={event.event_id}
              body={{ text: event.preview, bytes: event.bytes }}
              path={hubPath(name, ["instances", id, "body", `${execution}.${event.event_id}`])}
              label={`Event ${event.event_id}`}
            />
          </div>
        )}
      </div>
      <HistoryFoot history={history} total={total} />
    </section>
  );
}

function StateTab({ id, instance }: { id: string; instance: InstanceAnswer }) {
  const name = hub.value ?? "";
  const kv = useApi<Page<KeyValue>>(hubPath(name, ["instances", id, "kv"]));
  return (
    <>
      <div class="grid-two">
        <Panel title="Input">
          <BodyView body={instance.input} path={hubPath(name, ["instances", id, "body", "input"])} label="Input" />
        </Panel>
        <Panel title={instance.status === "Failed" ? "Failure" : "Output"}>
          <BodyView body={instance.output} path={hubPath(name, ["instances", id, "body", "output"])} label="Output" />
        </Panel>
      </div>
      <Panel title="Custom status">
        <BodyView body={instance.custom_status} path={hubPath(name, ["instances", id, "body", "custom_status"])} label="Custom status" />
      </Panel>
      <Panel title="Key/value state" flush tools={<SqlButton sql={kv.data?.sql} />}>
        <Show of={kv}>
          {(page) =>
            page.rows.length === 0 ? (
              <Empty title="No keys" text="Values that the orchestration sets appear here." />
            ) : (
              <Table
                caption="Key/value state"
                rows={page.rows}
                rowKey={(k) => k.key}
                columns={[
                  { key: "key", label: "Key", cell: (k) => <code>{visible(k.key)}</code> },
                  { key: "value", label: "Value", grow: true, cell: (k) => <code class="preview">{visible(k.value)}</code> },
                  { key: "bytes", label: "Size", num: true, rank: 2, cell: (k) => bytes(k.bytes) },
                  { key: "updated", label: "Updated", num: true, rank: 2, cell: (k) => <Time ms={k.updated_at_ms} /> },
                ]}
              />
            )
          }
        </Show>
      </Panel>
    </>
  );
}

function Tree({ id }: { id: string }) {
  const name = hub.value ?? "";
  const tree = useApi<Answer & { rows: TreeNode[]; complete: boolean }>(hubPath(name, ["instances", id, "tree"]));
  return (
    <Panel title="Parent and children" tools={<SqlButton sql={tree.data?.sql} />}>
      <Show of={tree}>
        {(answer) => (
          <ul class="tree">
            {answer.rows.map((n) => (
              <li key={n.instance_id} class={`d${Math.min(n.depth, 12)} ${n.instance_id === id ? "current" : ""}`}>
                <State state={n.status} /> <IdLink path={["h", name, "instances", n.instance_id]} id={n.instance_id} length={44} /> <span class="muted">{visible(n.name)}</span>
                {n.more > 0 && <span class="muted"> · {number(n.more)} more children</span>}
              </li>
            ))}
            {!answer.complete && <li class="muted">It has more than 2,000 descendants; the others are not shown.</li>}
          </ul>
        )}
      </Show>
    </Panel>
  );
}
