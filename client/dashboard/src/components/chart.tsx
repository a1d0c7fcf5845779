// Time series, drawn by uPlot, with a table that says the same.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Latency } from "../api";
import { bucketLabel, number } from "../format";
import { settings, zone } from "../state";
import { clock, shortDuration } from "../time";
import { SqlButton } from "./bits";
import { Table } from "./table";

export interface Line {
  label: string;
  color: "accent" | "ok" | "bad" | "warn" | "muted";
  values: (number | null)[];
  dash?: boolean;
}

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function TableSwitch({ on, set }: { on: boolean; set: (on: boolean) => void }) {
  return (
    <button type="button" class="button small" aria-pressed={on} onClick={() => set(!on)}>
      {on ? "As chart" : "As table"}
    </button>
  );
}

export function Chart({ title, t, lines, unit, height = 150, sql }: { title: string; t: number[]; lines: Line[]; unit: (n: number) => string; height?: number; sql?: string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [asTable, setAsTable] = useState(false);
  const [hover, setHover] = useState<number | null>(null);
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  const data: uPlot.AlignedData = [t.map((ms) => ms / 1000), ...lines.map((l) => l.values)];
  const theme = settings.value.theme;

  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const on = (): void => setDark(query.matches);
    query.addEventListener("change", on);
    return () => query.removeEventListener("change", on);
  }, []);

  useEffect(() => {
    const element = box.current;
    if (!element || asTable) return;
    const axis = (): Partial<uPlot.Axis> => ({
      stroke: css("--muted"),
      font: `11px ${css("--sans")}`,
      grid: { stroke: css("--line"), width: 1 },
      ticks: { show: false },
    });
    const u = new uPlot(
      {
        width: Math.max(120, element.clientWidth),
        height,
        padding: [8, 8, 0, 0],
        tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), zone.value),
        legend: { show: false },
        cursor: { points: { size: 5 }, y: false, drag: { x: false, y: false } },
        scales: { y: { range: (_u, _min, max) => [0, Math.max(1, (max ?? 0) * 1.1)] } },
        axes: [
          { ...axis(), space: 70, size: 26, values: (_u, ticks) => ticks.map((s) => clock(s * 1000, zone.value).slice(0, ticks.length > 1 && ticks[1]! - ticks[0]! < 60 ? undefined : -3)) },
          { ...axis(), size: 52, space: 30, values: (_u, ticks) => ticks.map((v) => unit(v)) },
        ],
        series: [{}, ...lines.map((l) => ({ stroke: css(`--${l.color}`), width: 1.5, spanGaps: false, points: { show: false }, ...(l.dash ? { dash: [4, 3] } : {}) }))],
        hooks: { setCursor: [(plotted) => setHover(plotted.cursor.idx ?? null)] },
      },
      data,
      element,
    );
    plot.current = u;
    const observer = new ResizeObserver(() => u.setSize({ width: Math.max(120, element.clientWidth), height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [asTable, theme, dark, zone.value, lines.length, height]);

  useEffect(() => {
    plot.current?.setData(data);
  });

  const at = hover !== null && hover < t.length ? hover : t.length - 1;
  return (
    <section class="panel chart">
      <header class="panel-head">
        <h2>{title}</h2>
        <div class="tools">
          <TableSwitch on={asTable} set={setAsTable} />
          <SqlButton sql={sql} />
        </div>
      </header>
      <div class="panel-body">
        <ul class="legend">
          {lines.map((l) => (
            <li key={l.label}>
              <span class={`swatch ${l.color}`} aria-hidden="true" />
              {l.label} <span class="strong">{at >= 0 && l.values[at] !== null && l.values[at] !== undefined ? unit(l.values[at]!) : "–"}</span>
            </li>
          ))}
        </ul>
        {asTable ? (
          <div class="chart-table">
            <Table
              caption={title}
              rows={t.map((_ms, i) => t.length - 1 - i).slice(0, 200)}
              rowKey={String}
              columns={[
                { key: "t", label: "Time", cell: (i) => clock(t[i]!, zone.value) },
                ...lines.map((l) => ({ key: l.label, label: l.label, num: true, cell: (i: number) => (l.values[i] === null || l.values[i] === undefined ? "–" : unit(l.values[i]!)) })),
              ]}
            />
          </div>
        ) : (
          <div ref={box} class="plot" role="img" aria-label={`${title}: ${lines.map((l) => l.label).join(", ")} over time. "As table" shows the numbers.`} />
        )}
      </div>
    </section>
  );
}

/** Durations: percentiles, and how many were how long. */
export function LatencyPanel({ title, of, sql }: { title: string; of: Latency | null; sql: string | undefined }) {
  const [asTable, setAsTable] = useState(false);
  const measured = of !== null && of.buckets.some((n) => n > 0);
  return (
    <section class="panel chart">
      <header class="panel-head">
        <h2>{title}</h2>
        <div class="tools">
          {measured && <TableSwitch on={asTable} set={setAsTable} />}
          <SqlButton sql={sql} />
        </div>
      </header>
      <div class="panel-body">
        <Percentiles of={of} />
        {measured && asTable && (
          <div class="chart-table">
            <Table
              caption={title}
              rows={of.buckets.map((n, i) => ({ n, i })).filter((b) => b.n > 0)}
              rowKey={(b) => String(b.i)}
              columns={[
                { key: "to", label: "Duration", cell: (b) => bucketLabel(b.i) },
                { key: "n", label: "Number", num: true, cell: (b) => number(b.n) },
              ]}
            />
          </div>
        )}
        {measured && !asTable && <Histogram buckets={of.buckets} label={title} />}
      </div>
    </section>
  );
}

function Percentiles({ of }: { of: Latency | null }) {
  if (!of) return <p class="muted">Not measured yet.</p>;
  return (
    <dl class="numbers three">
      <div>
        <dt>p50</dt>
        <dd>{shortDuration(of.p50)}</dd>
      </div>
      <div>
        <dt>p95</dt>
        <dd>{shortDuration(of.p95)}</dd>
      </div>
      <div>
        <dt>p99</dt>
        <dd>{shortDuration(of.p99)}</dd>
      </div>
    </dl>
  );
}

/** A histogram of the 22 buckets of durations, of which one at least is not empty. */
function Histogram({ buckets, label }: { buckets: number[]; label: string }) {
  const top = Math.max(...buckets);
  const first = buckets.findIndex((n) => n > 0);
  let last = buckets.length - 1;
  while (last > first && !buckets[last]) last--;
  const from = Math.max(0, Math.min(first, last - 9));
  const shown = buckets.slice(from, last + 1);
  const w = 100 / shown.length;
  const text = shown.map((n, i) => `${bucketLabel(from + i)}: ${n}`).join(", ");
  return (
    <div class="histogram" role="img" aria-label={`${label}. ${text}`}>
      <svg viewBox="0 0 100 40" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {shown.map((n, i) => {
          const h = n === 0 ? 0.5 : Math.max(1.5, (n / top) * 38);
          return (
            <rect key={i} x={i * w + w * 0.08} y={40 - h} width={w * 0.84} height={h}>
              <title>{`${bucketLabel(from + i)}: ${n}`}</title>
            </rect>
          );
        })}
      </svg>
      <div class="histogram-axis" aria-hidden="true">
        <span>{bucketLabel(from).replace("up to ", "")}</span>
        <span>{bucketLabel(last).replace("up to ", "")}</span>
      </div>
    </div>
  );
}
