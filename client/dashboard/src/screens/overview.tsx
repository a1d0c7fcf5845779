// Does it move, does it pile up, is something wrong?
import { useEffect } from "preact/hooks";
import { hubPath, type Glance, type Series } from "../api";
import { Chart, LatencyPanel } from "../components/chart";
import { Ago, PageHead, Panel, Show, SqlButton, Tabs } from "../components/bits";
import { ProviderTable, QueueTable } from "./queues";
import { count, number, plural, rate, visible } from "../format";
import { useApi } from "../load";
import { glance, hub, hubLink, link, me, noteGlance, queryOf, route } from "../state";
import { duration, shortDuration } from "../time";

interface Attention {
  text: string;
  detail: string;
  href: string;
  tone: "bad" | "warn";
}

export function attention(g: Glance): Attention[] {
  const out: Attention[] = [];
  const dead = g.dead_letters.reduce((n, d) => n + d.count.n, 0);
  if (dead > 0) {
    const newest = Math.max(...g.dead_letters.map((d) => d.newest_ms));
    const capped = g.dead_letters.some((d) => d.count.capped);
    out.push({
      tone: "bad",
      text: `${number(dead)}${capped ? "+" : ""} dead letters`,
      detail: `${[...new Set(g.dead_letters.map((d) => d.reason))].join(", ")}, newest ${shortDuration(g.at_ms - newest)} ago`,
      href: hubLink(["dead-letters"]),
    });
  }
  if (g.failed_last_hour !== null && g.failed_last_hour.n > 0) {
    out.push({ tone: "bad", text: `${count(g.failed_last_hour)} failed tasks`, detail: "in the last hour", href: hubLink(["tasks"], { tab: "failed", state: "failed" }) });
  }
  for (const q of g.queues) {
    if (q.oldest_ms !== null && q.oldest_ms > 60_000 && !q.paused) {
      out.push({ tone: "warn", text: `queue ${visible(q.queue)}`, detail: `oldest ready ${shortDuration(q.oldest_ms)}, ${q.owners === 0 ? "no worker" : plural(q.owners, "worker")}`, href: hubLink(["queues", q.queue]) });
    }
    if (q.overdue.n > 0) out.push({ tone: "warn", text: `queue ${visible(q.queue)}`, detail: `${count(q.overdue)} leases are overdue`, href: hubLink(["workers"]) });
  }
  for (const s of g.schedules_with_errors) out.push({ tone: "bad", text: `schedule ${visible(s.name)}`, detail: visible(s.error), href: hubLink(["schedules"]) });
  for (const s of g.subscriptions) {
    if (s.lag_ms !== null && s.lag_ms > 300_000) out.push({ tone: "warn", text: `subscription ${visible(s.name)}`, detail: `${count(s.lag)} events behind, oldest ${shortDuration(s.lag_ms)}`, href: hubLink(["events"], { tab: "subscriptions" }) });
  }
  if (g.background_worker === null) out.push({ tone: "bad", text: "background worker", detail: "is not running", href: hubLink(["health"]) });
  else if (g.background_worker && g.background_worker.last_loop_ms > 60_000) out.push({ tone: "warn", text: "background worker", detail: `last loop ${shortDuration(g.background_worker.last_loop_ms)} ago`, href: hubLink(["health"]) });
  if (g.oldest_snapshot && g.oldest_snapshot.age_ms > 600_000) out.push({ tone: "warn", text: "old snapshot", detail: `process ${g.oldest_snapshot.pid}, ${shortDuration(g.oldest_snapshot.age_ms)}`, href: hubLink(["health"]) });
  return out;
}

const ranges: [string, string][] = [
  ["15m", "15 min"],
  ["1h", "1 h"],
  ["24h", "24 h"],
  ["7d", "7 d"],
];

export function RangeTabs({ current }: { current: string }) {
  return <Tabs label="Range" tabs={ranges} current={current} hrefOf={(r) => link(route.value.path, { range: r === "15m" ? null : r })} />;
}

export function Overview() {
  const name = hub.value ?? "";
  const range = queryOf("range") || "15m";
  const first = useApi<Glance>(hubPath(name, ["glance"]));
  const series = useApi<Series>(hubPath(name, ["series"], { range }), { every: range === "15m" ? 2000 : 60_000 });
  useEffect(() => {
    if (first.data) noteGlance(first.data);
  }, [first.data]);
  const g = glance.value ?? first.data;
  const resource = { ...first, data: g };
  const s = series.data;
  return (
    <>
      <PageHead
        title="Overview"
        tools={
          <>
            <RangeTabs current={range} />
            <SqlButton sql={g?.sql} took={g?.took_ms} />
          </>
        }
      />
      <Show of={resource} rows={10}>
        {(now) => {
          const list = attention(now);
          return (
            <>
              {list.length > 0 ? (
                <section class="attention" aria-label="Needs attention">
                  <h2 class="eyebrow">Needs attention</h2>
                  <ul>
                    {list.map((a) => (
                      <li key={a.text + a.detail}>
                        <a class={`attention-item ${a.tone}`} href={a.href}>
                          <span class="strong">
                            <span aria-hidden="true">{a.tone === "bad" ? "✗ " : "⚠ "}</span>
                            {a.text}
                          </span>
                          <span class="detail">{a.detail}</span>
                        </a>
                      </li>
                    ))}
                  </ul>
                </section>
              ) : (
                <p class="callout ok">
                  <span aria-hidden="true">✓ </span>Nothing needs attention.
                </p>
              )}
              {me.value && !me.value.preloaded && (
                <p class="callout warn">
                  belay is not preloaded: rates, live waits and latencies are off. Set <code>shared_preload_libraries = 'belay'</code> and restart the server.
                </p>
              )}
              <div class="grid-charts">
                {s ? (
                  <Chart
                    title="Per second"
                    height={128}
                    t={s.t}
                    sql={s.sql}
                    unit={rate}
                    lines={[
                      { label: "in", color: "muted", values: s.in, dash: true },
                      { label: "done", color: "accent", values: s.done },
                      { label: "failed", color: "bad", values: s.failed },
                    ]}
                  />
                ) : (
                  <Panel title="Per second">
                    <Show of={series}>{() => null}</Show>
                  </Panel>
                )}
                <LatencyPanel title="Wait before start" of={s?.wait ?? now.wait} sql={s?.wait ? s.durations_sql : now.sql} />
                {s && <Chart title="Oldest ready" height={128} t={s.t} sql={s.sql} unit={(ms) => shortDuration(ms)} lines={[{ label: "age", color: "warn", values: s.oldest_ms }]} />}
              </div>
              <Panel title="Task queues" flush tools={<a class="button small" href={hubLink(["queues"])}>All queues</a>}>
                <QueueTable rows={now.queues.slice(0, 8)} />
              </Panel>
              <Panel title="Provider queues" flush>
                <ProviderTable rows={now.provider} />
              </Panel>
              <dl class="strip">
                {now.running_instances && (
                  <div>
                    <dt>Running instances</dt>
                    <dd>
                      <a href={hubLink(["instances"])}>{count(now.running_instances)}</a>
                    </dd>
                  </div>
                )}
                {now.intents_waiting && (
                  <div>
                    <dt>Waiting intents</dt>
                    <dd>
                      <a href={hubLink(["health"])}>{count(now.intents_waiting)}</a>
                    </dd>
                  </div>
                )}
                {now.expired_last_hour && (
                  <div>
                    <dt>Expired tasks, last hour</dt>
                    <dd>
                      <a href={hubLink(["tasks"], { tab: "failed", state: "expired" })}>{count(now.expired_last_hour)}</a>
                    </dd>
                  </div>
                )}
                <div>
                  <dt>Tasks kept, estimate</dt>
                  <dd>{number(now.estimates.tasks)}</dd>
                </div>
                <div>
                  <dt>Instances kept, estimate</dt>
                  <dd>{number(now.estimates.instances)}</dd>
                </div>
                {now.background_worker !== undefined && (
                  <div>
                    <dt>Background worker</dt>
                    <dd>{now.background_worker ? `${now.background_worker.state}, ${duration(now.background_worker.last_loop_ms)} ago` : "not running"}</dd>
                  </div>
                )}
              </dl>
              {now.paused.length > 0 && (
                <p class="muted small">
                  Paused: {now.paused.map((p) => `${p.queue}${p.reason ? ` ("${visible(p.reason)}" by ${visible(p.by)})` : ""}`).join(", ")} {now.paused[0]!.at_ms !== null && <Ago ms={now.paused[0]!.at_ms} />}
                </p>
              )}
            </>
          );
        }}
      </Show>
    </>
  );
}
