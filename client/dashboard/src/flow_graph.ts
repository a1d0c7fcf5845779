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

/**
 * Nodes and edges in an order that depends on keys alone, so that the same flow gives the same picture. Above
 * `limit` members, those with equal upstreams, downstreams and queue fold into one node, unless their group is
 * in `opened` (named by its first member).
 */
export function flowGraph(members: FlowMember[], edges: FlowEdge[], opened: ReadonlySet<string>, limit = maxVisible): FlowGraph {
  const sorted = [...members].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.task_id < b.task_id ? -1 : 1));
  const known = new Set(sorted.map((m) => m.task_id));
  const before = new Map<string, string[]>();
  const after = new Map<string, string[]>();
  for (const edge of edges) {
    if (!known.has(edge.upstream_id) || !known.has(edge.downstream_id)) continue;
    (before.get(edge.downstream_id) ?? before.set(edge.downstream_id, []).get(edge.downstream_id)!).push(edge.upstream_id);
    (after.get(edge.upstream_id) ?? after.set(edge.upstream_id, []).get(edge.upstream_id)!).push(edge.downstream_id);
  }

  const nodeOf = new Map<string, string>();
  const nodes: FlowNode[] = [];
  if (sorted.length <= limit) {
    for (const m of sorted) {
      nodes.push({ id: m.task_id, label: m.key, members: [m] });
      nodeOf.set(m.task_id, m.task_id);
    }
  } else {
    const groups = new Map<string, FlowMember[]>();
    for (const m of sorted) {
      const signature = [
        (before.get(m.task_id) ?? []).slice().sort().join(","),
        (after.get(m.task_id) ?? []).slice().sort().join(","),
        m.queue,
      ].join("|");
      const group = groups.get(signature);
      if (group) group.push(m);
      else groups.set(signature, [m]);
    }
    for (const group of groups.values()) {
      const first = group[0]!;
      if (group.length === 1 || opened.has(first.task_id)) {
        for (const m of group) {
          nodes.push({ id: m.task_id, label: m.key, members: [m] });
          nodeOf.set(m.task_id, m.task_id);
        }
      } else {
        nodes.push({ id: first.task_id, label: commonName(group.map((m) => m.key)), members: group });
        for (const m of group) nodeOf.set(m.task_id, first.task_id);
      }
    }
  }

  const place = new Map(sorted.map((m, i) => [m.task_id, i]));
  const seen = new Set<string>();
  const drawn: { from: string; to: string }[] = [];
  for (const m of sorted) {
    for (const up of (before.get(m.task_id) ?? []).slice().sort((a, b) => place.get(a)! - place.get(b)!)) {
      const from = nodeOf.get(up)!;
      const to = nodeOf.get(m.task_id)!;
      const key = `${from} ${to}`;
      if (from === to || seen.has(key)) continue;
      seen.add(key);
      drawn.push({ from, to });
    }
  }
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
