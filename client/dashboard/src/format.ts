// Numbers and texts for people.
import type { Count } from "./api";
import { shortDuration } from "./time";

const whole = new Intl.NumberFormat("en-US");

export function number(n: number | null | undefined): string {
  return n === null || n === undefined ? "–" : whole.format(n);
}

/** A capped count is shown as `10,000+`. */
export function count(c: Count | null | undefined): string {
  return c ? number(c.n) + (c.capped ? "+" : "") : "–";
}

export function about(n: number | null | undefined): string {
  if (n === null || n === undefined || n < 0) return "an unknown number";
  if (n < 10_000) return `about ${number(n)}`;
  if (n < 1e6) return `about ${Math.round(n / 1000)} k`;
  return `about ${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} M`;
}

export function rate(n: number | null | undefined): string {
  if (n === null || n === undefined) return "–";
  if (n === 0) return "0";
  return n < 10 ? n.toFixed(1) : number(Math.round(n));
}

export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return "–";
  if (n < 1024) return `${n} B`;
  const names = ["kB", "MB", "GB", "TB"];
  let value = n / 1024;
  let i = 0;
  while (value >= 1024 && i < names.length - 1) {
    value /= 1024;
    i++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${names[i]}`;
}

// Upper bounds of the buckets of durations, as core/histogram.hpp has them; the last bucket has none.
const bucketBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000];
export const bucketCount = bucketBounds.length + 1;

/** `up to 5 ms`, and of the last one `over 1 d`. */
export function bucketLabel(i: number): string {
  const bound = bucketBounds[i];
  return bound === undefined ? `over ${shortDuration(bucketBounds.at(-1))}` : `up to ${shortDuration(bound)}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

// Characters that change how the text around them is read, or that are not seen at all.
const unseen =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Text of one line with control, bidi and zero-width characters as escapes. */
export function visible(text: string): string {
  return text.replace(unseen, (c) => {
    if (c === "\n") return "\\n";
    if (c === "\t") return "\\t";
    if (c === "\r") return "\\r";
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** The same for text of several lines: line feeds and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(unseen, (c) =>
    c === "\n" || c === "\t" ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Cuts a long text in the middle, where ids differ least. */
export function middle(text: string, length: number): string {
  const shown = visible(text);
  if (shown.length <= length) return shown;
  const head = Math.ceil((length - 1) / 2);
  return `${shown.slice(0, head)}…${shown.slice(shown.length - (length - 1 - head))}`;
}

/**
 * What differs from item to item: the input or the data in a queue item, or in the beginning of one; all of it
 * if it has none.
 */
export function itemInput(preview: string | null): string {
  const found = /"(?:input|data|result)"\s*:\s*(?:"((?:[^"\\]|\\.)*)|([[{0-9tfn-].*))/s.exec(preview ?? "");
  if (!found) return preview ?? "";
  const [, text, rest] = found;
  if (text === undefined) return (rest ?? "").replace(/\}+$/, (ends) => ends.slice(0, Math.max(0, (rest!.match(/\{/g) ?? []).length)));
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
