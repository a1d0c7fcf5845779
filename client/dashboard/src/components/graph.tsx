// A flow as a layered graph, laid out by dagre. The same graph gives the same picture, and positions
// never move while states change.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FlowGroup } from "../api";
import { tally, type FlowGraph, type FlowNode } from "../flow_graph";
import { number, visible } from "../format";
import { second } from "../state";
import { serverNow, shortDuration } from "../time";
import { stateWord, type Tone } from "../words";
import { SignShape } from "./sign";
import type { Layout } from "../layout";

const nodeWidth = 184;
const nodeHeight = 44;
const mostFitted = 1.25; // a small graph is drawn larger, up to this

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars - 1)}…`;
}

export function nodeTone(node: FlowNode): Tone {
  const counts = tally(node.members);
  for (const state of ["failed", "expired", "active", "suspended", "ready", "delayed", "blocked", "cancelled", "skipped", "completed"]) {
    if (counts.has(state)) return stateWord(state).tone;
  }
  return "wait";
}

export function nodeText(node: FlowNode, now: number): string {
  if (node.members.length > 1) {
    return [...tally(node.members)].map(([state, n]) => `${number(n)} ${stateWord(state).word}`).join(", ");
  }
  const m = node.members[0]!;
  const length = m.started_at_ms === null ? "" : ` ${shortDuration((m.terminal_at_ms ?? now) - m.started_at_ms)}`;
  return stateWord(m.state).word + length;
}

/** Counts by tone: `900 ✓ 48 ● 2 ✗`. */
function Tally({ node }: { node: FlowNode }) {
  const tones = new Map<Tone, number>();
  for (const [state, n] of tally(node.members)) {
    const { tone } = stateWord(state);
    tones.set(tone, (tones.get(tone) ?? 0) + n);
  }
  let x = 13;
  return (
    <>
      {[...tones].map(([tone, n]) => {
        const at = x;
        const text = number(n);
        x += 26 + text.length * 7;
        return (
          <g key={tone}>
            <SignShape tone={tone} x={at} y={25} />
            <text class={`under ${tone}`} x={at + 16} y={35}>
              {text}
            </text>
          </g>
        );
      })}
    </>
  );
}

export function Graph({ graph, groups, selected, onSelect, onOpen }: { graph: FlowGraph; groups: FlowGroup[]; selected: string | null; onSelect: (id: string) => void; onOpen: (id: string) => void }) {
  void second.value;
  const now = serverNow();
  const box = useRef<HTMLDivElement>(null);
  const [layout, setLayout] = useState<Layout | null>(null);
  const [view, setView] = useState<{ x: number; y: number; k: number } | null>(null);
  const [size, setSize] = useState({ w: 800, h: 420 });
  const drag = useRef<{ x: number; y: number; vx: number; vy: number; moved: boolean } | null>(null);
  const shape = useMemo(() => graph.nodes.map((n) => n.id).join(" ") + "|" + graph.edges.map((e) => `${e.from}>${e.to}`).join(" "), [graph]);

  useEffect(() => {
    let old = false;
    void import("../layout").then(({ layOut }) => {
      if (!old) setLayout(layOut(graph, nodeWidth, nodeHeight));
    });
    return () => {
      old = true;
    };
  }, [shape]);

  // As tall as the picture needs, within what the window has.
  useLayoutEffect(() => {
    if (!layout) {
      box.current!.style.height = "";
      return;
    }
    const scale = Math.min(mostFitted, Math.max(1, (box.current!.clientWidth - 64) / layout.width));
    box.current!.style.height = `${Math.round(Math.min(window.innerHeight * 0.62, Math.max(220, layout.height * scale + 60)))}px`;
  }, [layout]);

  useEffect(() => {
    const element = box.current!;
    const measure = (): void => setSize({ w: element.clientWidth, h: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const fitted = useMemo(() => {
    if (!layout) return { x: 0, y: 0, k: 1 };
    const k = Math.min(mostFitted, (size.w - 32) / Math.max(1, layout.width), (size.h - 32) / Math.max(1, layout.height));
    // Legible first: what does not fit is panned to.
    const scale = Math.max(k, 0.65);
    return { k: scale, x: Math.max(16, (size.w - layout.width * scale) / 2), y: Math.max(16, (size.h - layout.height * scale) / 2) };
  }, [layout, size.w, size.h]);
  const v = view ?? fitted;
  const zoom = (factor: number, cx = size.w / 2, cy = size.h / 2): void => {
    const k = Math.min(2, Math.max(0.05, v.k * factor));
    setView({ k, x: cx - ((cx - v.x) * k) / v.k, y: cy - ((cy - v.y) * k) / v.k });
  };

  const byId = useMemo(() => new Map(graph.nodes.map((n) => [n.id, n])), [graph]);
  const joins = useMemo(() => new Map(groups.filter((g) => g.kind !== "all_of").map((g) => [g.task_id, g])), [groups]);
  const seen = (x: number, y: number, w: number, h: number): boolean =>
    x * v.k + v.x < size.w + 50 && (x + w) * v.k + v.x > -50 && y * v.k + v.y < size.h + 50 && (y + h) * v.k + v.y > -50;

  return (
    <div class="graph">
      <div class="tools graph-tools">
        <button type="button" class="button small" aria-label="Zoom out" onClick={() => zoom(0.8)}>
          −
        </button>
        <span class="muted small">{Math.round(v.k * 100)} %</span>
        <button type="button" class="button small" aria-label="Zoom in" onClick={() => zoom(1.25)}>
          +
        </button>
        <button type="button" class="button small" onClick={() => setView(null)}>
          Fit
        </button>
      </div>
      <div
        ref={box}
        class="graph-box"
        onPointerDown={(e) => {
          drag.current = { x: e.clientX, y: e.clientY, vx: v.x, vy: v.y, moved: false };
        }}
        onPointerMove={(e) => {
          const d = drag.current;
          if (!d || e.buttons === 0) return;
          if (!d.moved && Math.hypot(e.clientX - d.x, e.clientY - d.y) < 4) return;
          d.moved = true;
          setView({ k: v.k, x: d.vx + e.clientX - d.x, y: d.vy + e.clientY - d.y });
        }}
        onWheel={(e) => {
          if (!e.ctrlKey) return;
          e.preventDefault();
          const r = box.current!.getBoundingClientRect();
          zoom(e.deltaY > 0 ? 0.87 : 1.15, e.clientX - r.left, e.clientY - r.top);
        }}
      >
        {!layout && <p class="muted graph-wait">Laying out {number(graph.nodes.length)} nodes …</p>}
        {layout && (
          <svg width={size.w} height={size.h} role="img" aria-label={`Graph of ${graph.nodes.length} nodes; "As list" says the same`}>
            <defs>
              <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path class="arrow" d="M0,0.5 L8,4 L0,7.5 z" />
              </marker>
            </defs>
            <g transform={`translate(${v.x} ${v.y}) scale(${v.k})`}>
              {layout.edges.map((e) => {
                const xs = e.points.map((p) => p.x);
                const ys = e.points.map((p) => p.y);
                const left = Math.min(...xs);
                const top = Math.min(...ys);
                if (!seen(left, top, Math.max(...xs) - left, Math.max(...ys) - top)) return null;
                return <path key={`${e.from} ${e.to}`} class={`edge ${selected !== null && (e.from === selected || e.to === selected) ? "near" : ""}`} d={e.path} marker-end="url(#arrow)" />;
              })}
              {layout.nodes.map((p) => {
                const node = byId.get(p.id);
                if (!node || !seen(p.x, p.y, nodeWidth, nodeHeight)) return null;
                const many = node.members.length > 1;
                const join = many ? undefined : joins.get(p.id);
                const label = many ? `${cut(visible(node.label), 15)} × ${number(node.members.length)}` : cut(visible(node.label), 24);
                return (
                  <g
                    key={p.id}
                    class={`node ${nodeTone(node)} ${many ? "many" : ""} ${selected === p.id ? "selected" : ""}`}
                    transform={`translate(${p.x} ${p.y})`}
                    onClick={() => {
                      if (drag.current?.moved) return;
                      if (many) onOpen(p.id);
                      else onSelect(p.id);
                    }}
                  >
                    <title>{`${visible(node.label)}: ${nodeText(node, now)}`}</title>
                    {many && <rect class="behind" x={4} y={4} width={nodeWidth} height={nodeHeight} rx={6} />}
                    <rect class="face" width={nodeWidth} height={nodeHeight} rx={6} />
                    <rect class="edge-tone" width={4} height={nodeHeight} rx={2} />
                    <text class="title" x={14} y={18}>
                      {label}
                    </text>
                    {many ? (
                      <Tally node={node} />
                    ) : (
                      <>
                        <SignShape tone={nodeTone(node)} x={13} y={25} />
                        <text class="under" x={30} y={35}>
                          {nodeText(node, now)}
                        </text>
                      </>
                    )}
                    {join && (
                      <text class="join" x={nodeWidth - 10} y={18} text-anchor="end">
                        {join.kind === "any_of" ? "any" : `${join.k} of ${join.total}`}
                      </text>
                    )}
                  </g>
                );
              })}
            </g>
          </svg>
        )}
      </div>
    </div>
  );
}
