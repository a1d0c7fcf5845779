// Schedules: tasks that are created by the clock.
import { Actions } from "../actions";
import { hubPath, type Page, type Schedule } from "../api";
import { Empty, IdLink, PageHead, Show, SqlButton, Time } from "../components/bits";
import { Sign } from "../components/sign";
import { Table } from "../components/table";
import { cronWords } from "../cron";
import { visible } from "../format";
import { useApi } from "../load";
import { hub, hubLink, zone } from "../state";
import { clock } from "../time";

export function Schedules() {
  const name = hub.value ?? "";
  const list = useApi<Page<Schedule>>(hubPath(name, ["schedules"]), { every: 10_000 });
  const create = {
    action: "create_schedule",
    args: {},
    target: "",
    onDone: list.reload,
    fields: [
      { name: "name", label: "Name", type: "text" as const, value: "" },
      { name: "cron", label: "Cron", type: "text" as const, value: "30 2 * * mon-fri", hint: "minute hour day month weekday" },
      { name: "time_zone", label: "Time zone", type: "text" as const, value: zone.value },
      { name: "task", label: "Task (JSON)", type: "json" as const, value: '{"queue": "reports", "kind": "nightly"}' },
      { name: "catch_up", label: "After a downtime", type: "select" as const, value: "one", options: [["one", "create the latest that was missed"], ["all", "create each that was missed"], ["none", "create none"]] as [string, string][] },
    ],
  };
  return (
    <>
      <PageHead
        title="Schedules"
        tools={
          <>
            <Actions calls={[create]} />
            <SqlButton sql={list.data?.sql} took={list.data?.took_ms} />
          </>
        }
      />
      <section class="panel flush">
        <Show of={list}>
          {({ rows }) =>
            rows.length === 0 ? (
              <Empty title="No schedules" text="A schedule creates a task at each of its times." sql={`SELECT ${name}.create_schedule('nightly', '30 2 * * mon-fri', '{"queue": "reports", "kind": "nightly"}', 'Europe/Berlin');`} />
            ) : (
              <Table
                caption="Schedules"
                rows={rows}
                rowKey={(s) => s.name}
                columns={[
                  {
                    key: "name",
                    label: "Schedule",
                    wrap: true,
                    cell: (s) => (
                      <div class="stack">
                        <span class="strong">
                          {visible(s.name)} {s.paused && <span class="chip warn">paused</span>}
                        </span>
                        <span class="muted small">
                          queue <a href={hubLink(["queues", s.queue])}>{visible(s.queue)}</a>
                        </span>
                        {s.last_error && (
                          <span class="bad-text small wrap-any">
                            <Sign tone="bad" /> {visible(s.last_error)}
                          </span>
                        )}
                      </div>
                    ),
                  },
                  {
                    key: "cron",
                    label: "When",
                    wrap: true,
                    cell: (s) => (
                      <div class="stack">
                        <span>{cronWords(s.cron) ?? visible(s.cron)}</span>
                        <span class="muted small">
                          <code class="nowrap">{visible(s.cron)}</code> {visible(s.time_zone)}
                        </span>
                      </div>
                    ),
                  },
                  {
                    key: "next",
                    label: "Next times",
                    rank: 2,
                    cell: (s) =>
                      s.paused ? (
                        <span class="muted">none while paused</span>
                      ) : (
                        <ul class="plain">
                          {s.next_ms.map((ms, i) => (
                            <li key={ms}>
                              <Time ms={ms} both={i === 0} />
                              {s.time_zone !== zone.value && (
                                <span class="muted small">
                                  {" "}
                                  {clock(ms, s.time_zone)} there
                                </span>
                              )}
                            </li>
                          ))}
                        </ul>
                      ),
                  },
                  {
                    key: "last",
                    label: "Last",
                    rank: 3,
                    cell: (s) => (
                      <div class="stack">
                        <Time ms={s.last_due_ms} />
                        {s.last_task_id !== null && <IdLink path={["h", name, "tasks", s.last_task_id]} id={s.last_task_id} length={18} />}
                      </div>
                    ),
                  },
                  {
                    key: "actions",
                    label: "Actions",
                    cell: (s) => (
                      <Actions
                        quiet
                        calls={[
                          s.paused ? { action: "resume_schedule", args: { name: s.name }, target: s.name, onDone: list.reload } : { action: "pause_schedule", args: { name: s.name }, target: s.name, onDone: list.reload },
                          { action: "drop_schedule", args: { name: s.name }, target: s.name, onDone: list.reload },
                        ]}
                      />
                    ),
                  },
                ]}
              />
            )
          }
        </Show>
      </section>
    </>
  );
}
