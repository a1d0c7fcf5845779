import { test } from "node:test";
import assert from "node:assert/strict";
import type { FlowEdge, FlowMember } from "../../src/api";
import { commonName, flowGraph, tally, toDot } from "../../src/flow_graph";
import { layOut, toSvg } from "../../src/layout";

const member = (key: string, queue = "q", state = "completed"): FlowMember => ({ task_id: `id-${key}`, key, state, queue, kind: "", started_at_ms: null, terminal_at_ms: null, attempt_index: 1, failure_class: null });
const edge = (from: string, to: string): FlowEdge => ({ upstream_id: `id-${from}`, downstream_id: `id-${to}`, state: "open", pass_as: null });

test("the order of rows does not change the picture", () => {
  const members = ["d", "a", "c", "b"].map((k) => member(k));
  const edges = [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")];
  const one = flowGraph(members, edges, new Set());
  const two = flowGraph([...members].reverse(), [...edges].reverse(), new Set());
  assert.deepEqual(one, two);
  assert.deepEqual(layOut(one, 184, 44), layOut(two, 184, 44));
  const layout = layOut(one, 184, 44);
  const x = new Map(layout.nodes.map((n) => [n.id, n.x]));
  assert.ok(x.get("id-a")! < x.get("id-b")! && x.get("id-b")! < x.get("id-d")!);
});

test("many equal members fold into one node, and open again", () => {
  const many = Array.from({ length: 950 }, (_v, i) => member(`resize-${String(i).padStart(3, "0")}`, "img", i < 900 ? "completed" : i < 948 ? "active" : "failed"));
  const members = [member("plan"), ...many, member("pack")];
  const edges = [...many.map((m) => ({ ...edge("plan", "x"), downstream_id: m.task_id })), ...many.map((m) => ({ ...edge("x", "pack"), upstream_id: m.task_id }))];
  const folded = flowGraph(members, edges, new Set());
  assert.deepEqual(folded.nodes.map((n) => [n.label, n.members.length]).sort(), [["pack", 1], ["plan", 1], ["resize", 950]]);
  assert.equal(folded.edges.length, 2);
  const group = folded.nodes.find((n) => n.members.length > 1)!;
  assert.deepEqual([...tally(group.members)], [["completed", 900], ["active", 48], ["failed", 2]]);
  assert.equal(flowGraph(members, edges, new Set([group.id])).nodes.length, 952);
  // States do not fold or unfold anything: the shape stays while it is watched.
  const later = flowGraph(members.map((m) => ({ ...m, state: "completed" })), edges, new Set());
  assert.deepEqual(later.nodes.map((n) => n.id), folded.nodes.map((n) => n.id));
});

test("members of other queues do not fold together", () => {
  const members = [...Array.from({ length: 6 }, (_v, i) => member(`a${i}`, "one")), ...Array.from({ length: 6 }, (_v, i) => member(`b${i}`, "two"))];
  assert.equal(flowGraph(members, [], new Set(), 10).nodes.length, 2);
});

test("names of groups", () => {
  assert.equal(commonName(["resize-001", "resize-002"]), "resize");
  assert.equal(commonName(["a", "b"]), "a");
});

test("files have hostile names as text", () => {
  const graph = flowGraph([member('a"<b>&\\'), member("c")], [{ upstream_id: 'id-a"<b>&\\', downstream_id: "id-c", state: "open", pass_as: null }], new Set());
  assert.match(toDot(graph), /"id-a\\"<b>&\\\\" -> "id-c"/);
  const svg = toSvg(layOut(graph, 184, 44), graph, 184, 44, () => "<x>");
  assert.ok(!svg.includes("<b>") && !svg.includes("<x>"));
  assert.match(svg, /&#60;b&#62;/);
});
