// Events: a tail with filters, subscriptions, and the audit.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Actions } from "../actions";
import { hubPath, type HubEvent, type Page, type Subscription } from "../api";
import { Ago, Empty, PageHead, Panel, Show, SqlButton, Tabs, Time } from "../components/bits";
import { download, Filters } from "../components/list";
import { Table } from "../components/table";
import { count, middle, number, plural, visible } from "../format";
import { useApi } from "../load";
import { onMessage, want } from "../live";
import { hub, link, queryOf, route, zone } from "../state";
import { clock } from "../time";
import { shortDuration } from "../time";

const tabs: [string, string][] = [
  ["tail", "Tail"],
  ["audit", "Audit"],
  ["subscriptions", "Subscriptions"],
];

export function Events() {
  const tab = queryOf("tab") || "tail";
  return (
    <>
      <PageHead title="Events" />
      <Tabs label="Views of events" tabs={tabs} current={tab} hrefOf={(t) => link(route.value.path, { tab: t === "tail" ? null : t })} />
      {tab === "subscriptions" ? <Subscriptions /> : <Tail audit={tab === "audit"} key={tab} />}
    </>
  );
}

/** What a filter keeps of the events that the stream brings. */
export function matches(e: HubEvent, filter: Record<string, unknown>): boolean {
  const topics = filter["topics"] as string[] | undefined;
  const types = filter["types"] as string[] | undefined;
  return (!topics || topics.includes(e.topic)) && (!types || types.includes(e.type)) && (!filter["subject"] || e.subject === filter["subject"]) && (!filter["by"] || e.by === filter["by"]);
}

function Tail({ audit }: { audit: boolean }) {
  const name = hub.value ?? "";
  const filter: Record<string, unknown> = {};
  if (audit) filter["topics"] = ["operator"];
  else if (queryOf("topic")) filter["topics"] = [queryOf("topic")];
  if (queryOf("type")) filter["types"] = [queryOf("type")];
  if (queryOf("subject")) filter["subject"] = queryOf("subject");
  if (queryOf("by")) filter["by"] = queryOf("by");
  const path = hubPath(name, ["events"], { filter, limit: 200 });
  const first = useApi<Page<HubEvent>>(path);
  const [extra, setExtra] = useState<HubEvent[]>([]);
  const [held, setHeld] = useState<HubEvent[]>([]);
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);

  useEffect(() => {
    setExtra([]);
    setHeld([]);
    const stop = want(`events:${name}:`);
    const off = onMessage((m) => {
      if (m.type !== "events" || m.hub !== name) return;
      const fresh = m.rows.filter((e) => matches(e, filter));
      if (fresh.length === 0) return;
      if (atEnd.current) setExtra((old) => [...old, ...fresh].slice(-1000));
      else setHeld((old) => [...old, ...fresh].slice(-1000));
    });
    return () => {
      stop();
      off();
    };
  }, [path]);

  const rows = useMemo(() => {
    const known = new Set<string>();
    // Read newest first, shown newest below.
    return [...[...(first.data?.rows ?? [])].reverse(), ...extra].filter((e) => !known.has(e.event_id) && known.add(e.event_id)).slice(-1000);
  }, [first.data, extra]);
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [rows]);
  const showHeld = (): void => {
    atEnd.current = true;
    setExtra((old) => [...old, ...held].slice(-1000));
    setHeld([]);
  };
  return (
    <>
      <Filters
        fields={[
          ...(audit ? [] : [{ key: "topic", label: "Topic", options: [["instance", "instance"], ["completion", "completion"], ["lease", "lease"], ["operator", "operator"]] as [string, string][] }]),
          { key: "type", label: "Type" },
          { key: "subject", label: "Subject", wide: true },
          { key: "by", label: "By" },
        ]}
      />
      <section class="panel flush" aria-label="Events">
        <Show of={first} rows={8}>
          {(page) =>
            rows.length === 0 ? (
              <Empty title={audit ? "No operator has changed anything" : "No events"} text={audit ? "Each call of an operator that changes something is listed here, with its reason." : "Which events are written is a hub option."} sql={`SELECT belay.set_hub_option('${name}', 'events', 'operator,completion,instance');`} />
            ) : (
              <>
                <div
                  ref={box}
                  class="tail"
                  role="region"
                  aria-label="Events, newest below"
                  tabIndex={0}
                  onScroll={(e) => {
                    const el = e.currentTarget;
                    atEnd.current = el.scrollHeight - el.scrollTop - el.clientHeight < 24;
                    if (atEnd.current && held.length > 0) showHeld();
                  }}
                >
                  <EventTable rows={rows} audit={audit} />
                </div>
                {held.length > 0 && (
                  <button type="button" class="fresh" onClick={showHeld}>
                    {number(held.length)} new, show
                  </button>
                )}
                <div class="list-foot">
                  <span class="muted">{plural(rows.length, "event")}, newest below</span>
                  <span class="tools">
                    <SqlButton sql={page.sql} took={page.took_ms} />
                    <a class="button small" href={download(path)} download>
                      Download
                    </a>
                  </span>
                </div>
              </>
            )
          }
        </Show>
      </section>
    </>
  );
}

function subjectLink(e: HubEvent): string | null {
  if (!e.subject || hub.value === null) return null;
  if (e.topic === "instance") return link(["h", hub.value, "instances", e.subject]);
  if (e.type.startsWith("flow_")) return link(["h", hub.value, "flows", e.subject]);
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(e.subject)) return link(["h", hub.value, "tasks", e.subject]);
  return null;
}

function EventTable({ rows, audit }: { rows: HubEvent[]; audit: boolean }) {
  return (
    <Table
      caption="Events"
      rows={rows}
      rowKey={(e) => e.event_id}
      columns={[
        { key: "at", label: "Time", cell: (e) => <time class="mono nowrap" dateTime={new Date(e.occurred_at_ms).toISOString()}>{clock(e.occurred_at_ms, zone.value)}</time> },
        ...(audit ? [] : [{ key: "topic", label: "Topic", rank: 3 as const, cell: (e: HubEvent) => <span class="muted">{visible(e.topic)}</span> }]),
        { key: "type", label: "Type", cell: (e) => <span class="strong">{visible(e.type)}</span> },
        {
          key: "subject",
          label: "Subject",
          cell: (e) => {
            const to = subjectLink(e);
            return to ? (
              <a class="id ellipsis" href={to}>
                {visible(e.subject ?? "")}
              </a>
            ) : (
              visible(e.subject ?? "–")
            );
          },
        },
        ...(audit
          ? [
              { key: "by", label: "By", cell: (e: HubEvent) => visible(e.by ?? "–") },
              { key: "via", label: "Via", rank: 3 as const, cell: (e: HubEvent) => <span class="muted">{visible(e.via ?? "–")}</span> },
              { key: "reason", label: "Reason", rank: 2 as const, cell: (e: HubEvent) => visible(e.reason ?? "") },
            ]
          : []),
        { key: "details", label: "Details", rank: 3, grow: true, cell: (e) => <code class="preview">{visible(e.details)}</code> },
      ]}
    />
  );
}

/** What operators did to one object. */
export function Audit({ subject }: { subject: string }) {
  const name = hub.value ?? "";
  const list = useApi<Page<HubEvent>>(hubPath(name, ["events"], { filter: { topics: ["operator"], subject }, limit: 100 }));
  return (
    <Panel title="Audit" flush tools={<SqlButton sql={list.data?.sql} />}>
      <Show of={list}>{({ rows }) => (rows.length === 0 ? <Empty title="No operator has touched this" text="Cancels, revocations, replays and other calls of operators are listed here, with their reasons." /> : <EventTable rows={rows} audit />)}</Show>
    </Panel>
  );
}

/** Of an object that does not exist: who deleted it, if the events tell, and a search for it. */
export function Gone({ id }: { id: string }) {
  const search = (): void => {
    const input = document.querySelector<HTMLInputElement>("#search");
    if (!input) return;
    input.value = id;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.focus();
  };
  return (
    <>
      <Audit subject={id} />
      <p>
        <button type="button" class="button small" onClick={search}>
          Search for {visible(middle(id, 40))}
        </button>
      </p>
    </>
  );
}

function Subscriptions() {
  const name = hub.value ?? "";
  const list = useApi<Page<Subscription>>(hubPath(name, ["subscriptions"]), { every: 5000 });
  return (
    <section class="panel flush" aria-label="Subscriptions">
      <Show of={list}>
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty title="No subscriptions" text="A subscription keeps the place of a reader of events." sql={`SELECT ${name}.create_subscription('audit', ARRAY['operator'], 'start');`} />
          ) : (
            <Table
              caption="Subscriptions"
              rows={rows}
              rowKey={(s) => s.name}
              columns={[
                { key: "name", label: "Subscription", cell: (s) => <span class="strong">{visible(s.name)}</span> },
                { key: "topics", label: "Topics", rank: 2, cell: (s) => (s.topics ? s.topics.join(", ") : "all") },
                { key: "lag", label: "Behind", num: true, cell: (s) => count(s.lag) },
                { key: "age", label: "Oldest", num: true, cell: (s) => <span class={(s.lag_ms ?? 0) > 300_000 ? "warn-text" : ""}>{shortDuration(s.lag_ms)}</span> },
                { key: "lease", label: "Batch leased until", rank: 2, cell: (s) => <Time ms={s.lease_until_ms} /> },
                { key: "horizon", label: "Held up by process", num: true, rank: 3, cell: (s) => (s.horizon_pid === null ? <span class="muted">none</span> : <span class="warn-text">{s.horizon_pid}</span>) },
                { key: "created", label: "Made", num: true, rank: 3, cell: (s) => <Ago ms={s.created_at_ms} /> },
                { key: "actions", label: "Actions", rank: 2, cell: (s) => <Actions quiet calls={[{ action: "drop_subscription", args: { name: s.name }, target: s.name, onDone: list.reload }]} /> },
              ]}
            />
          )
        }
      </Show>
    </section>
  );
}
