// Instants, durations and zones. The server's clock counts: ages never come from the viewer's.

/** Server time minus the viewer's, in ms. */
let offset = 0;

/** Remembers the server's clock from the `at_ms` of an answer. */
export function noteServerTime(atMs: number, nowMs = Date.now()): void {
  offset = atMs - nowMs;
}

export function serverNow(nowMs = Date.now()): number {
  return nowMs + offset;
}

/** How far the viewer's clock is off, if it is worth a note. */
export function clockError(): number | null {
  return Math.abs(offset) > 5000 ? -offset : null;
}

const units: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** A length of time in at most two units: `40 ms`, `1.4 s`, `2 min 5 s`, `3 d 4 h`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 1000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  let rest = Math.round(ms / 1000) * 1000;
  for (let i = 0; i < units.length; i++) {
    const [name, size] = units[i]!;
    if (rest < size) continue;
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    const next = units[i + 1];
    const second = next ? Math.floor(rest / next[1]) : 0;
    return second > 0 && next ? `${whole} ${name} ${second} ${next[0]}` : `${whole} ${name}`;
  }
  return "0 s";
}

/** A length of time in one unit, for narrow places: `40 ms`, `2 min`. */
export function shortDuration(ms: number | null | undefined): string {
  return duration(ms).replace(/^(\S+ \S+) .*$/, "$1");
}

/** `3 min ago`, `in 41 s`, `now`. */
export function relative(ms: number, nowMs = serverNow()): string {
  const d = nowMs - ms;
  if (Math.abs(d) < 1000) return "now";
  return d > 0 ? `${shortDuration(d)} ago` : `in ${shortDuration(-d)}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();
function format(zone: string): Intl.DateTimeFormat {
  let found = formats.get(zone);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
    });
    formats.set(zone, found);
  }
  return found;
}

export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  ms: number;
}

export function wallTime(ms: number, zone: string): WallTime {
  const parts: Record<string, number> = {};
  for (const part of format(zone).formatToParts(ms)) parts[part.type] = Number(part.value);
  return {
    year: parts["year"] ?? 0,
    month: parts["month"] ?? 0,
    day: parts["day"] ?? 0,
    hour: parts["hour"] ?? 0,
    minute: parts["minute"] ?? 0,
    second: parts["second"] ?? 0,
    ms: ((ms % 1000) + 1000) % 1000,
  };
}

const two = (n: number): string => String(n).padStart(2, "0");

/** Minutes that the zone is ahead of UTC at this instant. */
export function zoneOffset(ms: number, zone: string): number {
  const w = wallTime(ms, zone);
  const asUtc = Date.UTC(w.year, w.month - 1, w.day, w.hour, w.minute, w.second);
  return Math.round((asUtc - (ms - w.ms)) / 60_000);
}

/** ISO 8601 with ms and the zone's offset. */
export function iso(ms: number, zone: string): string {
  const w = wallTime(ms, zone);
  const minutes = zoneOffset(ms, zone);
  const sign = minutes < 0 ? "-" : "+";
  const tail = minutes === 0 ? "Z" : `${sign}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return `${w.year}-${two(w.month)}-${two(w.day)}T${two(w.hour)}:${two(w.minute)}:${two(w.second)}.${String(w.ms).padStart(3, "0")}${tail}`;
}

/** Time of day, with the date if it is not today's: `14:03:07`, `11-16 14:03:07`. */
export function clock(ms: number, zone: string, nowMs = serverNow()): string {
  const w = wallTime(ms, zone);
  const n = wallTime(nowMs, zone);
  const time = `${two(w.hour)}:${two(w.minute)}:${two(w.second)}`;
  if (w.year === n.year && w.month === n.month && w.day === n.day) return time;
  const date = `${two(w.month)}-${two(w.day)} ${time}`;
  return w.year === n.year ? date : `${w.year}-${date}`;
}

/** `2026-11-17T14:03` as a local time of the zone, in ms; null if it is no time. */
export function parseLocal(text: string, zone: string): number | null {
  const m = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?$/.exec(text);
  if (!m) return null;
  const asUtc = Date.UTC(+m[1]!, +m[2]! - 1, +m[3]!, +m[4]!, +m[5]!, +(m[6] ?? 0));
  // Twice: the first guess may lie on the other side of a clock change.
  let ms = asUtc - zoneOffset(asUtc, zone) * 60_000;
  ms = asUtc - zoneOffset(ms, zone) * 60_000;
  return ms;
}

/** The reverse of parseLocal, for inputs of type datetime-local. */
export function toLocal(ms: number, zone: string): string {
  const w = wallTime(ms, zone);
  return `${w.year}-${two(w.month)}-${two(w.day)}T${two(w.hour)}:${two(w.minute)}`;
}

export function validZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

export function browserZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}
