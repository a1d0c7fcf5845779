// State of the page that more than one screen needs.
import { signal, computed, batch } from "@preact/signals";
import { ApiError, base, get, isAway, observers, post, setCsrf, type Me, type Glance } from "./api";
import { href as makeHref, parse, type Query, type Route } from "./router";
import { browserZone, serverNow, validZone } from "./time";

// ---- Settings, kept in this browser. ----

export interface Settings {
  theme: "system" | "light" | "dark";
  zone: string;
  density: "normal" | "dense";
  keys: boolean;
  live: boolean;
}

const defaults: Settings = { theme: "system", zone: "browser", density: "normal", keys: true, live: true };

function stored(): Settings {
  try {
    const found = JSON.parse(localStorage.getItem("belay:settings") ?? "{}") as Partial<Settings>;
    return { ...defaults, ...found };
  } catch {
    return defaults;
  }
}

export const settings = signal<Settings>(stored());

export function change(part: Partial<Settings>): void {
  settings.value = { ...settings.value, ...part };
  try {
    localStorage.setItem("belay:settings", JSON.stringify(settings.value));
  } catch {
    // Private windows refuse; the choice then lasts as long as the page.
  }
  applyLooks();
}

export function applyLooks(): void {
  const root = document.documentElement;
  if (settings.value.theme === "system") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", settings.value.theme);
  root.setAttribute("data-density", settings.value.density);
}

export const zone = computed(() => {
  const chosen = settings.value.zone;
  return chosen !== "browser" && validZone(chosen) ? chosen : browserZone();
});

// ---- The address. ----

const read = (): Route => parse(location.pathname, location.search, base);
export const route = signal<Route>(read());
export const hub = computed<string | null>(() => (route.value.path[0] === "h" ? (route.value.path[1] ?? null) : null));
export const screen = computed<string>(() => (route.value.path[0] === "h" ? (route.value.path[2] ?? "overview") : (route.value.path[0] ?? "hubs")));

export function link(path: string[], query: Query = {}): string {
  return makeHref(base, path, query);
}
export function hubLink(parts: string[], query: Query = {}): string {
  return link(["h", hub.value ?? "", ...parts], query);
}

export function go(url: string, replace = false): void {
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  route.value = read();
}

/** Changes some keys of the query; null removes one. A step back returns to the old ones unless it replaces. */
export function setQuery(part: Query, replace = false): void {
  const query: Query = Object.fromEntries(route.value.query);
  go(link(route.value.path, { ...query, ...part }), replace);
}

export function queryOf(key: string): string {
  return route.value.query.get(key) ?? "";
}

window.addEventListener("popstate", () => {
  route.value = read();
});

// ---- Who is looking, and what is there. ----

export const me = signal<Me | null>(null);
/** Set once the first question who we are has been answered, whatever the answer. */
export const asked = signal(false);

export const rights = computed(() => (hub.value !== null ? (me.value?.hubs[hub.value] ?? null) : null));

export function may(action: string): boolean {
  return !away.value && me.value?.read_only !== true && me.value?.standby !== true && rights.value?.actions.includes(action) === true;
}

/** Since when the server or the database cannot be reached. */
export const away = signal<{ since: number; what: "database" | "server" } | null>(null);
/** When the last data came, by the server's clock. */
export const answered = signal(0);
export const updated = signal(false);

/** How users log in: token, postgres or proxy. */
export const loginMode = (typeof document === "undefined" ? null : document.querySelector("meta[name=belay-login]")?.getAttribute("content")) ?? "token";

function toLogin(): void {
  if (route.value.path[0] !== "login") go(link(["login"], { next: location.pathname.slice(base.length) + location.search }), true);
  me.value = null;
}

let asking = false;
/** Whether there is an answer. */
export async function askMe(): Promise<boolean> {
  asking = true;
  try {
    const answer = await get<Me>("/me");
    batch(() => {
      setCsrf(answer.csrf);
      me.value = answer;
      asked.value = true;
      if (answer.versions.dashboard !== version) updated.value = true;
    });
    return true;
  } catch (error) {
    asked.value = true;
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) toLogin();
    return false;
  } finally {
    asking = false;
  }
}

declare const BELAY_VERSION: string;
export const version = typeof BELAY_VERSION === "undefined" ? "dev" : BELAY_VERSION;

let retry: ReturnType<typeof setTimeout> | null = null;
let pause = 1000;
/** Grows with each answer after a time without: screens read anew. */
export const returned = signal(0);

observers.push((error) => {
  if (error === null) {
    answered.value = serverNow();
    if (away.value !== null) {
      away.value = null;
      returned.value++;
    }
    pause = 1000;
    return;
  }
  if (error.status === 401) {
    // Behind a proxy that logs users in, the question who we are begins a new session.
    if (loginMode !== "proxy") toLogin();
    else if (!asking) void askMe().then((known) => known && returned.value++);
    return;
  }
  // A read that was cut off (57014) or met too many others (busy) says nothing of the database.
  if (error.status === 0 || isAway(error.problem)) noteAway(error.status === 0 ? "server" : "database");
});

/** Greys the page and asks again after 1, 2, 4 … 30 s. */
export function noteAway(what: "database" | "server"): void {
  if (away.value?.what !== what) away.value = { since: away.value?.since ?? serverNow(), what };
  if (retry !== null) return;
  retry = setTimeout(() => {
    retry = null;
    void askMe();
  }, pause);
  pause = Math.min(30_000, pause * 2);
}

export async function logIn(body: Record<string, string>): Promise<void> {
  const answer = await post<{ csrf: string }>("/session", body);
  setCsrf(answer.csrf);
  await askMe();
}

// ---- What the sampler tells of each hub. ----

export const glances = signal<ReadonlyMap<string, Glance>>(new Map());
export function noteGlance(glance: Glance): void {
  answered.value = serverNow();
  glances.value = new Map(glances.value).set(glance.hub, glance);
}
export const glance = computed(() => (hub.value !== null ? (glances.value.get(hub.value) ?? null) : null));

// ---- Messages that stay until they are read. ----

export interface Notice {
  id: number;
  tone: "ok" | "bad" | "note";
  text: string;
  detail?: string;
  /** The statement that ran. */
  sql?: string;
}
export const notices = signal<Notice[]>([]);
let lastNotice = 0;
export function tell(tone: Notice["tone"], text: string, detail?: string, sql?: string): void {
  const notice: Notice = { id: ++lastNotice, tone, text, ...(detail ? { detail } : {}), ...(sql ? { sql } : {}) };
  notices.value = [...notices.value.slice(-4), notice];
}
export function dismiss(id: number): void {
  notices.value = notices.value.filter((n) => n.id !== id);
}

/** A tick each second, for ages. Stands still while nothing is visible. */
export const second = signal(0);
setInterval(() => {
  if (document.visibilityState === "visible") second.value++;
}, 1000);
