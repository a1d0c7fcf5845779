// Small parts that all screens share.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isAway, type ApiError } from "../api";
import type { Resource } from "../load";
import { visible } from "../format";
import { hub, link, route, second, tell, zone } from "../state";
import { clock, duration, iso, relative, serverNow, shortDuration, toLocal } from "../time";
import { errorWords, stateWord } from "../words";
import { Sign } from "./sign";
import { copy, Sql } from "./sql";
import { Dialog } from "./dialog";

export function State({ state }: { state: string }) {
  const { tone, word } = stateWord(state);
  return (
    <span class={`state ${tone}`}>
      <Sign tone={tone} />
      {visible(word)}
    </span>
  );
}

/** An instant; hover and focus show it in full, a click copies that. */
export function Time({ ms, both, plain }: { ms: number | null | undefined; both?: boolean; plain?: boolean }) {
  if (ms === null || ms === undefined) return <span class="muted">–</span>;
  const full = iso(ms, zone.value);
  if (both) void second.value;
  const text = both ? `${clock(ms, zone.value)} · ${relative(ms)}` : clock(ms, zone.value);
  if (plain) return <time dateTime={new Date(ms).toISOString()}>{text}</time>;
  return (
    <button type="button" class="time" title={`${full}, click to copy`} onClick={() => void copy(full).then((ok) => ok && tell("ok", `Copied ${full}`))}>
      {text}
    </button>
  );
}

/** How long ago, by the server's clock. */
export function Ago({ ms }: { ms: number | null | undefined }) {
  void second.value;
  if (ms === null || ms === undefined) return <span class="muted">–</span>;
  return (
    <span class="nowrap" title={iso(ms, zone.value)}>
      {relative(ms)}
    </span>
  );
}

/** From one instant to another, or to now. */
export function Span({ from, to }: { from: number | null; to: number | null }) {
  if (to === null) void second.value;
  if (from === null) return <span class="muted">–</span>;
  return <span class="nowrap">{shortDuration((to ?? serverNow()) - from)}</span>;
}

/** How long it is until then; how long it has been, in the words for what is past. */
export function Until({ ms, past = "overdue" }: { ms: number | null; past?: "overdue" | "ago" }) {
  void second.value;
  if (ms === null) return null;
  const left = ms - serverNow();
  return (
    <span class="nowrap" title={iso(ms, zone.value)}>
      {left <= 0 ? `${duration(-left)} ${past}` : `${duration(left)} left`}
    </span>
  );
}

/** An id as a link: cut in the middle, in full on hover. */
export function IdLink({ path, id, length = 36 }: { path: string[]; id: string; length?: number }) {
  const shown = visible(id);
  const cut = shown.length > length ? `${shown.slice(0, Math.ceil((length - 1) / 2))}…${shown.slice(-Math.floor((length - 1) / 2))}` : shown;
  return (
    <a class="id" href={link(path)} title={shown}>
      {cut}
    </a>
  );
}

export function SqlButton({ sql, took }: { sql: string | undefined; took?: number | undefined }) {
  const [open, setOpen] = useState(false);
  if (!sql) return null;
  return (
    <>
      <button type="button" class="button small" onClick={() => setOpen(true)}>
        SQL
      </button>
      {open && (
        <Dialog title="The statement behind this" onClose={() => setOpen(false)} wide>
          <div class="dialog-body">
            <p class="muted">It can be run as it stands, with the same rights.{took !== undefined ? ` It took ${duration(took)}.` : ""}</p>
            <Sql text={sql} />
          </div>
        </Dialog>
      )}
    </>
  );
}

/** A list that was too much to look at, of the last hour alone. */
function narrower(): string | null {
  const { path, query } = route.value;
  if (path.length !== 3 || !["tasks", "instances", "flows"].includes(path[2]!) || query.get("created_from")) return null;
  return link(path, { ...Object.fromEntries(query), created_from: toLocal(serverNow() - 3_600_000, zone.value), after: null });
}

export function ErrorView({ error, retry, compact }: { error: ApiError; retry: () => void; compact?: boolean }) {
  const words = errorWords(error.problem, error.status, hub.value);
  const less = error.sqlstate === "57014" ? narrower() : null;
  return (
    <div class={`callout bad ${compact ? "" : "roomy"}`} role="alert">
      <p class="strong">{words.title}</p>
      <p>{words.text}</p>
      {words.statement && <Sql text={words.statement} />}
      {less && (
        <a class="button small" href={less}>
          Only what the last hour created
        </a>
      )}
      {words.retry && (
        <button type="button" class="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, text, sql, children }: { title: string; text?: string; sql?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="strong">{title}</p>
      {text && <p class="muted">{text}</p>}
      {sql && <Sql text={sql} />}
      {children}
    </div>
  );
}

export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_v, i) => (
        <span key={i} class={`bone w${(i * 3) % 4}`} />
      ))}
    </div>
  );
}

/** Shows what a read brought: its data, that it loads, or why it could not. Old data stays, with the error above. gone: what stands below the error if there is no such object. */
export function Show<T>({ of, children, rows, gone }: { of: Resource<T>; children: (data: T) => ComponentChildren; rows?: number; gone?: ComponentChildren }) {
  if (of.data === null) {
    if (of.error === null) return <Loading rows={rows ?? 4} />;
    return (
      <>
        <ErrorView error={of.error} retry={of.reload} />
        {of.error.status === 404 && gone}
      </>
    );
  }
  return (
    <>
      {of.error && of.error.status !== 0 && !isAway(of.error.problem) && <ErrorView error={of.error} retry={of.reload} compact />}
      {children(of.data)}
    </>
  );
}

export function Panel({ title, tools, children, id, flush }: { title: string; tools?: ComponentChildren; children: ComponentChildren; id?: string; flush?: boolean }) {
  return (
    <section class={`panel ${flush ? "flush" : ""}`} {...(id ? { id } : {})}>
      <header class="panel-head">
        <h2>{title}</h2>
        {tools && <div class="tools">{tools}</div>}
      </header>
      <div class="panel-body">{children}</div>
    </section>
  );
}

export function PageHead({ title, sub, tools }: { title: ComponentChildren; sub?: ComponentChildren; tools?: ComponentChildren }) {
  return (
    <header class="page-head">
      <div class="page-title">
        <h1>{title}</h1>
        {sub && <div class="sub">{sub}</div>}
      </div>
      {tools && <div class="tools">{tools}</div>}
    </header>
  );
}

export function Tabs({ label, tabs, current, hrefOf }: { label: string; tabs: [string, string][]; current: string; hrefOf: (tab: string) => string }) {
  const bar = useRef<HTMLElement>(null);
  // With little room the tabs scroll: the current one is in view.
  useLayoutEffect(() => {
    const tab = bar.current?.querySelector<HTMLElement>(".current");
    if (bar.current && tab) bar.current.scrollLeft = tab.offsetLeft - bar.current.offsetLeft - (bar.current.clientWidth - tab.offsetWidth) / 2;
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {tabs.map(([name, text]) => (
        <a key={name} href={hrefOf(name)} class={name === current ? "tab current" : "tab"} aria-current={name === current ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

/** A row of small bars; what it shows stands in numbers beside it. */
export function Spark({ values, tone }: { values: number[]; tone?: string }) {
  const top = Math.max(1e-9, ...values);
  const w = 3;
  return (
    <svg class={`spark ${tone ?? ""}`} viewBox={`0 0 ${Math.max(1, values.length) * (w + 1)} 16`} width={values.length * (w + 1)} height={16} aria-hidden="true" focusable="false">
      {values.map((v, i) => {
        const h = v <= 0 ? 1 : Math.max(1.5, (v / top) * 15);
        return <rect key={i} x={i * (w + 1)} y={16 - h} width={w} height={h} rx={0.5} />;
      })}
    </svg>
  );
}
