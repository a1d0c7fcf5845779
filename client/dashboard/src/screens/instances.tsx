// Orchestrations.
import type { InstanceRow } from "../api";
import { Empty, IdLink, PageHead, Span, State, Tabs, Ago } from "../components/bits";
import { Filters, List, useList } from "../components/list";
import { visible } from "../format";
import { hub, hubLink, link, queryOf, rights, route, zone } from "../state";
import { parseLocal } from "../time";

const tabs: [string, string][] = [
  ["running", "Running"],
  ["failed", "Failed"],
  ["ended", "Ended"],
  ["all", "All"],
];

export function createdRange(filter: Record<string, unknown>): void {
  const from = parseLocal(queryOf("created_from"), zone.value);
  const to = parseLocal(queryOf("created_to"), zone.value);
  if (from !== null) filter["created_from_ms"] = from;
  if (to !== null) filter["created_to_ms"] = to;
}

export function Instances() {
  const name = hub.value ?? "";
  const tab = queryOf("tab") || "running";
  const filter: Record<string, unknown> = {};
  for (const key of ["name", "prefix", "output", "input"]) if (queryOf(key)) filter[key] = queryOf(key);
  createdRange(filter);
  const order = tab === "all" ? "created" : tab;
  const list = useList<InstanceRow>(["instances"], { filter, order }, (i) => i.instance_id);
  const query = Object.fromEntries(route.value.query);
  return (
    <>
      <PageHead title="Orchestrations" />
      <Tabs label="Instances by status" tabs={tabs} current={tab} hrefOf={(t) => link(route.value.path, { ...query, tab: t === "running" ? null : t, after: null })} />
      <Filters
        fields={[
          { key: "name", label: "Name" },
          { key: "prefix", label: "Id begins with" },
          { key: "created_from", label: "Created from", type: "datetime-local" },
          { key: "created_to", label: "Created to", type: "datetime-local" },
          ...(rights.value?.body_filters
            ? [
                { key: "input", label: "Input contains" },
                { key: "output", label: "Output contains" },
              ]
            : []),
        ]}
      />
      <section class="panel flush">
        <List
          list={list}
          caption={`Orchestrations, ${tab}`}
          what="instance"
          filter={{ ...filter, order }}
          filtered={Object.keys(filter).length > 0}
          idOf={(i) => i.instance_id}
          hrefOf={(i) => hubLink(["instances", i.instance_id])}
          bulkActions={["cancel_instance"]}
          empty={<Empty title={tab === "running" ? "No orchestration is running" : tab === "failed" ? "No orchestration has failed" : "No orchestrations"} text="Instances appear here when they are started." sql={`SELECT ${name}.start('Bill', '{"order": 7}', id => 'order-7');`} />}
          columns={[
            { key: "id", label: "Instance", cell: (i) => <IdLink path={["h", name, "instances", i.instance_id]} id={i.instance_id} length={30} /> },
            { key: "name", label: "Name", cell: (i) => visible(i.name) },
            { key: "version", label: "Version", rank: 3, cell: (i) => <span class="muted">{visible(i.version)}</span> },
            { key: "status", label: "Status", cell: (i) => <State state={i.status} /> },
            { key: "age", label: tab === "running" ? "Running for" : "Took", num: true, rank: 2, cell: (i) => <Span from={i.created_at_ms} to={i.ended_at_ms} /> },
            { key: "custom", label: "Custom status", rank: 3, grow: true, cell: (i) => <span class="ellipsis">{visible(i.custom_status ?? "")}</span> },
            { key: "created", label: "Created", num: true, rank: 2, cell: (i) => <Ago ms={i.created_at_ms} /> },
          ]}
        />
      </section>
    </>
  );
}
