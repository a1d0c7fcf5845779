import { test } from "node:test";
import assert from "node:assert/strict";
import type { FlowEdge, FlowMember } from "../../src/api";
import { commonName, flowGraph, inOrder, mostDrawn, tally, toDot, toLines } from "../../src/flow_graph";
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
  // Nor do the ids of the members.
  const other = (id: string): string => `${9 - id.charCodeAt(3) % 10}${id}`;
  const renamed = flowGraph(members.map((m) => ({ ...m, task_id: other(m.task_id) })), edges.map((e) => ({ ...e, upstream_id: other(e.upstream_id), downstream_id: other(e.downstream_id) })), new Set());
  assert.deepEqual(renamed.edges, one.edges.map((e) => ({ from: other(e.from), to: other(e.to) })));
  const layout = layOut(one, 184, 44);
  const x = new Map(layout.nodes.map((n) => [n.id, n.x]));
  assert.ok(x.get("id-a")! < x.get("id-b")! && x.get("id-b")! < x.get("id-d")!);
});

test("members stand behind those that they wait for, then by key", () => {
  const members = ["z", "b", "join", "a", "late"].map((k) => member(k));
  const edges = [edge("z", "a"), edge("z", "b"), edge("a", "join"), edge("b", "join"), edge("z", "late"), edge("join", "late")];
  assert.deepEqual(inOrder(members, edges).map((m) => m.key), ["z", "a", "b", "join", "late"]);
  assert.deepEqual(inOrder([...members].reverse(), [...edges].reverse()).map((m) => m.key), ["z", "a", "b", "join", "late"]);
  const lines = toLines(members, edges).trimEnd().split("\n").map((l) => JSON.parse(l) as Record<string, unknown>);
  assert.equal(lines.length, 11);
  assert.deepEqual([lines[0]!["member"], lines[5]!["edge"]], [members[0], edges[0]]);
});

test("edges end apart from each other, and sweep to the next layer without a bend", () => {
  const members = ["a", "b", "c", "d"].map((k) => member(k));
  const { edges, nodes } = layOut(flowGraph(members, [edge("a", "d"), edge("b", "d"), edge("c", "d")], new Set()), 184, 44);
  const at = new Map(nodes.map((n) => [n.id, n]));
  const ends = edges.map((e) => e.points[e.points.length - 1]!.y).sort((x, y) => x - y);
  assert.ok(ends[1]! - ends[0]! >= 8 && ends[2]! - ends[1]! >= 8, ends.join());
  for (const y of ends) assert.ok(y > at.get("id-d")!.y && y < at.get("id-d")!.y + 44);
  for (const e of edges) assert.equal(e.points.length, 2);
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
  // A large group opens in portions, and each of these in its members.
  const opened = flowGraph(members, edges, new Set([group.id]));
  assert.deepEqual(opened.nodes.filter((n) => n.members.length > 1).map((n) => n.members.length), [100, 100, 100, 100, 100, 100, 100, 100, 100, 50]);
  assert.equal(opened.nodes.filter((n) => n.label === "resize-900 …").length, 1);
  const part = opened.nodes.find((n) => n.label === "resize-100 …")!;
  const deeper = flowGraph(members, edges, new Set([group.id, part.id]));
  assert.equal(deeper.nodes.length, 2 + 9 + 100);
  assert.equal(deeper.edges.length, 2 * 109);
  // States do not fold or unfold anything: the shape stays while it is watched.
  const later = flowGraph(members.map((m) => ({ ...m, state: "completed" })), edges, new Set());
  assert.deepEqual(later.nodes.map((n) => n.id), folded.nodes.map((n) => n.id));
});

test("10,000 members fold in time: by equal neighbours, by neighbours that fold alike, by layer", () => {
  const begun = Date.now();
  const range = (n: number): number[] => Array.from({ length: n }, (_v, i) => i);
  // Pairs: no two members have the same neighbours.
  const pairs = flowGraph(range(5000).flatMap((i) => [member(`load-${i}`), member(`save-${i}`)]), range(5000).map((i) => edge(`load-${i}`, `save-${i}`)), new Set());
  assert.deepEqual(pairs.nodes.map((n) => [n.label, n.members.length]), [["load", 5000], ["save", 5000]]);
  assert.deepEqual(pairs.edges, [{ from: "id-load-0", to: "id-save-0" }]);
  // One of the pairs goes on: it stays apart.
  const tail = flowGraph([...range(600).flatMap((i) => [member(`load-${i}`), member(`save-${i}`)]), member("after")], [...range(600).map((i) => edge(`load-${i}`, `save-${i}`)), edge("save-7", "after")], new Set());
  assert.deepEqual(tail.nodes.map((n) => [n.label, n.members.length]), [["after", 1], ["load", 599], ["load-7", 1], ["save", 599], ["save-7", 1]]);
  // Edges at random between layers: no cycle, and few enough nodes.
  let seed = 1;
  const random = (n: number): number => (seed = (seed * 48271) % 2147483647) % n;
  const web = flowGraph(range(10_000).map((i) => member(`m-${i}`)), range(100_000).flatMap((i) => (i < 90_000 ? [edge(`m-${random(1000) + Math.floor(i / 10_000) * 1000}`, `m-${(Math.floor(i / 10_000) + 1) * 1000 + random(1000)}`)] : [])), new Set());
  assert.ok(web.nodes.length <= 500, `${web.nodes.length}`);
  assert.equal(web.nodes.reduce((sum, n) => sum + n.members.length, 0), 10_000);
  layOut(web, 184, 44);
  // A chain folds nowhere: the page lists it.
  const chain = flowGraph(range(10_000).map((i) => member(`c-${i}`)), range(9_999).map((i) => edge(`c-${i}`, `c-${i + 1}`)), new Set());
  assert.equal(chain.nodes.length, 10_000);
  assert.ok(chain.nodes.length > mostDrawn.nodes);
  assert.ok(Date.now() - begun < 20_000, `${Date.now() - begun} ms`);
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
