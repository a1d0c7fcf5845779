// One task: its way so far, why it is not running, attempts, bodies, waitpoints, neighbours, audit.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Actions, type ActionCall } from "../actions";
import { hubPath, type Explanation, type Page, type Task as TaskAnswer, type Waitpoint } from "../api";
import { Empty, IdLink, PageHead, Panel, Show, Span, SqlButton, State, Tabs, Time } from "../components/bits";
import { BodyView } from "../components/body";
import { Reasons } from "../components/reasons";
import { Sign } from "../components/sign";
import { Table } from "../components/table";
import { number, visible } from "../format";
import { useApi } from "../load";
import { hub, hubLink, link, queryOf, route, second } from "../state";
import { duration, serverNow } from "../time";
import { idleScale, linearScale, ticks, type Bar, type Scale } from "../timeline";
import { explainClaim, stateWord, type Tone } from "../words";
import { Audit, Gone } from "./events";
import { PolicyTable } from "./queue";

interface PathStep {
  label: string;
  tone: Tone;
  from: number;
  to: number | null;
}

/** The way of a task: waits and attempts, one after the other. */
export function pathOf(t: TaskAnswer): PathStep[] {
  const steps: PathStep[] = [];
  let at = t.created_at_ms;
  for (const a of t.attempts) {
    if (a.started_ms > at) steps.push({ label: steps.length === 0 ? "waited" : "backoff", tone: "wait", from: at, to: a.started_ms });
    const good = a.outcome === "completed" || a.outcome === "success";
    const rests = a.outcome === null && t.state !== "active";
    steps.push({ label: `attempt ${a.attempt_index}${rests ? `, ${stateWord(t.state).word}` : ""}`, tone: rests ? "wait" : a.outcome === null ? "run" : good ? "ok" : a.outcome === "cancelled" ? "off" : "bad", from: a.started_ms, to: a.ended_ms });
    at = a.ended_ms ?? at;
  }
  const open = t.attempts[t.attempts.length - 1]?.ended_ms === null;
  if (t.terminal_at_ms === null && !open) steps.push({ label: stateWord(t.state).word, tone: "wait", from: at, to: null });
  return steps;
}

/** The axis of a way: linear, unless that would hide an attempt beside long waits, which are cut then. */
function pathScale(steps: PathStep[], start: number, now: number): Scale {
  const total = Math.max(1, now - start);
  if (steps.every((s) => s.tone === "wait" || ((s.to ?? now) - s.from) / total > 0.015)) return linearScale(start, now);
  const bars = steps.map((s): Bar => ({ id: "", what: "", label: s.label, kind: s.tone === "wait" ? "wait" : "activity", from: s.from, to: s.to, outcome: "none", due: null, child: null, endId: null }));
  return idleScale(bars, start, now, now);
}

function PathBar({ task }: { task: TaskAnswer }) {
  if (task.terminal_at_ms === null) void second.value;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const now = task.terminal_at_ms ?? serverNow();
  const steps = pathOf(task);
  const start = task.created_at_ms;
  const scale = pathScale(steps, start, now);
  const x = (ms: number): number => scale.at(ms) * width;
  const marks = scale.gaps.length > 0 ? scale.gaps.map((g) => ({ x: x(g.from), text: duration(g.to - g.from) })) : ticks(start, now, Math.max(2, Math.floor(width / 90))).map((ms) => ({ x: x(ms), text: ms === start ? "0 s" : duration(ms - start) }));
  const fits = (m: { x: number; text: string }): boolean => m.x + 3 + m.text.length * 6 < width;
  const { tone, word } = stateWord(task.state);
  return (
    <div class="path">
      <div ref={box}>
        <svg width={width} height={40} aria-hidden="true" focusable="false">
          {steps.map((s, i) => {
            const from = x(s.from);
            const w = Math.max(3, x(s.to ?? now) - from - 1);
            return (
              <g key={i}>
                <rect class={`step ${s.tone}`} x={Math.min(from, width - w)} y={1} width={w} height={20} rx={3} />
                {w > s.label.length * 6.6 + 10 && (
                  <text class={`step-label ${s.tone}`} x={from + w / 2} y={15} text-anchor="middle">
                    {s.label}
                  </text>
                )}
              </g>
            );
          })}
          {scale.gaps.map((g) => (
            <rect key={g.from} class="gap" x={x(g.from)} y={0} width={Math.max(2, x(g.to) - x(g.from))} height={22} />
          ))}
          {marks
            .filter((m) => scale.gaps.length > 0 || fits(m))
            .map((m) => (
              <g key={m.x}>
                <line class="tick" x1={m.x + 0.5} x2={m.x + 0.5} y1={23} y2={27} />
                <text class="axis" x={fits(m) ? m.x + (m.x < 8 ? 0 : 3) : width} y={37} text-anchor={fits(m) ? "start" : "end"}>
                  {m.text}
                </text>
              </g>
            ))}
        </svg>
      </div>
      <ol class="path-steps">
        <li>
          <span class="muted">created</span> <Time ms={task.created_at_ms} />
        </li>
        {steps.map((s, i) => (
          <li key={i} class={s.tone}>
            <span class="label">{s.label}</span> <span class="muted">{duration((s.to ?? now) - s.from)}</span>
          </li>
        ))}
        {task.terminal_at_ms !== null && (
          <li class={tone}>
            <span class="label">
              <Sign tone={tone} /> {word}
            </span>{" "}
            <Time ms={task.terminal_at_ms} />
          </li>
        )}
      </ol>
    </div>
  );
}

const tabs: [string, string][] = [
  ["data", "Data"],
  ["attempts", "Attempts"],
  ["policy", "Policy"],
  ["waitpoints", "Waitpoints"],
  ["audit", "Audit"],
];

export function Task({ id }: { id: string }) {
  const name = hub.value ?? "";
  const task = useApi<TaskAnswer>(hubPath(name, ["tasks", id]), { watch: `task:${id}` });
  const t = task.data;
  const ended = t !== null && t.terminal_at_ms !== null;
  const why = useApi<Explanation>(t !== null && !ended ? hubPath(name, ["tasks", id, "explain"]) : null, { watch: `task:${id}`, every: 4000 });
  const tab = queryOf("tab") || "data";
  const query = Object.fromEntries(route.value.query);
  const done = (): void => {
    task.reload();
    why.reload();
  };
  const calls: (ActionCall | null)[] = t
    ? [
        ended ? { action: "replay_task", args: { task_id: id, expected_replay: t.replay_count }, target: id, onDone: done } : null,
        ended && t.flow_id !== null ? { action: "replay_task", label: "Replay with cascade", args: { task_id: id, expected_replay: t.replay_count, cascade: true }, target: id, onDone: done } : null,
        t.state === "suspended" ? { action: "resume_task", args: { task_id: id }, target: id, onDone: done } : null,
        t.state === "active" && t.lease ? { action: "revoke_lease", args: { task_id: id, expected_epoch: t.lease.epoch, expected_lease_id: t.lease.lease_id }, target: id, onDone: done } : null,
        t.state === "ready" || t.state === "delayed"
          ? { action: "change_priority", args: { task_id: id }, target: id, onDone: done, fields: [{ name: "priority", label: "Priority, 0 to 9000", type: "number", value: String(t.priority), hint: "Higher first." }] }
          : null,
        t.state === "active" ? { action: "complete_task", args: { task_id: id, expected_epoch: t.lease_epoch }, target: id, onDone: done, fields: [{ name: "result", label: "Result (JSON)", type: "json", value: "null" }] } : null,
        t.state === "active"
          ? {
              action: "fail_task",
              args: { task_id: id, expected_epoch: t.lease_epoch },
              target: id,
              onDone: done,
              fields: [
                { name: "class", label: "Class", type: "select", value: "permanent", options: [["permanent", "permanent: no retry"], ["transient", "transient: retry by policy"]] },
                { name: "message", label: "Message", type: "text", value: "" },
              ],
            }
          : null,
        !ended ? { action: "cancel_task", args: { task_id: id, expected_epoch: t.lease_epoch }, target: id, onDone: done } : null,
        ended ? { action: "delete_task", args: { task_id: id }, target: id, onDone: done } : null,
      ]
    : [];
  return (
    <>
      <PageHead
        title={
          <>
            <a href={hubLink(["tasks"])}>Tasks</a> <span class="muted">/</span> <span class="breakable mono-title">{visible(id)}</span>
          </>
        }
        sub={
          t && (
            <>
              <State state={t.state} />
              <span>
                <span class="muted">queue</span> <a href={hubLink(["queues", t.queue])}>{visible(t.queue)}</a>
              </span>
              {t.kind !== "" && (
                <span>
                  <span class="muted">kind</span> {visible(t.kind)}
                </span>
              )}
              <span>
                <span class="muted">priority</span> {number(t.priority)}
              </span>
              {t.flow_id !== null && (
                <span>
                  <span class="muted">flow</span> <IdLink path={["h", name, "flows", t.flow_id]} id={t.flow_key ?? t.flow_id} length={28} />
                </span>
              )}
              {t.dedup_key !== null && (
                <span>
                  <span class="muted">key</span> <code>{visible(t.dedup_key)}</code>
                </span>
              )}
            </>
          )
        }
        tools={
          t && (
            <>
              <Actions calls={calls} menu />
              <SqlButton sql={t.sql} took={t.took_ms} />
            </>
          )
        }
      />
      <Show of={task} rows={10} gone={<Gone id={id} />}>
        {(now) => (
          <>
            <PathBar task={now} />
            {now.progress && (
              <div class="progress-line">
                <progress max={100} value={now.progress.percent ?? 0} aria-label="Progress" />
                <span>
                  {now.progress.percent !== null ? `${number(now.progress.percent)} % ` : ""}
                  {visible(now.progress.message ?? "")} <span class="muted">at</span> <Time ms={now.progress.at_ms} />
                </span>
              </div>
            )}
            {now.failure && (
              <div class="callout bad">
                <p class="strong">
                  {now.terminal_at_ms !== null ? "Failed" : "Last failure"}: {visible(now.failure.class)}
                </p>
                <p class="breakable">{visible(now.failure.message)}</p>
              </div>
            )}
            {now.cancel_reason !== null && (
              <p class="callout warn">
                Cancelled{now.cancelled_by ? ` by ${visible(now.cancelled_by)}` : ""}: {visible(now.cancel_reason)}
              </p>
            )}
            {!ended && (
              <section class="why" aria-label="Why not running?">
                <h2 class="eyebrow">{now.state === "active" ? "Who has it?" : "Why not running?"}</h2>
                <Show of={why} rows={2}>
                  {(e) => <Reasons rows={e.rows.map((r) => explainClaim(r, { hub: name, queue: now.queue }))} sql={e.sql} />}
                </Show>
              </section>
            )}
            <Tabs label="Parts of the task" tabs={tabs} current={tab} hrefOf={(x) => link(route.value.path, { ...query, tab: x === "data" ? null : x, after: null })} />
            {tab === "data" && (
                <div class="grid-two">
                  <div>
                    <Panel title="Payload">
                      <BodyView body={now.payload} path={hubPath(name, ["tasks", id, "body", "payload"])} label="Payload" />
                    </Panel>
                    <Panel title="Result">
                      <BodyView body={now.result} path={hubPath(name, ["tasks", id, "body", "result"])} label="Result" />
                    </Panel>
                    {now.failure && now.failure.details.bytes > 0 && (
                      <Panel title="Failure details">
                        <BodyView body={now.failure.details} path={hubPath(name, ["tasks", id, "body", "failure_details"])} label="Failure details" />
                      </Panel>
                    )}
                  </div>
                  <div>
                    <Panel title="Facts">
                      <dl class="facts">
                        <dt>Attempt</dt>
                        <dd>
                          {number(now.attempt_index)} ({number(now.retry_count)} retries, {number(now.reclaim_count)} reclaims, {number(now.replay_count)} replays)
                        </dd>
                        <dt>Available</dt>
                        <dd>
                          <Time ms={now.available_at_ms} both />
                        </dd>
                        <dt>Deadline</dt>
                        <dd>{now.deadline_ms === null ? <span class="muted">none</span> : <Time ms={now.deadline_ms} both />}</dd>
                        <dt>Lease</dt>
                        <dd>
                          {now.lease ? (
                            <>
                              <a href={hubLink(["workers"], { owner: now.lease.worker_instance })}>{visible(now.lease.worker_instance)}</a> until <Time ms={now.lease.until_ms} both />
                            </>
                          ) : (
                            <span class="muted">none</span>
                          )}
                        </dd>
                        <dt>Epoch</dt>
                        <dd>{now.lease_epoch}</dd>
                        <dt>Capabilities</dt>
                        <dd>{now.capabilities.length === 0 ? <span class="muted">none needed</span> : now.capabilities.map(visible).join(", ")}</dd>
                        <dt>Tags</dt>
                        <dd>
                          <code class="wrap">{visible(now.tags.text ?? (now.tags.bytes > 0 ? "hidden" : "{}"))}</code>
                        </dd>
                        <dt>Updated</dt>
                        <dd>
                          <Time ms={now.updated_at_ms} both />
                        </dd>
                      </dl>
                    </Panel>
                    {(now.upstream.length > 0 || now.downstream.length > 0) && (
                      <Panel title="Neighbours in the flow">
                        <Neighbours title="Before it" rows={now.upstream} more={now.upstream_more} flow={now.flow_id} />
                        <Neighbours title="Behind it" rows={now.downstream} more={now.downstream_more} flow={now.flow_id} />
                      </Panel>
                    )}
                    {now.checkpoint.bytes > 0 && (
                      <Panel title="Checkpoint">
                        <BodyView body={now.checkpoint} path={hubPath(name, ["tasks", id, "body", "checkpoint"])} label="Checkpoint" />
                      </Panel>
                    )}
                  </div>
                </div>
            )}
            {tab === "attempts" && (
              <Panel title="Attempts" flush>
                {now.attempts.length === 0 ? (
                  <Empty title="No attempt yet" text="The first claim begins attempt 1." />
                ) : (
                  <Table
                    caption="Attempts"
                    rows={now.attempts}
                    rowKey={(a) => String(a.attempt_index)}
                    columns={[
                      { key: "n", label: "Attempt", num: true, cell: (a) => number(a.attempt_index) },
                      { key: "kind", label: "Begun by", rank: 2, cell: (a) => a.kind },
                      { key: "outcome", label: "Outcome", cell: (a) => (a.outcome === null ? <State state="running" /> : <State state={a.outcome === "success" ? "completed" : a.outcome === "retry_scheduled" ? "failed" : a.outcome} />) },
                      { key: "worker", label: "Worker", cell: (a) => visible(a.worker_instance ?? a.worker ?? "–") },
                      { key: "started", label: "Started", rank: 2, cell: (a) => <Time ms={a.started_ms} /> },
                      { key: "took", label: "Took", num: true, cell: (a) => <Span from={a.started_ms} to={a.ended_ms} /> },
                      { key: "leases", label: "Leases", num: true, rank: 3, cell: (a) => number(a.lease_count) },
                      { key: "error", label: "Error", rank: 2, wrap: true, cell: (a) => <span class="wrap-any">{visible(a.error ?? "")}</span> },
                    ]}
                  />
                )}
              </Panel>
            )}
            {tab === "policy" && (
              <Panel title="Policy of the task" flush>
                {now.policy.length === 0 ? <Empty title="Set by the queue" text="The task was created without a policy of its own." /> : <PolicyTable rows={now.policy} />}
                <p class="muted pad">What is not set here is set by the policy of the queue or by the defaults.</p>
              </Panel>
            )}
            {tab === "waitpoints" && <Waitpoints id={id} suspension={now.suspension} onDone={done} />}
            {tab === "audit" && <Audit subject={id} />}
          </>
        )}
      </Show>
    </>
  );
}

function Neighbours({ title, rows, more, flow }: { title: string; rows: { task_id: string; key: string; state: string }[]; more: number; flow: string | null }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="plain">
        {rows.map((r) => (
          <li key={r.task_id}>
            <State state={r.state} /> <a href={hubLink(["tasks", r.task_id])}>{visible(r.key)}</a>
          </li>
        ))}
        {more > 0 && flow !== null && (
          <li>
            <a href={hubLink(["flows", flow])}>{number(more)} more in the flow</a>
          </li>
        )}
      </ul>
    </>
  );
}

function Waitpoints({ id, suspension, onDone }: { id: string; suspension: TaskAnswer["suspension"]; onDone: () => void }) {
  const name = hub.value ?? "";
  const points = useApi<Page<Waitpoint>>(hubPath(name, ["tasks", id, "waitpoints"]), { watch: `task:${id}` });
  return (
    <Panel title="Waitpoints" flush tools={<SqlButton sql={points.data?.sql} />}>
      {suspension && (
        <p class="pad">
          Suspended since <Time ms={suspension.since_ms} both />: {suspension.reason_code.replace(/_/g, " ")}
          {suspension.timeout_at_ms !== null && (
            <>
              ; times out <Time ms={suspension.timeout_at_ms} both /> ({suspension.on_timeout})
            </>
          )}
        </p>
      )}
      <Show of={points}>
        {(page) =>
          page.rows.length === 0 ? (
            <Empty title="No waitpoints" text="A worker that suspends the task makes waitpoints, at which signals arrive." />
          ) : (
            <Table
              caption="Waitpoints"
              rows={page.rows}
              rowKey={(w) => w.waitpoint_id}
              columns={[
                { key: "key", label: "Key", cell: (w) => <code>{visible(w.key)}</code> },
                { key: "state", label: "State", cell: (w) => <State state={w.state} /> },
                { key: "signals", label: "Signals", num: true, cell: (w) => number(w.signals) },
                { key: "created", label: "Created", rank: 2, cell: (w) => <Time ms={w.created_at_ms} /> },
                { key: "expires", label: "Expires", rank: 2, cell: (w) => <Time ms={w.expires_at_ms} /> },
                {
                  key: "approve",
                  label: "Action",
                  cell: (w) =>
                    w.closed_at_ms === null && (
                      <Actions
                        quiet
                        calls={[
                          {
                            action: "approve_task",
                            args: { task_id: id, waitpoint_id: w.waitpoint_id },
                            target: w.key,
                            onDone: () => {
                              points.reload();
                              onDone();
                            },
                          },
                        ]}
                      />
                    ),
                },
              ]}
            />
          )
        }
      </Show>
    </Panel>
  );
}
