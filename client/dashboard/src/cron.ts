// Cron expressions of five fields in words.

const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

interface Part {
  from: number;
  to: number;
  step: number;
  any: boolean;
}

function parts(field: string, low: number, high: number, names: string[]): Part[] | null {
  const value = (text: string): number => {
    if (/^\d+$/.test(text)) return Number(text);
    const i = names.findIndex((name) => name.slice(0, 3).toLowerCase() === text.toLowerCase());
    return i < 0 ? NaN : i + (names === months ? 1 : 0);
  };
  const out: Part[] = [];
  for (const item of field.split(",")) {
    const m = /^(\*|[^-/]+)(?:-([^/]+))?(?:\/(\d+))?$/.exec(item);
    if (!m) return null;
    const any = m[1] === "*";
    const from = any ? low : value(m[1]!);
    const to = any ? high : m[2] !== undefined ? value(m[2]) : from;
    const step = m[3] === undefined ? 1 : Number(m[3]);
    if (!(from >= low && to <= high && from <= to && step >= 1)) return null;
    if (m[3] !== undefined && !any && m[2] === undefined) return null;
    out.push({ from, to, step, any });
  }
  return out;
}

const two = (n: number): string => String(n).padStart(2, "0");
const isAll = (list: Part[]): boolean => list.length === 1 && list[0]!.any && list[0]!.step === 1;
const single = (list: Part[]): number | null =>
  list.length === 1 && !list[0]!.any && list[0]!.from === list[0]!.to ? list[0]!.from : null;

function join(words: string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** 1st, 2nd, 3rd, 4th … 11th, 12th. */
function ordinal(n: number): string {
  const end = n % 100 > 10 && n % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return `${n}${end}`;
}

function name(list: Part[], say: (n: number) => string): string {
  return join(
    list.map((p) => {
      const span = p.from === p.to ? say(p.from) : `${say(p.from)} to ${say(p.to)}`;
      return p.step === 1 ? span : `every ${ordinal(p.step)} from ${span}`;
    }),
  );
}

/** `30 2 * * mon-fri` → `at 02:30 on Monday to Friday`; null if it is no cron expression. */
export function cronWords(cron: string): string | null {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const minute = parts(fields[0]!, 0, 59, []);
  const hour = parts(fields[1]!, 0, 23, []);
  const day = parts(fields[2]!, 1, 31, []);
  const month = parts(fields[3]!, 1, 12, months);
  const weekday = parts(fields[4]!, 0, 7, days);
  if (!minute || !hour || !day || !month || !weekday) return null;

  const m = single(minute);
  const h = single(hour);
  let when: string;
  if (m !== null && hour.every((p) => !p.any && p.step === 1 && p.from === p.to)) {
    when = `at ${join(hour.map((p) => `${two(p.from)}:${two(m)}`))}`;
  } else if (isAll(minute) && isAll(hour)) {
    when = "every minute";
  } else {
    const step = minute.length === 1 && minute[0]!.any ? minute[0]!.step : null;
    const minutes = isAll(minute)
      ? "every minute"
      : step !== null
        ? `every ${step} minutes`
        : m !== null
          ? `at minute ${m}`
          : `at minutes ${name(minute, String)}`;
    if (isAll(hour)) when = m === null ? (step === null ? `${minutes} of every hour` : minutes) : m === 0 ? "every hour, on the hour" : `every hour, at minute ${m}`;
    else if (h !== null) when = `${minutes} of the hour ${two(h)}`;
    else if (hour.length === 1 && hour[0]!.any) when = m === null ? `${minutes} of every ${ordinal(hour[0]!.step)} hour` : `every ${hour[0]!.step} hours, at minute ${m}`;
    else if (hour.length === 1 && hour[0]!.step === 1) when = `${minutes}, from ${two(hour[0]!.from)}:00 to ${two(hour[0]!.to)}:59`;
    else when = `${minutes} of hours ${name(hour, two)}`;
  }

  const both = !isAll(day) && !isAll(weekday);
  const dayWords = isAll(day)
    ? ""
    : day.length === 1 && day[0]!.any
      ? `every ${ordinal(day[0]!.step)} day`
      : `on day ${name(day, String)} of the month`;
  const weekdayWords = isAll(weekday) ? "" : `on ${name(weekday, (n) => days[n]!)}`;
  const date = both ? `${dayWords} or ${weekdayWords}` : dayWords || weekdayWords;
  const inMonths = isAll(month) ? "" : `in ${name(month, (n) => months[n - 1]!)}`;
  const repeats = when.includes("every");
  return [when, date || (repeats || inMonths ? "" : "every day"), inMonths].filter((s) => s !== "").join(" ");
}
