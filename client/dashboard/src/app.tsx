// The frame of every page, and which screen is shown.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ActionDialog, BulkDialog } from "./actions";
import { del } from "./api";
import { Dialog } from "./components/dialog";
import { Empty, Loading, PageHead } from "./components/bits";
import { Menu } from "./components/menu";
import { copy, Sql } from "./components/sql";
import { count, visible } from "./format";
import { keyList } from "./keys";
import { streamState, want } from "./live";
import { Search } from "./search";
import { attention } from "./screens/overview";
import { DeadLetters } from "./screens/dead_letters";
import { Events } from "./screens/events";
import { Flows } from "./screens/flows";
import { Hubs } from "./screens/hubs";
import { Instances } from "./screens/instances";
import { Login } from "./screens/login";
import { Messages } from "./screens/messages";
import { Overview } from "./screens/overview";
import { Queue } from "./screens/queue";
import { Queues } from "./screens/queues";
import { Task } from "./screens/task";
import { Tasks } from "./screens/tasks";
import { WorkItems } from "./screens/work_items";
import { answered, asked, away, change, dismiss, glance, go, hub, hubLink, link, me, notices, rights, route, screen, second, settings, tell, updated, zone } from "./state";
import { browserZone, clock, clockError, duration, relative } from "./time";

interface Place {
  name: string;
  label: string;
  path: string[];
  badge?: () => string;
}

const places: Place[] = [
  { name: "overview", label: "Overview", path: [] },
  { name: "queues", label: "Queues", path: ["queues"], badge: () => (glance.value?.queues.some((q) => q.overdue.n > 0) ? "!" : "") },
  { name: "instances", label: "Orchestrations", path: ["instances"] },
  { name: "tasks", label: "Tasks", path: ["tasks"], badge: () => (glance.value?.failed_last_hour && glance.value.failed_last_hour.n > 0 ? count(glance.value.failed_last_hour) : "") },
  { name: "flows", label: "Flows", path: ["flows"] },
  { name: "schedules", label: "Schedules", path: ["schedules"], badge: () => (glance.value && glance.value.schedules_with_errors.length > 0 ? String(glance.value.schedules_with_errors.length) : "") },
  {
    name: "dead-letters",
    label: "Dead letters",
    path: ["dead-letters"],
    badge: () => {
      const list = glance.value?.dead_letters ?? [];
      const n = list.reduce((sum, d) => sum + d.count.n, 0);
      return n > 0 ? count({ n, capped: list.some((d) => d.count.capped) }) : "";
    },
  },
  { name: "events", label: "Events", path: ["events"] },
  { name: "workers", label: "Workers", path: ["workers"] },
  { name: "health", label: "Health", path: ["health"], badge: () => (glance.value && glance.value.background_worker === null ? "!" : "") },
];
const below: Record<string, string> = { "work-items": "queues", messages: "queues" };

function NoPage() {
  return (
    <>
      <PageHead title="Not found" />
      <Empty title="There is no such page" text="The link may be cut, or of another version." />
    </>
  );
}

type More = typeof import("./screens/more");
let more: More | null = null;

/** A screen that is not among those that are loaded first. */
function Later({ show }: { show: (screens: More) => VNode }) {
  const [state, setState] = useState(more === null ? "loading" : "there");
  useEffect(() => {
    if (more !== null) return;
    import("./screens/more").then(
      (screens) => {
        more = screens;
        setState("there");
      },
      () => setState("failed"),
    );
  }, []);
  if (more !== null) return show(more);
  if (state === "loading") return <Loading rows={6} />;
  return (
    <>
      <PageHead title="Not loaded" />
      <Empty title="This screen could not be loaded" text="The dashboard does not answer, or has another version than the page.">
        <button type="button" class="button" onClick={() => location.reload()}>
          Reload
        </button>
      </Empty>
    </>
  );
}

function Screen() {
  const [first, , what, id] = route.value.path;
  if (first === undefined) return <Hubs />;
  if (first === "settings") return <Later show={({ Settings }) => <Settings />} />;
  if (first !== "h" || hub.value === null) return <NoPage />;
  if (me.value && !me.value.hubs[hub.value]) {
    return (
      <>
        <PageHead title="Not found" />
        <Empty title={`No hub ${visible(hub.value)} that you may see`} text="It may have been dropped, or your role has no level of it.">
          <a class="button" href={link([])}>
            All hubs
          </a>
        </Empty>
      </>
    );
  }
  const key = `${hub.value} ${id ?? ""}`;
  switch (what) {
    case undefined:
      return <Overview key={key} />;
    case "queues":
      return id === undefined ? <Queues key={key} /> : <Queue key={key} queue={id} />;
    case "work-items":
      return <WorkItems key={key} />;
    case "messages":
      return <Messages key={key} />;
    case "instances":
      return id === undefined ? <Instances key={key} /> : <Later show={({ Instance }) => <Instance key={key} id={id} />} />;
    case "tasks":
      return id === undefined ? <Tasks key={key} /> : <Task key={key} id={id} />;
    case "flows":
      return id === undefined ? <Flows key={key} /> : <Later show={({ Flow }) => <Flow key={key} id={id} />} />;
    case "schedules":
      return <Later show={({ Schedules }) => <Schedules key={key} />} />;
    case "dead-letters":
      return <DeadLetters key={key} />;
    case "events":
      return <Events key={key} />;
    case "workers":
      return <Later show={({ Workers }) => <Workers key={key} />} />;
    case "health":
      return <Later show={({ Health }) => <Health key={key} />} />;
    case "bulk":
      return <Later show={({ Bulk, BulkJobs }) => (id === undefined ? <BulkJobs key={key} /> : <Bulk key={key} id={id} />)} />;
    default:
      return <NoPage />;
  }
}

function Banners() {
  void second.value;
  const list: { tone: string; text: string; button?: [string, () => void] }[] = [];
  const g = glance.value;
  if (updated.value) list.push({ tone: "note", text: "belay was updated.", button: ["Reload", () => location.reload()] });
  if (away.value) list.push({ tone: "bad", text: `${away.value.what === "database" ? "The database is away" : "The dashboard does not answer"} since ${clock(away.value.since, zone.value)}. The page shows the last data${answered.value === 0 ? "" : `, from ${relative(answered.value)}`}, and keeps trying.` });
  if (me.value?.standby) list.push({ tone: "warn", text: "Read-only: this server is a standby." });
  else if (me.value?.read_only) list.push({ tone: "note", text: "This dashboard is read-only." });
  for (const p of g?.paused ?? []) list.push({ tone: "warn", text: `Paused: ${p.queue}${p.reason ? `, "${visible(p.reason)}"` : ""}${p.by ? ` by ${visible(p.by)}` : ""}${p.at_ms === null ? "" : ` ${relative(p.at_ms)}`}` });
  if (rights.value && !rights.value.current) list.push({ tone: "warn", text: `The hub has version ${rights.value.version}, which is not current.${rights.value.missing.length > 0 ? ` It lacks ${rights.value.missing.join(", ")}.` : ""} Upgrade it: SELECT belay.upgrade_hub('${hub.value ?? ""}');` });
  const wrong = clockError();
  if (wrong !== null) list.push({ tone: "note", text: `The clock of this computer is ${duration(Math.abs(wrong))} ${wrong > 0 ? "ahead of" : "behind"} the server's. Ages follow the server's clock.` });
  if (list.length === 0) return null;
  return (
    <div class="banners" role="status">
      {list.map((b) => (
        <p key={b.text} class={`banner ${b.tone}`}>
          {b.text}{" "}
          {b.button && (
            <button type="button" class="button small" onClick={b.button[1]}>
              {b.button[0]}
            </button>
          )}
        </p>
      ))}
    </div>
  );
}

const zones = ["browser", "UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"];

function Top({ onMenu }: { onMenu: () => void }) {
  const hubs = Object.keys(me.value?.hubs ?? {}).sort();
  const live = settings.value.live;
  const state = away.value ? "lost" : live ? streamState.value : "off";
  const levels = rights.value?.levels ?? [];
  const best = ["owner", "operator", "monitor", "worker", "client"].find((l) => (levels as string[]).includes(l));
  return (
    <header class="top">
      <button type="button" class="bar-button menu-toggle" aria-label="Screens" onClick={onMenu}>
        ☰
      </button>
      <a class="brand" href={link([])} aria-label="belay, all hubs">
        <span class="brand-mark" aria-hidden="true" />
        <span class="brand-name">belay</span>
      </a>
      {hub.value !== null && (
        <Menu
          title="switch the hub"
          className="hub-menu"
          label={
            <>
              <span class="muted wide-only">hub </span>
              <span class="strong ellipsis">{visible(hub.value)}</span> ▾
            </>
          }
        >
          {(close) => (
            <ul class="menu-list">
              {hubs.map((h) => (
                <li key={h}>
                  <a
                    href={link(["h", h])}
                    onClick={close}
                    aria-current={h === hub.value ? "true" : undefined}
                  >
                    {visible(h)}
                  </a>
                </li>
              ))}
              <li class="rule">
                <a href={link([])} onClick={close}>
                  All hubs
                </a>
              </li>
            </ul>
          )}
        </Menu>
      )}
      <Search />
      <button type="button" class={`bar-button live ${state}`} aria-pressed={live} onClick={() => change({ live: !live })}>
        <span class="dot" aria-hidden="true" />
        <span class="wide-only">{state === "off" ? "live off" : state === "open" ? "live" : state === "connecting" ? "connecting" : "reconnecting"}</span>
        <span class="hidden"> live updates</span>
      </button>
      <Menu title="change the time zone" className="zone-menu" label={<span>{zone.value.replace(/^.*\//, "").replace(/_/g, " ")} ▾</span>}>
        {(close) => (
          <ul class="menu-list">
            {zones.map((z) => (
              <li key={z}>
                <button
                  type="button"
                  aria-pressed={settings.value.zone === z}
                  onClick={() => {
                    change({ zone: z });
                    close();
                  }}
                >
                  {z === "browser" ? `${browserZone()} (browser)` : z}
                </button>
              </li>
            ))}
            <li class="rule">
              <a href={link(["settings"])} onClick={close}>
                Another one …
              </a>
            </li>
          </ul>
        )}
      </Menu>
      <button
        type="button"
        class="bar-button theme-button"
        aria-label={`Theme: ${settings.value.theme}. Change`}
        title={`Theme: ${settings.value.theme}`}
        onClick={() => change({ theme: settings.value.theme === "system" ? "dark" : settings.value.theme === "dark" ? "light" : "system" })}
      >
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
          <circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5" />
          <path d="M8 1.75a6.25 6.25 0 0 1 0 12.5z" fill="currentColor" />
        </svg>
      </button>
      <Menu
        title="account"
        className="user-menu"
        label={
          <>
            <span class="avatar" aria-hidden="true">
              {(me.value?.user ?? "?").slice(0, 1).toUpperCase()}
            </span>
            <span class="wide-only">
              {visible(me.value?.user ?? "")} {best && <span class="muted">({best})</span>}
            </span>
          </>
        }
      >
        {(close) => (
          <ul class="menu-list">
            <li class="menu-note">
              {visible(me.value?.user ?? "")}
              {hub.value !== null && <span class="muted"> · {levels.join(", ") || "no level"}</span>}
            </li>
            {hub.value !== null && (
              <li>
                <a href={hubLink(["bulk"])} onClick={close}>
                  Bulk jobs
                </a>
              </li>
            )}
            <li>
              <a href={link(["settings"])} onClick={close}>
                Settings
              </a>
            </li>
            <li class="rule">
              <button
                type="button"
                onClick={() => {
                  close();
                  void del("/session").finally(() => {
                    me.value = null;
                    go(link(["login"]));
                  });
                }}
              >
                Log out
              </button>
            </li>
          </ul>
        )}
      </Menu>
    </header>
  );
}

function Side({ open, onClose }: { open: boolean; onClose: () => void }) {
  const current = below[screen.value] ?? screen.value;
  if (hub.value === null) return <nav class="side off" aria-label="Screens" />;
  return (
    <nav class={`side ${open ? "open" : ""}`} aria-label="Screens">
      <ul>
        {places.map((p) => {
          const badge = p.badge?.() ?? "";
          return (
            <li key={p.name}>
              <a href={hubLink(p.path)} class={p.name === current ? "current" : ""} aria-current={p.name === current ? "page" : undefined} onClick={onClose}>
                <span>{p.label}</span>
                {badge !== "" && (
                  <span class="badge" title="Needs attention">
                    <span class="hidden">, needs attention: </span>
                    {badge}
                  </span>
                )}
              </a>
            </li>
          );
        })}
      </ul>
      <div class="side-foot">
        <button
          type="button"
          class="linkish small"
          onClick={() => void copy(location.href).then((ok) => tell(ok ? "ok" : "bad", ok ? "Copied the link to this view" : "The browser does not allow to copy"))}
        >
          Copy link
        </button>
      </div>
    </nav>
  );
}

function Foot() {
  void second.value;
  const g = glance.value;
  return (
    <footer class="foot">
      {g ? (
        <>
          <span>data of {clock(g.at_ms, zone.value)}</span>
          <span>{duration(g.took_ms)}</span>
          <span>hub version {g.hub_version}</span>
        </>
      ) : (
        <span>{me.value ? `PostgreSQL ${me.value.versions.server}` : ""}</span>
      )}
      <span class="foot-right">
        <kbd>?</kbd> keys
      </span>
    </footer>
  );
}

function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((n) => (
        <div key={n.id} class={`notice ${n.tone}`}>
          <div>
            <p>{visible(n.text)}</p>
            {n.detail && <pre class="notice-detail">{n.detail}</pre>}
            {n.sql && (
              <details>
                <summary>SQL</summary>
                <Sql text={n.sql} />
              </details>
            )}
          </div>
          <button type="button" class="icon-button" aria-label="Close the message" onClick={() => dismiss(n.id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}

/** What is told to screen readers of live changes: at most one message in 10 s. */
function Announcer() {
  const g = glance.value;
  const [text, setText] = useState("");
  const last = useRef(0);
  const problems = g ? attention(g).length : 0;
  useEffect(() => {
    if (!g || Date.now() - last.current < 10_000) return;
    last.current = Date.now();
    setText(problems === 0 ? "" : `${problems} things need attention`);
  }, [problems]);
  return (
    <div class="hidden" aria-live="polite">
      {text}
    </div>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div class="dialog-body">
        <dl class="keys">
          {keyList.map(([key, what]) => (
            <>
              <dt>
                {key.split(" ").map((k) => (
                  <kbd key={k}>{k}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
        <p class="hint">
          No key changes data by itself. They can be switched off in the <a href={link(["settings"])} onClick={onClose}>settings</a>.
        </p>
      </div>
    </Dialog>
  );
}

export function App({ token, help, onHelp }: { token: string | null; help: boolean; onHelp: (open: boolean) => void }) {
  const [side, setSide] = useState(false);
  const main = useRef<HTMLElement>(null);
  const name = hub.value;
  const path = route.value.path.join("/");

  useEffect(() => {
    if (name === null || me.value === null) return;
    return want(`glance:${name}:`);
  }, [name, me.value === null]);

  // A new page begins at its top, and its title says what it is.
  const before = useRef(path);
  useEffect(() => {
    document.title = [...route.value.path.slice(2).map((s) => visible(s)), name ? visible(name) : "", "belay"].filter((s) => s !== "").join(" · ");
    if (before.current !== path) {
      before.current = path;
      setSide(false);
      main.current?.scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
  }, [path]);

  if (route.value.path[0] === "login") return <Login token={token} />;
  if (!asked.value || (me.value === null && away.value === null)) {
    return (
      <main class="boot" id="main">
        <h1 class="hidden">belay</h1>
        <Loading rows={6} />
      </main>
    );
  }
  return (
    <div class={`frame ${away.value ? "stale" : ""} ${name === null ? "no-side" : ""}`}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Top onMenu={() => setSide(!side)} />
      <Side open={side} onClose={() => setSide(false)} />
      {side && <div class="side-shade" onClick={() => setSide(false)} />}
      <main id="main" ref={main} tabIndex={-1}>
        <Banners />
        <Screen />
      </main>
      <Foot />
      <Notices />
      <Announcer />
      <ActionDialog />
      <BulkDialog />
      {help && <Help onClose={() => onHelp(false)} />}
    </div>
  );
}
