// Layered layout, left to right. Loaded when a flow is opened.
import dagre from "@dagrejs/dagre";
import type { FlowGraph } from "./flow_graph";

export interface Layout {
  width: number;
  height: number;
  nodes: { id: string; x: number; y: number }[];
  edges: { from: string; to: string; points: { x: number; y: number }[]; path: string }[];
}

const round = (n: number): number => Math.round(n * 10) / 10;

/** A smooth line through the points. */
export function smooth(points: { x: number; y: number }[]): string {
  if (points.length === 0) return "";
  const [first, ...rest] = points;
  let d = `M${round(first!.x)},${round(first!.y)}`;
  let last = first!;
  for (const p of rest) {
    const middle = (last.x + p.x) / 2;
    d += ` C${round(middle)},${round(last.y)} ${round(middle)},${round(p.y)} ${round(p.x)},${round(p.y)}`;
    last = p;
  }
  return d;
}

export function layOut(graph: FlowGraph, width: number, height: number): Layout {
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 56, marginx: 0, marginy: 16, ranker: "network-simplex" });
  g.setDefaultEdgeLabel(() => ({}));
  for (const node of graph.nodes) g.setNode(node.id, { width, height });
  for (const edge of graph.edges) g.setEdge(edge.from, edge.to);
  dagre.layout(g);
  const size = g.graph() as { width?: number; height?: number };
  return {
    width: size.width ?? width,
    height: size.height ?? height,
    nodes: graph.nodes.map((node) => {
      const at = g.node(node.id) as { x: number; y: number };
      return { id: node.id, x: round(at.x - width / 2), y: round(at.y - height / 2) };
    }),
    edges: graph.edges.map((edge) => {
      const label = g.edge(edge.from, edge.to) as { points: { x: number; y: number }[] };
      const a = g.node(edge.from) as { x: number; y: number };
      const b = g.node(edge.to) as { x: number; y: number };
      // From the middle of the right side to the middle of the left one.
      const points = [{ x: a.x + width / 2, y: a.y }, ...label.points.slice(1, -1), { x: b.x - width / 2, y: b.y }];
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
