// Bars of an execution over time. Rows are drawn for the visible part only.
import { useMemo, useRef } from "preact/hooks";
import { idleScale, linearScale, ticks, type Bar, type Scale } from "../timeline";
import { go, hubLink, queryOf, second, setQuery } from "../state";
import { duration, serverNow, shortDuration } from "../time";
import { visible } from "../format";
import type { Tone } from "../words";
import { SignShape } from "./sign";
import { Virtual } from "./virtual";

const rowHeight = 26;
const headRows = 2; // the axis and the turns

const toneOf: Record<Bar["outcome"], Tone> = { running: "run", ok: "ok", failed: "bad", cancelled: "off", none: "wait" };
export const outcomeWord: Record<Bar["outcome"], string> = { running: "running", ok: "done", failed: "failed", cancelled: "cancelled", none: "" };

/** attempt: of an activity that is leased. */
export function barText(bar: Bar, now: number, attempt = 1): string {
  if (bar.kind === "point") return "";
  const length = duration((bar.to ?? now) - bar.from);
  if (bar.to === null && bar.due !== null) return bar.due > now ? `due in ${shortDuration(bar.due - now)}` : `due since ${shortDuration(now - bar.due)}`;
  return bar.to === null ? `running ${length}${attempt > 1 ? `, attempt ${attempt}` : ""}` : length;
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, Math.max(1, chars - 1))}…`;
}

/** turns: when they were stored. attempts: of activities that are leased, by event. */
export function Timeline({ bars, turns, attempts, end, selected }: { bars: Bar[]; turns: number[]; attempts: ReadonlyMap<string, number>; end: number | null; selected: string | null }) {
  if (end === null) void second.value;
  const now = end ?? serverNow();
  const start = bars.length > 0 ? bars.reduce((low, bar) => Math.min(low, bar.from), Infinity) : now;
  let latest = now;
  for (const bar of bars) latest = Math.max(latest, bar.to ?? bar.from, bar.to === null && bar.due !== null ? bar.due : 0);
  const from = queryOf("from") !== "" ? start + Number(queryOf("from")) : start;
  const to = queryOf("to") !== "" ? start + Number(queryOf("to")) : latest;
  const compress = queryOf("idle") === "1";
  const rounded = Math.floor(now / 1000);
  const scale: Scale = useMemo(() => (compress ? idleScale(bars, from, to, now) : linearScale(from, to)), [bars, from, to, compress, rounded]);
  const drag = useRef<{ x: number; from: number; to: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);

  const zoom = (factor: number, around = 0.5): void => {
    const middle = scale.time(around);
    const a = Math.round(middle - (middle - from) * factor - start);
    const b = Math.round(middle + (to - middle) * factor - start);
    if (b - a < 5) return;
    setQuery({ from: a <= 0 && b >= latest - start ? null : Math.max(a, -(latest - start)), to: a <= 0 && b >= latest - start ? null : b }, true);
  };
  const at = bars.findIndex((bar) => bar.id === selected || bar.endId === selected);

  return (
    <div class="timeline" ref={box}>
      <div class="timeline-tools tools">
        <button type="button" class="button small" onClick={() => zoom(0.5)}>
          Zoom in
        </button>
        <button type="button" class="button small" onClick={() => zoom(2)}>
          Zoom out
        </button>
        <button type="button" class="button small" onClick={() => setQuery({ from: null, to: null }, true)}>
          Fit
        </button>
        {end === null && (
          <button type="button" class="button small" onClick={() => setQuery({ from: Math.max(0, Math.round(now - start - 60_000)), to: Math.round(latest - start) }, true)}>
            Now
          </button>
        )}
        <label class="check">
          <input type="checkbox" checked={compress} onChange={(e) => setQuery({ idle: e.currentTarget.checked ? "1" : null }, true)} /> hide idle time
        </label>
      </div>
      <Virtual
        rows={bars.length + headRows}
        rowHeight={rowHeight}
        label={`Timeline with ${bars.length} rows; "Events" lists the same`}
        className="timeline-rows"
        jump={at >= 0 ? at + headRows : null}
        draw={(view) => {
          const labelWidth = view.width < 560 ? 112 : 208;
          const right = 12;
          const width = Math.max(60, view.width - labelWidth - right);
          const x = (ms: number): number => labelWidth + Math.min(1.5, Math.max(-0.5, scale.at(ms))) * width;
          const lines = scale.gaps.length > 0 ? [] : ticks(scale.from, scale.to, Math.max(2, Math.floor(width / 90)));
          const rows = view.last - view.first;
          const y0 = view.first * rowHeight;
          return (
            <svg
              width={view.width}
              height={rows * rowHeight}
              aria-hidden="true"
              focusable="false"
              onPointerDown={(e) => {
                if ((e.target as Element).closest(".bar")) return;
                drag.current = { x: e.clientX, from, to };
                e.currentTarget.setPointerCapture(e.pointerId);
              }}
              onPointerMove={(e) => {
                const d = drag.current;
                if (!d || Math.abs(e.clientX - d.x) < 4) return;
                const moved = Math.round(((d.x - e.clientX) / width) * (d.to - d.from));
                setQuery({ from: d.from - start + moved, to: d.to - start + moved }, true);
              }}
              onPointerUp={() => (drag.current = null)}
              onWheel={(e) => {
                if (!e.ctrlKey) return;
                e.preventDefault();
                zoom(e.deltaY > 0 ? 1.25 : 0.8, (e.offsetX - labelWidth) / width);
              }}
            >
              {lines.map((ms) => (
                <g key={ms}>
                  <line class="grid" x1={x(ms)} x2={x(ms)} y1={0} y2={rows * rowHeight} />
                  {view.first === 0 && (
                    <text class="axis" x={x(ms) + 3} y={16}>
                      {ms - start === 0 ? "0 s" : duration(ms - start)}
                    </text>
                  )}
                </g>
              ))}
              {scale.gaps.map((gap) => (
                <g key={gap.from}>
                  <rect class="gap" x={x(gap.from)} y={0} width={Math.max(2, x(gap.to) - x(gap.from))} height={rows * rowHeight} />
                  {view.first === 0 && (
                    <text class="axis" x={x(gap.from)} y={16}>
                      {shortDuration(gap.to - gap.from)}
                    </text>
                  )}
                </g>
              ))}
              {end === null && <line class="now" x1={x(now)} x2={x(now)} y1={0} y2={rows * rowHeight} />}
              {view.first < headRows && <Turns turns={turns} x={x} y={rowHeight - y0} left={labelWidth} right={labelWidth + width} />}
              {bars.slice(Math.max(0, view.first - headRows), Math.max(0, view.last - headRows)).map((bar, i) => {
                const index = Math.max(0, view.first - headRows) + i + headRows;
                const y = index * rowHeight - y0;
                const tone = toneOf[bar.outcome];
                const x1 = x(bar.from);
                const x2 = x(bar.to ?? (bar.due !== null ? Math.max(now, bar.due) : now));
                const attempt = attempts.get(bar.id);
                const text = barText(bar, now, attempt);
                const marked = bar.outcome === "ok" || bar.outcome === "failed" || bar.outcome === "cancelled";
                const left = Math.max(labelWidth, x1);
                const sign = marked ? { ok: "✓ ", failed: "✗ ", cancelled: "⊘ " }[bar.outcome as "ok" | "failed" | "cancelled"] : "";
                // Behind the bar where there is room, else inside it, else before it; shorter if it fits nowhere.
                const placeOf = (words: string): "after" | "inside" | "before" | null => {
                  const room = words.length * 6.2 + 10;
                  if (x2 + room + (marked ? 16 : 0) < labelWidth + width) return "after";
                  if (x2 - left > room + sign.length * 6) return "inside";
                  return left - labelWidth > room ? "before" : null;
                };
                const shown = [text, barText(bar, now)].find((words) => placeOf(words) !== null) ?? "";
                const place = placeOf(shown) ?? "after";
                const textAt = place === "after" ? x2 + (marked ? 21 : 6) : place === "inside" ? left + 7 : left - 6;
                const isSelected = selected !== null && (bar.id === selected || bar.endId === selected);
                const chars = Math.floor((labelWidth - 16) / 6.6);
                const id = `#${bar.id}`;
                const label = visible(bar.label);
                const what = bar.what && label ? `${bar.what} ` : bar.what;
                return (
                  <g key={bar.id} class={`bar ${tone} k-${bar.kind} ${isSelected ? "selected" : ""}`} onClick={() => (bar.child ? go(hubLink(["instances", bar.child])) : setQuery({ event: bar.id, tab: "events" }))}>
                    <title>{`${what}${label} ${id} ${text} ${outcomeWord[bar.outcome]}`}</title>
                    <rect class="row-back" x={0} y={y} width={view.width} height={rowHeight} />
                    <text class="name" x={8} y={y + 17}>
                      <tspan class="nr">{what}</tspan>
                      {cut(label, Math.max(4, chars - what.length - id.length - 1))}
                      <tspan class="nr"> {id}</tspan>
                    </text>
                    {bar.kind === "point" ? (
                      <circle class="shape" cx={Math.max(labelWidth + 5, x1)} cy={y + 13} r={4} />
                    ) : (
                      <rect class="shape" x={left} y={y + 6} width={Math.max(3, x2 - left)} height={14} rx={3} />
                    )}
                    {marked && place === "after" && <SignShape tone={tone} x={x2 + 5} y={y + 7} />}
                    <text class={`length ${place}`} x={textAt} y={y + 17} text-anchor={place === "before" ? "end" : "start"}>
                      {place === "after" || shown === "" ? shown : sign + shown}
                    </text>
                  </g>
                );
              })}
              <rect class="label-edge" x={labelWidth - 1} y={0} width={1} height={rows * rowHeight} />
            </svg>
          );
        }}
      />
    </div>
  );
}

/** A mark for each turn; those that would touch are drawn as one. */
function Turns({ turns, x, y, left, right }: { turns: number[]; x: (ms: number) => number; y: number; left: number; right: number }) {
  let last = -Infinity;
  const marks: number[] = [];
  for (const ms of turns) {
    const at = x(ms);
    if (at < left || at > right || at - last < 3) continue;
    last = at;
    marks.push(at);
  }
  return (
    <g class="turns">
      <text class="name" x={8} y={y + 17}>
        {turns.length === 1 ? "1 turn" : `${turns.length} turns`}
      </text>
      {marks.map((at) => (
        <rect key={at} class="turn" x={Math.min(at, right - 2)} y={y + 5} width={2} height={16} />
      ))}
    </g>
  );
}
