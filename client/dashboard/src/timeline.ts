// From a history to bars on a time axis. Pure.
import type { HistoryEvent } from "./api";

export interface Bar {
  /** The event that begins it. */
  id: string;
  /** What it is, if its name does not say so: `child`, `timer`, `status`. */
  what: string;
  label: string;
  kind: "activity" | "timer" | "child" | "wait" | "point";
  from: number;
  /** Null while it is open. */
  to: number | null;
  outcome: "running" | "ok" | "failed" | "cancelled" | "none";
  /** Of timers: when they are due. */
  due: number | null;
  /** Of children: the instance. */
  child: string | null;
  endId: string | null;
}

const starts: Record<string, Bar["kind"]> = {
  ActivityScheduled: "activity",
  TimerCreated: "timer",
  SubOrchestrationScheduled: "child",
  ExternalSubscribed: "wait",
  ExternalSubscribedPersistent: "wait",
};
/** Words for what is not an activity; other types are shown as they are. */
const whats: Record<string, string> = {
  ActivityScheduled: "",
  TimerCreated: "timer",
  SubOrchestrationScheduled: "child",
  ExternalSubscribed: "event",
  ExternalSubscribedPersistent: "queue",
  ExternalEvent: "event",
  ExternalEventPersistent: "message",
  OrchestrationStarted: "start",
  OrchestrationCompleted: "completed",
  OrchestrationFailed: "failed",
  OrchestrationCancelRequested: "cancel requested",
  OrchestrationContinuedAsNew: "continued as new",
  OrchestrationChained: "started",
  CustomStatusUpdated: "status",
  KeyValueSet: "set",
  KeyValueCleared: "clear",
  KeyValuesCleared: "clear all keys",
};
const ends: Record<string, Bar["outcome"]> = {
  ActivityCompleted: "ok",
  ActivityFailed: "failed",
  ActivityCancelRequested: "cancelled",
  TimerFired: "ok",
  SubOrchestrationCompleted: "ok",
  SubOrchestrationFailed: "failed",
  SubOrchestrationCancelRequested: "cancelled",
  ExternalSubscribedCancelled: "cancelled",
  ExternalSubscribedPersistentCancelled: "cancelled",
};

/** Events and messages of queues name no subscription: which one gets them follows from their order. */
class Deliveries {
  private readonly open = new Map<string, Bar[]>();
  private readonly untaken = new Map<string, HistoryEvent[]>();

  /** cancelled: ids of the subscriptions that are cancelled later; they get nothing. */
  constructor(private readonly cancelled: ReadonlySet<string>) {}

  subscribe(event: HistoryEvent, bar: Bar): void {
    // One to a queue that is cancelled takes no message; one to an event keeps its place until then.
    if (event.type === "ExternalSubscribedPersistent" && this.cancelled.has(bar.id)) return;
    const key = `${event.type === "ExternalSubscribed" ? "event" : "queue"} ${event.name ?? ""}`;
    this.of(this.open, key).push(bar);
    this.match(key, bar.from);
  }

  cancel(bar: Bar, at: number): void {
    for (const [key, bars] of this.open) {
      const place = bars.indexOf(bar);
      if (place < 0) continue;
      bars.splice(place, 1);
      this.match(key, at);
    }
  }

  /** Whether a subscription that is open gets it. Messages of queues wait for one; events do not. */
  arrive(event: HistoryEvent): boolean {
    const isEvent = event.type === "ExternalEvent";
    const key = `${isEvent ? "event" : "queue"} ${event.name ?? ""}`;
    const untaken = this.of(this.untaken, key);
    if (isEvent && this.of(this.open, key).length <= untaken.length) return false;
    untaken.push(event);
    this.match(key, event.at_ms);
    return !untaken.includes(event);
  }

  private match(key: string, at: number): void {
    const bars = this.of(this.open, key);
    const events = this.of(this.untaken, key);
    for (let i = 0; i < bars.length && i < events.length; ) {
      if (this.cancelled.has(bars[i]!.id)) {
        i++;
        continue;
      }
      const [bar] = bars.splice(i, 1);
      const [event] = events.splice(i, 1);
      bar!.to = Math.max(bar!.from, at);
      bar!.outcome = "ok";
      bar!.endId = event!.event_id;
    }
  }

  private of<T>(map: Map<string, T[]>, key: string): T[] {
    const found = map.get(key);
    if (found) return found;
    const made: T[] = [];
    map.set(key, made);
    return made;
  }
}

/**
 * Bars of an execution, in the order in which they begin. A start is paired with the first event whose
 * source_event_id names it, a wait for an event or a queue with what the runtime delivers to it; without
 * one it runs until `end`, the end of the execution (null: now). Types that are not known are points.
 */
export function bars(events: HistoryEvent[], end: number | null): Bar[] {
  const out: Bar[] = [];
  const open = new Map<string, Bar>();
  const deliveries = new Deliveries(new Set(events.filter((e) => /^ExternalSubscribed(Persistent)?Cancelled$/.test(e.type)).map((e) => e.source_event_id ?? "")));
  for (const event of events) {
    if (/^ExternalEvent(Persistent)?$/.test(event.type) && deliveries.arrive(event)) continue;
    const kind = starts[event.type];
    const target = event.source_event_id !== null ? open.get(event.source_event_id) : undefined;
    const outcome = ends[event.type];
    if (target && outcome) {
      target.to = Math.max(target.from, event.at_ms);
      target.outcome = outcome;
      target.endId = event.event_id;
      // A request to cancel may still be followed by the answer.
      if (outcome !== "cancelled") open.delete(event.source_event_id!);
      else if (target.kind === "wait") deliveries.cancel(target, event.at_ms);
      continue;
    }
    const bar: Bar = {
      id: event.event_id,
      what: whats[event.type] ?? event.type,
      label: event.name ?? "",
      kind: kind ?? "point",
      from: event.at_ms,
      to: kind ? null : event.at_ms,
      outcome: kind ? "running" : "none",
      due: event.due_ms ?? null,
      child: event.child ?? null,
      endId: null,
    };
    out.push(bar);
    if (kind) open.set(event.event_id, bar);
    if (kind === "wait") deliveries.subscribe(event, bar);
  }
  if (end !== null) {
    for (const bar of open.values()) {
      if (bar.to === null) {
        bar.to = Math.max(bar.from, end);
        bar.outcome = "none";
      }
    }
  }
  return out;
}

/** When the turns of the execution were stored, in their order. */
export function turns(events: HistoryEvent[]): number[] {
  return [...new Set(events.map((e) => e.turn_ms))].sort((a, b) => a - b);
}

/** A piecewise linear axis: stretches without anything that moves are cut to a fixed share. */
export interface Scale {
  from: number;
  to: number;
  /** 0 to 1 on the axis. */
  at(ms: number): number;
  /** The instant at a place of the axis. */
  time(x: number): number;
  /** Stretches that were cut. */
  gaps: { from: number; to: number }[];
}

export function linearScale(from: number, to: number): Scale {
  const length = Math.max(1, to - from);
  return { from, to: from + length, at: (ms) => (ms - from) / length, time: (x) => from + x * length, gaps: [] };
}

/** Cuts stretches longer than a twentieth of the whole in which no activity or child runs. */
export function idleScale(list: Bar[], from: number, to: number, now: number): Scale {
  const busy: [number, number][] = [];
  for (const bar of list) {
    const waits = bar.kind === "timer" || bar.kind === "wait";
    const pad = Math.max(1, (to - from) / 200);
    if (waits) {
      busy.push([bar.from - pad, bar.from + pad]);
      if (bar.to !== null) busy.push([bar.to - pad, bar.to + pad]);
    } else {
      busy.push([bar.from - pad, (bar.to ?? now) + pad]);
    }
  }
  busy.sort((a, b) => a[0] - b[0]);
  const threshold = Math.max(1000, (to - from) / 20);
  const gaps: { from: number; to: number }[] = [];
  let reached = from;
  for (const [start, stop] of busy) {
    if (start - reached > threshold) gaps.push({ from: reached, to: Math.min(start, to) });
    reached = Math.max(reached, stop);
    if (reached >= to) break;
  }
  if (to - reached > threshold) gaps.push({ from: reached, to });
  if (gaps.length === 0) return linearScale(from, to);

  const cut = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const kept = Math.max(1, to - from - cut);
  // All gaps together get at most a fifth of the axis.
  const width = (Math.min(0.2, gaps.length * 0.03) / gaps.length) * (kept / (1 - Math.min(0.2, gaps.length * 0.03)));
  const total = kept + width * gaps.length;
  const points: [number, number][] = [[from, 0]];
  let x = 0;
  let t = from;
  for (const gap of gaps) {
    x += gap.from - t;
    points.push([gap.from, x / total]);
    x += width;
    points.push([gap.to, x / total]);
    t = gap.to;
  }
  points.push([to, 1]);
  const between = (value: number, side: 0 | 1): number => {
    const other = side === 0 ? 1 : 0;
    let i = 1;
    while (i < points.length - 1 && points[i]![side] < value) i++;
    const a = points[i - 1]!;
    const b = points[i]!;
    const share = b[side] === a[side] ? 0 : (value - a[side]) / (b[side] - a[side]);
    return a[other] + share * (b[other] - a[other]);
  };
  return { from, to, at: (ms) => between(ms, 0), time: (place) => between(place, 1), gaps };
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000, 604_800_000, 2_592_000_000, 31_536_000_000];

/** Round distances from `from`, at most `most` of them. */
export function ticks(from: number, to: number, most: number): number[] {
  const length = Math.max(1, to - from);
  const step = steps.find((s) => length / s <= most) ?? length;
  const out: number[] = [];
  for (let t = 0; t <= length; t += step) out.push(from + t);
  return out;
}
