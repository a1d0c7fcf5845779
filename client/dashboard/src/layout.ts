// Layered layout, left to right. Loaded when a flow is opened.
import dagre from "@dagrejs/dagre";
import type { FlowGraph } from "./flow_graph";

export interface Layout {
  width: number;
  height: number;
  nodes: { id: string; x: number; y: number }[];
  edges: { from: string; to: string; points: Point[]; path: string }[];
}

const round = (n: number): number => Math.round(n * 10) / 10;

interface Point {
  x: number;
  y: number;
}

/** A smooth line through the points, level at both ends. */
export function smooth(points: Point[]): string {
  if (points.length === 0) return "";
  let d = `M${round(points[0]!.x)},${round(points[0]!.y)}`;
  // Where it passes a point it has the direction of its neighbours, and less of it than would swing back.
  const slope = points.map((p, i) => {
    const a = points[i - 1];
    const b = points[i + 1];
    return a && b && b.x > a.x && (b.y - p.y) * (p.y - a.y) > 0 ? (b.y - a.y) / (b.x - a.x) : 0;
  });
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1]!;
    const b = points[i]!;
    const reach = (b.x - a.x) / 2;
    d += ` C${round(a.x + reach)},${round(a.y + slope[i - 1]! * reach)} ${round(b.x - reach)},${round(b.y - slope[i]! * reach)} ${round(b.x)},${round(b.y)}`;
  }
  return d;
}

/** Where edges meet a side of a node: spread over it, in the order of their other ends. */
function ports(edges: { from: string; to: string }[], side: "from" | "to", at: (id: string) => Point, height: number): Map<string, number> {
  const bySide = new Map<string, { key: string; y: number }[]>();
  for (const e of edges) {
    const other = at(side === "from" ? e.to : e.from);
    const list = bySide.get(e[side]) ?? [];
    list.push({ key: `${e.from} ${e.to}`, y: other.y });
    bySide.set(e[side], list);
  }
  const out = new Map<string, number>();
  for (const list of bySide.values()) {
    list.sort((a, b) => a.y - b.y || (a.key < b.key ? -1 : 1));
    const gap = Math.min(12, (height - 12) / Math.max(1, list.length - 1));
    list.forEach((e, i) => out.set(e.key, (i - (list.length - 1) / 2) * gap));
  }
  return out;
}

export function layOut(graph: FlowGraph, width: number, height: number): Layout {
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 56, marginx: 0, marginy: 16, ranker: "network-simplex" });
  g.setDefaultEdgeLabel(() => ({}));
  for (const node of graph.nodes) g.setNode(node.id, { width, height });
  for (const edge of graph.edges) g.setEdge(edge.from, edge.to);
  dagre.layout(g);
  const at = (id: string): Point => g.node(id) as Point;
  const ends = ports(graph.edges, "to", at, height);
  const size = g.graph() as { width?: number; height?: number };
  return {
    width: size.width ?? width,
    height: size.height ?? height,
    nodes: graph.nodes.map((node) => {
      const at = g.node(node.id) as { x: number; y: number };
      return { id: node.id, x: round(at.x - width / 2), y: round(at.y - height / 2) };
    }),
    edges: graph.edges.map((edge) => {
      const label = g.edge(edge.from, edge.to) as { points: Point[] };
      const a = at(edge.from);
      const b = at(edge.to);
      const start = { x: a.x + width / 2, y: a.y };
      const end = { x: b.x - width / 2, y: b.y + ends.get(`${edge.from} ${edge.to}`)! };
      // To the next layer in one sweep; past other layers by the places that the layout kept free.
      const between = label.points.slice(1, -1).filter((p) => p.x > start.x && p.x < end.x);
      const points = [start, ...(between.length > 1 ? between : []), end];
      return { ...edge, points, path: smooth(points) };
    }),
  };
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b-\u001f]/g, "?");

/** The picture as a file of its own. */
export function toSvg(layout: Layout, graph: FlowGraph, width: number, height: number, textOf: (id: string) => string): string {
  const label = new Map(graph.nodes.map((n) => [n.id, n.members.length > 1 ? `${n.label} × ${n.members.length}` : n.label]));
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 ${Math.ceil(layout.width + 16)} ${Math.ceil(layout.height + 16)}" font-family="sans-serif" font-size="12">`,
    ...layout.edges.map((e) => `<path d="${e.path}" fill="none" stroke="#666"/>`),
    ...layout.nodes.map(
      (n) =>
        `<g transform="translate(${n.x} ${n.y})"><rect width="${width}" height="${height}" rx="6" fill="#fff" stroke="#666"/>` +
        `<text x="12" y="18">${escape(label.get(n.id) ?? "")}</text><text x="12" y="35" fill="#555">${escape(textOf(n.id))}</text></g>`,
    ),
    "</svg>",
  ];
  return parts.join("\n");
}
