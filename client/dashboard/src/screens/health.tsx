// Is the machinery in order? Checks that read much run by a button, never by themselves.
import { Actions } from "../actions";
import { hubPath, type Health as HealthAnswer } from "../api";
import { Ago, Empty, PageHead, Panel, Show, SqlButton, Time } from "../components/bits";
import { Sql } from "../components/sql";
import { Table } from "../components/table";
import { bytes, count, number, visible } from "../format";
import { useApi } from "../load";
import { hub, may, rights } from "../state";
import { duration, serverNow, shortDuration } from "../time";

export function Health() {
  const name = hub.value ?? "";
  const health = useApi<HealthAnswer>(hubPath(name, ["health"]), { every: 10_000 });
  return (
    <>
      <PageHead title="Health" tools={<SqlButton sql={health.data?.sql} took={health.data?.took_ms} />} />
      <Show of={health} rows={10}>
        {(h) => (
          <>
            <dl class="strip">
              <div>
                <dt>Background worker</dt>
                <dd class={h.background_worker === null ? "bad-text" : ""}>{h.background_worker ? `${h.background_worker.state}, process ${h.background_worker.pid}` : h.background_worker === null ? "not running" : "for members of pg_monitor"}</dd>
              </div>
              <div>
                <dt>Last loop</dt>
                <dd>{h.background_worker ? <Ago ms={h.background_worker.last_loop_ms} /> : "–"}</dd>
              </div>
              <div>
                <dt>Oldest snapshot</dt>
                <dd class={h.oldest_snapshot && h.oldest_snapshot.age_ms > 600_000 ? "warn-text" : ""}>
                  {h.oldest_snapshot ? (
                    <>
                      {shortDuration(h.oldest_snapshot.age_ms)} <span class="muted">process {h.oldest_snapshot.pid}, {visible(h.oldest_snapshot.application) || "no name"}</span>
                    </>
                  ) : (
                    "none"
                  )}
                </dd>
              </div>
              <div>
                <dt>Waiting intents</dt>
                <dd>{count(h.intents)}</dd>
              </div>
            </dl>
            <div class="grid-two">
              <Panel title="Duties of the background worker" flush>
                {h.duties === null ? (
                  <Empty title="Not visible to your role" text="Duties are shown to members of pg_monitor." sql="GRANT pg_monitor TO current_user;" />
                ) : h.duties.length === 0 ? (
                  <Empty title="No duty has run yet" />
                ) : (
                  <Table
                    caption="Duties"
                    rows={h.duties}
                    rowKey={(d) => d.duty}
                    columns={[
                      { key: "duty", label: "Duty", cell: (d) => <code>{d.duty}</code> },
                      { key: "last", label: "Last run", num: true, cell: (d) => <Ago ms={d.last_run_ms} /> },
                      { key: "runs", label: "Runs", num: true, rank: 3, cell: (d) => number(d.runs) },
                      { key: "rows", label: "Rows", num: true, cell: (d) => number(d.rows) },
                      { key: "errors", label: "Errors", num: true, cell: (d) => <span class={d.errors > 0 ? "bad-text" : "muted"} title={d.last_error ?? ""}>{number(d.errors)}</span> },
                    ]}
                  />
                )}
                {h.duties?.some((d) => d.last_error !== null) && (
                  <ul class="plain pad">
                    {h.duties
                      .filter((d) => d.last_error !== null)
                      .map((d) => (
                        <li key={d.duty} class="bad-text">
                          {d.duty}: {visible(d.last_error ?? "")} (<Ago ms={d.last_error_at_ms} />)
                        </li>
                      ))}
                  </ul>
                )}
              </Panel>
              <div>
                <Panel title="Shared memory" flush>
                  {h.shared_memory === null ? (
                    <Empty title="No shared memory" text="Rates and live waits are off. On PostgreSQL 15 and 16 belay has to be preloaded." sql="ALTER SYSTEM SET shared_preload_libraries = 'belay';" />
                  ) : (
                    <Table
                      caption="Shared memory"
                      rows={h.shared_memory}
                      rowKey={(s) => s.what}
                      columns={[
                        { key: "what", label: "What", cell: (s) => visible(s.what) },
                        { key: "used", label: "Used", num: true, cell: (s) => number(s.used) },
                        { key: "of", label: "Of", num: true, cell: (s) => (s.of === null ? "–" : number(s.of)) },
                        { key: "share", label: "Share", cell: (s) => s.of !== null && <Share used={s.used} of={s.of} /> },
                      ]}
                    />
                  )}
                </Panel>
                <Panel title="Options that are not the default" flush>
                  {h.options.every((o) => o.is_default) ? (
                    <p class="muted pad">All options have their defaults.</p>
                  ) : (
                    <Table
                      caption="Options that are not the default"
                      rows={h.options.filter((o) => !o.is_default)}
                      rowKey={(o) => o.option}
                      columns={[
                        { key: "option", label: "Option", cell: (o) => <code>{o.option}</code> },
                        { key: "value", label: "Value", cell: (o) => visible(o.value ?? "off"), grow: true },
                      ]}
                    />
                  )}
                </Panel>
              </div>
            </div>
            <Panel title="Tables" flush>
              <Table
                caption="Sizes of tables"
                rows={h.sizes}
                rowKey={(s) => s.table}
                columns={[
                  { key: "table", label: "Table", cell: (s) => <code>{visible(s.table)}</code> },
                  { key: "live", label: "Rows", num: true, cell: (s) => number(s.live_rows) },
                  { key: "dead", label: "Dead rows", num: true, cell: (s) => <span class={s.dead_rows > s.live_rows * 0.5 && s.dead_rows > 10_000 ? "warn-text" : ""}>{number(s.dead_rows)}</span> },
                  { key: "bytes", label: "Table", num: true, rank: 2, cell: (s) => bytes(s.table_bytes) },
                  { key: "index", label: "Indexes", num: true, rank: 2, cell: (s) => bytes(s.index_bytes) },
                  { key: "toast", label: "Toast", num: true, rank: 3, cell: (s) => bytes(s.toast_bytes) },
                  { key: "vacuum", label: "Last autovacuum", num: true, rank: 3, cell: (s) => (s.last_autovacuum_ms === null ? <span class="muted">never</span> : <Ago ms={s.last_autovacuum_ms} />) },
                ]}
              />
            </Panel>
            {h.links.length > 0 && (
              <Panel title="Links to other hubs" flush>
                <Table
                  caption="Links"
                  rows={h.links}
                  rowKey={(l) => l.target}
                  columns={[
                    { key: "target", label: "Hub", cell: (l) => visible(l.target) },
                    { key: "server", label: "Server", cell: (l) => visible(l.server) },
                    { key: "waiting", label: "Waiting", num: true, cell: (l) => count(l.waiting) },
                    { key: "error", label: "Last error", grow: true, cell: (l) => <span class="bad-text">{visible(l.last_error ?? "")}</span> },
                  ]}
                />
              </Panel>
            )}
            <Panel title="Checks">
              <p>
                <code>check_tasks</code> recounts tasks and flows. It would read about {number(h.check_estimate)} rows and is cut off after {duration(30_000)}.
              </p>
              <Actions calls={[{ action: "check_tasks", args: {}, target: name }]} />
              <p>
                <code>check_hub</code> compares the objects of the hub with what its version has.
              </p>
              {may("check_hub") ? (
                <Actions calls={[{ action: "check_hub", args: {}, target: name }]} />
              ) : (
                <>
                  <p class="muted">It is for the owner of the hub. Pass this on:</p>
                  <Sql text={`SELECT * FROM belay.check_hub('${name.replace(/'/g, "''")}');`} />
                </>
              )}
            </Panel>
            <p class="muted small">
              Hub version {rights.value?.version ?? "–"}
              {rights.value && !rights.value.current && ", not current"}. Server time <Time ms={serverNow()} />.
            </p>
          </>
        )}
      </Show>
    </>
  );
}

/** A part of a whole, drawn and in percent; what is not empty is seen, however little it is. */
function Share({ used, of }: { used: number; of: number }) {
  const share = of > 0 ? Math.min(1, used / of) : 0;
  const percent = share * 100;
  const text = used === 0 ? "0 %" : percent < 0.1 ? "below 0.1 %" : `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
  return (
    <span class={`share ${share > 0.8 ? "high" : ""}`}>
      <svg width={92} height={12} aria-hidden="true" focusable="false">
        <rect class="rail" x={0.5} y={0.5} width={91} height={11} rx={3} />
        {used > 0 && <rect class="fill" x={1} y={1} width={Math.max(2, share * 90)} height={10} rx={2} />}
      </svg>
      <span class="nowrap">{text}</span>
    </span>
  );
}
