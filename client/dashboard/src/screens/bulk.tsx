// Jobs that touch many objects. A job is not tied to a tab.
import { useEffect, useState } from "preact/hooks";
import { ApiError, hubPath, idempotencyKey, post, type BulkJob, type Page } from "../api";
import { Ago, Empty, PageHead, Panel, Show, Span, SqlButton, State, Time } from "../components/bits";
import { Table } from "../components/table";
import { count, number, rate, visible } from "../format";
import { useApi } from "../load";
import { onMessage, want } from "../live";
import { go, hub, hubLink, may, tell } from "../state";
import { shortDuration } from "../time";

export function BulkJobs() {
  const name = hub.value ?? "";
  const list = useApi<Page<BulkJob>>(hubPath(name, ["bulk"]), { every: 4000 });
  return (
    <>
      <PageHead title="Bulk jobs" tools={<SqlButton sql={list.data?.sql} />} />
      <section class="panel flush">
        <Show of={list}>
          {({ rows }) =>
            rows.length === 0 ? (
              <Empty title="No bulk jobs" text="Select rows of a list, or all that match, to act on many at once. Jobs are kept for 24 hours." />
            ) : (
              <Table
                caption="Bulk jobs"
                rows={rows}
                rowKey={(j) => j.id}
                rowHref={(j) => hubLink(["bulk", j.id])}
                columns={[
                  { key: "label", label: "Job", cell: (j) => <a href={hubLink(["bulk", j.id])}>{visible(j.label)}</a> },
                  { key: "state", label: "State", cell: (j) => <State state={j.state} /> },
                  { key: "done", label: "Done", num: true, cell: (j) => `${number(j.done)} of ${count(j.total)}` },
                  { key: "failed", label: "Failed", num: true, rank: 2, cell: (j) => number(j.failed.reduce((n, f) => n + f.n, 0)) },
                  { key: "by", label: "By", rank: 2, cell: (j) => visible(j.by) },
                  { key: "started", label: "Started", num: true, cell: (j) => <Ago ms={j.started_at_ms} /> },
                ]}
              />
            )
          }
        </Show>
      </section>
    </>
  );
}

/** Messages, answers and reads come in any order: one that has ended stays so. */
function newer(a: BulkJob | null, b: BulkJob | null): BulkJob | null {
  if (a === null || b === null) return a ?? b;
  if ((a.ended_at_ms === null) !== (b.ended_at_ms === null)) return a.ended_at_ms === null ? b : a;
  return b.at_ms >= a.at_ms ? b : a;
}

export function Bulk({ id }: { id: string }) {
  const name = hub.value ?? "";
  const first = useApi<BulkJob>(hubPath(name, ["bulk", id]), { every: 2000 });
  const [live, setLive] = useState<BulkJob | null>(null);
  useEffect(() => {
    const stop = want(`bulk:${name}:${id}`);
    const off = onMessage((m) => {
      if (m.type === "bulk" && m.hub === name && m.job.id === id) setLive((known) => newer(known, m.job));
    });
    return () => {
      stop();
      off();
    };
  }, [id]);
  const job = newer(first.data, live !== null && live.id === id ? live : null);
  const call = async (what: "stop" | "go-on"): Promise<void> => {
    try {
      const next = await post<BulkJob>(hubPath(name, ["bulk", id, what]), { key: idempotencyKey() });
      if (what === "go-on") go(hubLink(["bulk", next.id]));
      else setLive((known) => newer(known, next));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      tell("bad", error.problem.message, error.problem.hint);
    }
  };
  return (
    <>
      <PageHead
        title={
          <>
            <a href={hubLink(["bulk"])}>Bulk jobs</a> <span class="muted">/</span> {visible(job?.label ?? id)}
          </>
        }
        sub={job && <State state={job.state} />}
        tools={
          job && (
            <>
              {job.state === "running" && may(job.action) && (
                <button type="button" class="button danger-quiet" onClick={() => void call("stop")}>
                  Stop
                </button>
              )}
              {job.state === "stopped" && job.cursor !== null && may(job.action) && (
                <button type="button" class="button primary" onClick={() => void call("go-on")}>
                  Go on
                </button>
              )}
            </>
          )
        }
      />
      <Show of={{ ...first, data: job }}>
        {(j) => {
          const failed = j.failed.reduce((n, f) => n + f.n, 0);
          const seen = j.done + j.skipped + failed;
          return (
            <>
              <Panel title="Progress">
                <progress class="big" max={Math.max(1, j.total.n)} value={Math.min(seen, j.total.n)} aria-label="Progress" />
                <dl class="numbers">
                  <div>
                    <dt>Done</dt>
                    <dd>
                      {number(j.done)} <span class="muted small">of {count(j.total)}</span>
                    </dd>
                  </div>
                  <div>
                    <dt>Skipped</dt>
                    <dd>{number(j.skipped)}</dd>
                  </div>
                  <div>
                    <dt>Failed</dt>
                    <dd class={failed > 0 ? "bad-text" : ""}>{number(failed)}</dd>
                  </div>
                  <div>
                    <dt>Per second</dt>
                    <dd>{rate(j.rate)}</dd>
                  </div>
                  <div>
                    <dt>Left</dt>
                    <dd>{j.state === "running" && j.rate > 0 ? shortDuration((Math.max(0, j.total.n - seen) / j.rate) * 1000) : "–"}</dd>
                  </div>
                </dl>
              </Panel>
              <Panel title="Job">
                <dl class="facts">
                  <dt>By</dt>
                  <dd>{visible(j.by)}</dd>
                  <dt>Reason</dt>
                  <dd>{visible(j.reason) || <span class="muted">none given</span>}</dd>
                  <dt>Filter</dt>
                  <dd>
                    <code class="wrap">{visible(j.filter)}</code>
                  </dd>
                  <dt>Started</dt>
                  <dd>
                    <Time ms={j.started_at_ms} both />
                  </dd>
                  <dt>Took</dt>
                  <dd>
                    <Span from={j.started_at_ms} to={j.ended_at_ms} />
                  </dd>
                </dl>
              </Panel>
              {j.failed.length > 0 && (
                <Panel title="Failures" flush>
                  <Table
                    caption="Failures by reason"
                    rows={j.failed}
                    rowKey={(f) => `${f.code} ${f.word}`}
                    columns={[
                      { key: "code", label: "Code", cell: (f) => <code>{visible(f.code)}</code> },
                      { key: "word", label: "Reason", cell: (f) => visible(f.word), grow: true },
                      { key: "n", label: "Objects", num: true, cell: (f) => number(f.n) },
                      { key: "example", label: "Example", rank: 2, cell: (f) => <span class="id">{visible(f.example)}</span> },
                    ]}
                  />
                </Panel>
              )}
              <p class="muted small">What was done is in the events. The job ends with the process of the dashboard; "Go on" starts a new one at its cursor.</p>
            </>
          );
        }}
      </Show>
    </>
  );
}
