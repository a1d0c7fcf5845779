// Live updates: one stream for all tabs of a browser. Web Locks elect the tab that holds it, a
// BroadcastChannel passes messages on; without them each tab has its own.
import { effect, signal } from "@preact/signals";
import { base, post, type BulkJob, type Glance, type HubEvent } from "./api";
import { asked, askMe, me, noteAway, noteGlance, settings, updated, version } from "./state";

export type Message =
  | { type: "hello"; version: string; id: string }
  | { type: "glance"; glance: Glance }
  | { type: "changed"; hub: string; what: string; id: string }
  | { type: "events"; hub: string; rows: HubEvent[] }
  | { type: "bulk"; hub: string; job: BulkJob }
  | { type: "away" }
  | { type: "bye" };

type Peer = { type: "message"; message: Message } | { type: "wants"; tab: string; wants: string[] } | { type: "who" };

export const streamState = signal<"off" | "connecting" | "open" | "lost">("off");

const listeners = new Set<(message: Message) => void>();
export function onMessage(listener: (message: Message) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tab = Math.random().toString(36).slice(2);
const ownWants = new Map<string, number>();
const tabWants = new Map<string, { wants: string[]; at: number }>();
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(`belay${base}`);

let leading = false;
let source: EventSource | null = null;
let streamId: string | null = null;
let watched = new Set<string>();
let reconnect: ReturnType<typeof setTimeout> | null = null;
let release: (() => void) | null = null;
let waitingForLock: AbortController | null = null;

/** Asks for messages about something: `glance:app`, `task:app:<id>`. Returns how to stop. */
export function want(what: string): () => void {
  ownWants.set(what, (ownWants.get(what) ?? 0) + 1);
  announce();
  return () => {
    const n = (ownWants.get(what) ?? 1) - 1;
    if (n > 0) ownWants.set(what, n);
    else ownWants.delete(what);
    announce();
  };
}

let announcing = false;
function announce(): void {
  if (announcing) return;
  announcing = true;
  // Together, so that a change of screens is one message.
  setTimeout(() => {
    announcing = false;
    const wants = active() ? [...ownWants.keys()] : [];
    tabWants.set(tab, { wants, at: Date.now() });
    channel?.postMessage({ type: "wants", tab, wants } satisfies Peer);
    void updateWatches();
  }, 50);
}

function deliver(message: Message): void {
  switch (message.type) {
    case "hello":
      if (message.version !== version) updated.value = true;
      break;
    case "glance":
      if (settings.value.live) noteGlance(message.glance);
      break;
    case "away":
      noteAway("database");
      break;
    case "bye":
      // Whether the dashboard is gone, or only the session, or neither.
      void askMe();
  }
  if (message.type === "bye" || !settings.value.live) return;
  for (const listener of listeners) listener(message);
}

if (channel) {
  channel.onmessage = (event: MessageEvent<Peer>) => {
    const peer = event.data;
    if (peer.type === "message") deliver(peer.message);
    else if (peer.type === "wants") {
      tabWants.set(peer.tab, { wants: peer.wants, at: Date.now() });
      if (leading) void updateWatches();
    } else if (peer.type === "who") announce();
  };
}

function tellAll(message: Message): void {
  channel?.postMessage({ type: "message", message } satisfies Peer);
  deliver(message);
}

async function updateWatches(): Promise<void> {
  if (!leading || streamId === null) return;
  const wanted = new Set<string>();
  for (const [name, entry] of tabWants) {
    if (name !== tab && Date.now() - entry.at > 25_000) tabWants.delete(name);
    else for (const what of entry.wants) wanted.add(what);
  }
  const add = [...wanted].filter((what) => !watched.has(what));
  const remove = [...watched].filter((what) => !wanted.has(what));
  if (add.length === 0 && remove.length === 0) return;
  watched = wanted;
  try {
    await post(`/stream/${streamId}/watch`, { add, remove });
  } catch {
    // The stream is gone as well: its end starts anew with all watches.
    watched = new Set();
  }
}

function open(): void {
  if (!leading || source) return;
  streamState.value = "connecting";
  const stream = new EventSource(`${base}/api/v1/stream`);
  source = stream;
  const on = <T>(name: string, make: (data: T) => Message): void =>
    stream.addEventListener(name, (event) => {
      const message = make(JSON.parse((event as MessageEvent<string>).data) as T);
      if (message.type === "bye") return lost();
      tellAll(message);
      if (message.type === "hello") {
        streamId = message.id;
        watched = new Set();
        streamState.value = "open";
        channel?.postMessage({ type: "who" } satisfies Peer);
        announce();
      }
    });
  on<{ version: string; id: string }>("hello", (d) => ({ type: "hello", ...d }));
  on<Glance>("glance", (d) => ({ type: "glance", glance: d }));
  on<{ hub: string; what: string; id: string }>("changed", (d) => ({ type: "changed", ...d }));
  on<{ hub: string; rows: HubEvent[] }>("events", (d) => ({ type: "events", ...d }));
  on<{ hub: string; job: BulkJob }>("bulk", (d) => ({ type: "bulk", ...d }));
  on<object>("away", () => ({ type: "away" }));
  on<object>("bye", () => ({ type: "bye" }));
  stream.onerror = () => lost();
}

function lost(): void {
  close();
  if (!leading) return;
  streamState.value = "lost";
  tellAll({ type: "bye" });
  reconnect ??= setTimeout(
    () => {
      reconnect = null;
      open();
    },
    2000 + Math.random() * 1000,
  );
}

function close(): void {
  source?.close();
  source = null;
  streamId = null;
  watched = new Set();
}

let hiddenAt: number | null = null;
function active(): boolean {
  const seen = document.visibilityState === "visible" || (hiddenAt !== null && Date.now() - hiddenAt < 30_000);
  return settings.value.live && me.value !== null && seen;
}

/** Takes part in the election, or leaves it. */
function follow(): void {
  if (active()) {
    if (leading || waitingForLock) return;
    if (!("locks" in navigator) || !channel) {
      leading = true;
      open();
      return;
    }
    const controller = new AbortController();
    waitingForLock = controller;
    navigator.locks
      .request(`belay-stream${base}`, { signal: controller.signal }, () => {
        leading = true;
        open();
        return new Promise<void>((done) => {
          release = done;
        });
      })
      .catch(() => undefined)
      .finally(() => {
        if (waitingForLock === controller) waitingForLock = null;
      });
    // The tab that leads shows its state; the others follow it silently.
    if (streamState.value === "off") streamState.value = "open";
    announce();
    return;
  }
  leading = false;
  close();
  if (reconnect !== null) clearTimeout(reconnect);
  reconnect = null;
  release?.();
  release = null;
  waitingForLock?.abort();
  waitingForLock = null;
  streamState.value = "off";
  announce();
}

export function startLive(): void {
  document.addEventListener("visibilitychange", () => {
    hiddenAt = document.visibilityState === "hidden" ? Date.now() : null;
    if (hiddenAt === null) follow();
    else setTimeout(follow, 30_100);
  });
  window.addEventListener("pagehide", () => {
    channel?.postMessage({ type: "wants", tab, wants: [] } satisfies Peer);
    close();
  });
  setInterval(() => {
    if (active()) announce();
  }, 10_000);
  effect(() => {
    // Read here, so that each change is followed.
    void settings.value.live;
    void me.value;
    if (asked.value) follow();
  });
}
