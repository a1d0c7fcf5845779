// What of a flow is drawn: members, or folded groups of equal ones. Pure.
import type { FlowEdge, FlowMember } from "./api";

export interface FlowNode {
  /** Id of the member, or of the first member of a group. */
  id: string;
  label: string;
  members: FlowMember[];
}

export interface FlowGraph {
  nodes: FlowNode[];
  edges: { from: string; to: string }[];
}

export const maxVisible = 500;
/** More nodes than this, or more edges, are not laid out: the browser would stand still. */
export const mostDrawn = { nodes: 1000, edges: 5000 };
const portion = 100; // members of an opened group that are shown at once

/** Counts of members by state. */
export function tally(members: FlowMember[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const member of members) counts.set(member.state, (counts.get(member.state) ?? 0) + 1);
  return counts;
}

/** What is common to the names of a group: `resize` of `resize-001`, `resize-002`. */
export function commonName(keys: string[]): string {
  let prefix = keys[0] ?? "";
  for (const key of keys) {
    while (!key.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  return prefix.replace(/[\s\d._:#/-]+$/, "") || keys[0] || "";
}

/** Members that wait for the same ones, release the same ones and have the same queue. */
function equalNeighbours(members: FlowMember[], before: number[][], after: number[][]): number[] {
  return numbered(members.map((m, i) => `${before[i]!.join()}|${after[i]!.join()}|${m.queue}`));
}

/** The number of each text: 0 for the first one and all that equal it, 1 for the next, and so on. */
function numbered(texts: string[]): number[] {
  const known = new Map<string, number>();
  return texts.map((text) => known.get(text) ?? known.set(text, known.size).get(text)!);
}

/** How many members there are at most on a way to each one. */
function layers(before: number[][], after: number[][]): number[] {
  const layer = before.map(() => 0);
  const waits = before.map((list) => list.length);
  const free = [...waits.keys()].filter((i) => waits[i] === 0);
  for (let n = 0; n < free.length; n++) {
    for (const next of after[free[n]!]!) {
      layer[next] = Math.max(layer[next]!, layer[free[n]!]! + 1);
      waits[next]!--;
      if (waits[next] === 0) free.push(next);
    }
  }
  return layer;
}

/**
 * Members of one layer and queue whose neighbours are in the same groups: the finest such groups of which there
 * are at most `limit`, and those of layer and queue if even these are more. Groups of different layers have no cycle.
 */
function similarNeighbours(members: FlowMember[], before: number[][], after: number[][], limit: number): number[] {
  const layer = layers(before, after);
  let groups = numbered(members.map((m, i) => `${layer[i]} ${m.queue}`));
  const around = (list: number[]): string => [...new Set(list.map((i) => groups[i]!))].sort((a, b) => a - b).join();
  for (let count = 0; ; ) {
    const finer = numbered(members.map((_m, i) => `${groups[i]}|${around(before[i]!)}|${around(after[i]!)}`));
    const found = new Set(finer).size;
    if (found === count || found > limit) return groups;
    count = found;
    groups = finer;
  }
}

/**
 * Nodes and edges in an order that depends on keys alone, so that the same flow gives the same picture. Above
 * `limit` members, those with equal upstreams, downstreams and queue fold into one node; if that leaves too many,
 * those whose neighbours fold alike. A group whose node is in `opened` shows its members, a large one portions of
 * them that open as well.
 */
export function flowGraph(members: FlowMember[], edges: FlowEdge[], opened: ReadonlySet<string>, limit = maxVisible): FlowGraph {
  const sorted = [...members].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.task_id < b.task_id ? -1 : 1));
  const place = new Map(sorted.map((m, i) => [m.task_id, i]));
  const before: number[][] = sorted.map(() => []);
  const after: number[][] = sorted.map(() => []);
  for (const edge of edges) {
    const up = place.get(edge.upstream_id);
    const down = place.get(edge.downstream_id);
    if (up === undefined || down === undefined) continue;
    before[down]!.push(up);
    after[up]!.push(down);
  }
  for (const list of [...before, ...after]) list.sort((a, b) => a - b);

  const nodeOf: string[] = [];
  const nodes: FlowNode[] = [];
  const add = (id: string, label: string, group: number[]): void => {
    nodes.push({ id, label, members: group.map((i) => sorted[i]!) });
    for (const i of group) nodeOf[i] = id;
  };
  const addEach = (group: number[]): void => group.forEach((i) => add(sorted[i]!.task_id, sorted[i]!.key, [i]));
  if (sorted.length <= limit) {
    addEach([...sorted.keys()]);
  } else {
    let groupOf = equalNeighbours(sorted, before, after);
    if (new Set(groupOf).size > limit) groupOf = similarNeighbours(sorted, before, after, limit);
    const groups = new Map<number, number[]>();
    groupOf.forEach((group, i) => (groups.get(group) ?? groups.set(group, []).get(group)!).push(i));
    for (const group of groups.values()) {
      const id = sorted[group[0]!]!.task_id;
      if (group.length === 1 || (opened.has(id) && group.length <= portion)) {
        addEach(group);
      } else if (!opened.has(id)) {
        add(id, commonName(group.map((i) => sorted[i]!.key)), group);
      } else {
        for (let from = 0; from < group.length; from += portion) {
          const part = group.slice(from, from + portion);
          const partId = `${id} ${from}`;
          if (opened.has(partId)) addEach(part);
          else add(partId, `${sorted[part[0]!]!.key} …`, part);
        }
      }
    }
  }

  const seen = new Set<string>();
  const drawn: { from: string; to: string }[] = [];
  before.forEach((list, i) => {
    for (const up of list) {
      const from = nodeOf[up]!;
      const to = nodeOf[i]!;
      const key = `${from} ${to}`;
      if (from === to || seen.has(key)) continue;
      seen.add(key);
      drawn.push({ from, to });
    }
  });
  return { nodes, edges: drawn };
}

/** Members as they can run: each behind those that it waits for, in each layer by key. */
export function inOrder(members: FlowMember[], edges: FlowEdge[]): FlowMember[] {
  const layer = new Map(members.map((m) => [m.task_id, 0]));
  const waits = new Map(members.map((m) => [m.task_id, 0]));
  const after = new Map<string, string[]>();
  for (const e of edges) {
    if (!layer.has(e.upstream_id) || !layer.has(e.downstream_id)) continue;
    waits.set(e.downstream_id, waits.get(e.downstream_id)! + 1);
    (after.get(e.upstream_id) ?? after.set(e.upstream_id, []).get(e.upstream_id)!).push(e.downstream_id);
  }
  const free = members.filter((m) => waits.get(m.task_id) === 0).map((m) => m.task_id);
  for (let i = 0; i < free.length; i++) {
    for (const next of after.get(free[i]!) ?? []) {
      layer.set(next, Math.max(layer.get(next)!, layer.get(free[i]!)! + 1));
      waits.set(next, waits.get(next)! - 1);
      if (waits.get(next) === 0) free.push(next);
    }
  }
  return [...members].sort((a, b) => layer.get(a.task_id)! - layer.get(b.task_id)! || (a.key < b.key ? -1 : a.key > b.key ? 1 : a.task_id < b.task_id ? -1 : 1));
}

/** The members and edges of a flow, a JSON object a line. */
export function toLines(members: FlowMember[], edges: FlowEdge[]): string {
  return [...members.map((member) => ({ member })), ...edges.map((edge) => ({ edge }))].map((line) => `${JSON.stringify(line)}\n`).join("");
}

function dotString(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&").replace(/[\u0000-\u001f]/g, " ")}"`;
}

/** The flow in the language of Graphviz. */
export function toDot(graph: FlowGraph): string {
  const lines = ["digraph flow {", "  rankdir=LR;", "  node [shape=box];"];
  for (const node of graph.nodes) {
    const states = [...tally(node.members)].map(([state, n]) => (node.members.length === 1 ? state : `${n} ${state}`)).join(", ");
    lines.push(`  ${dotString(node.id)} [label=${dotString(`${node.label} (${states})`)}];`);
  }
  for (const edge of graph.edges) lines.push(`  ${dotString(edge.from)} -> ${dotString(edge.to)};`);
  lines.push("}", "");
  return lines.join("\n");
}
