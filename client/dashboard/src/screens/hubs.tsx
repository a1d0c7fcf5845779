// All hubs of the database, a line each.
import type { Answer, HubRow } from "../api";
import { Empty, PageHead, Show, Spark, SqlButton } from "../components/bits";
import { Table } from "../components/table";
import { bytes, count, number, rate, visible } from "../format";
import { useApi } from "../load";
import { link } from "../state";
import { shortDuration } from "../time";

export function Hubs() {
  const hubs = useApi<Answer & { rows: HubRow[] }>("/hubs", { every: 4000 });
  return (
    <>
      <PageHead title="Hubs" tools={<SqlButton sql={hubs.data?.sql} took={hubs.data?.took_ms} />} />
      <section class="panel flush">
        <Show of={hubs}>
          {({ rows }) =>
            rows.length === 0 ? (
              <Empty title="No hub that you may see" text="A hub is a schema with its own queues, tasks and orchestrations." sql="SELECT belay.create_hub('app');" />
            ) : (
              <Table
                caption="Hubs of this database"
                rows={rows}
                rowKey={(h) => h.name}
                rowHref={(h) => link(["h", h.name])}
                columns={[
                  {
                    key: "name",
                    label: "Hub",
                    cell: (h) => (
                      <>
                        <a class="strong" href={link(["h", h.name])}>
                          {visible(h.name)}
                        </a>
                        {!h.here && <span class="chip">on {visible(h.place ?? "another server")}</span>}
                        {h.paused_queues !== null && h.paused_queues.length > 0 && <span class="chip warn">paused: {h.paused_queues.join(", ")}</span>}
                        {h.current === false && <span class="chip warn">version {h.version}, not current</span>}
                      </>
                    ),
                  },
                  { key: "oldest", label: "Oldest", num: true, cell: (h) => shortDuration(h.oldest_ready_ms) },
                  { key: "leases", label: "Leased", num: true, cell: (h) => number(h.leases), rank: 2 },
                  { key: "in", label: "In/s", num: true, cell: (h) => rate(h.rates?.in), rank: 2 },
                  { key: "done", label: "Done/s", num: true, cell: (h) => rate(h.rates?.done), rank: 2 },
                  { key: "dead", label: "Dead", num: true, cell: (h) => <span class={h.dead && h.dead.n > 0 ? "bad-text" : ""}>{count(h.dead)}</span> },
                  { key: "size", label: "Size", num: true, cell: (h) => bytes(h.size_bytes), rank: 2 },
                  { key: "owner", label: "Owner", cell: (h) => visible(h.owner), rank: 3 },
                  { key: "spark", label: "Done, 15 min", cell: (h) => <Spark values={h.spark} />, rank: 3 },
                ]}
              />
            )
          }
        </Show>
      </section>
    </>
  );
}
