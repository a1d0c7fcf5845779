// A JSON reader for people: numbers keep their digits, keys their order and duplicates. JSON.parse
// loses all three. It never recurses, so depth costs nothing but memory.

export type JsonNode =
  | { kind: "object"; members: { key: string; value: JsonNode }[] }
  | { kind: "array"; items: JsonNode[] }
  | { kind: "string"; text: string }
  | { kind: "number" | "word"; text: string };

export class JsonError extends Error {
  constructor(
    message: string,
    readonly position: number,
  ) {
    super(message);
  }
}

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const stringPattern = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const wordPattern = /true|false|null/y;
const spacePattern = /[ \t\r\n]*/y;

const escapes: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unescape(raw: string): string {
  if (!raw.includes("\\")) return raw;
  return raw.replace(/\\(u[0-9a-fA-F]{4}|.)/g, (_all, code: string) =>
    code.length === 5 ? String.fromCharCode(parseInt(code.slice(1), 16)) : (escapes[code] ?? code),
  );
}

/** Reads a whole text, or throws JsonError. */
export function parseJson(text: string): JsonNode {
  let at = 0;
  const fail = (what: string): never => {
    throw new JsonError(what, at);
  };
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return null;
    at += found[0].length;
    return found[0];
  };
  const space = (): void => void match(spacePattern);
  const string = (): string => {
    const raw = match(stringPattern) ?? fail("expected a string");
    return unescape(raw.slice(1, -1));
  };

  type Open = { node: JsonNode & { kind: "object" | "array" }; key: string | null };
  const stack: Open[] = [];
  let root: JsonNode | null = null;

  // Puts a finished value where it belongs.
  const place = (value: JsonNode): void => {
    const top = stack[stack.length - 1];
    if (!top) root = value;
    else if (top.node.kind === "array") top.node.items.push(value);
    else top.node.members.push({ key: top.key ?? "", value });
  };

  for (;;) {
    // A value is expected.
    space();
    const c = text[at];
    let opened = false;
    if (c === "{" || c === "[") {
      at++;
      const node: JsonNode & { kind: "object" | "array" } =
        c === "{" ? { kind: "object", members: [] } : { kind: "array", items: [] };
      place(node);
      stack.push({ node, key: null });
      opened = true;
    } else if (c === '"') {
      place({ kind: "string", text: string() });
    } else {
      const word = match(wordPattern);
      if (word !== null) place({ kind: "word", text: word });
      else place({ kind: "number", text: match(numberPattern) ?? fail("expected a value") });
    }

    // What follows: a comma, or ends of what is open.
    for (;;) {
      const top = stack[stack.length - 1];
      space();
      if (!top) {
        if (at < text.length) fail("text after the end");
        return root!;
      }
      const end = top.node.kind === "object" ? "}" : "]";
      if (text[at] === end) {
        at++;
        stack.pop();
        opened = false;
        continue;
      }
      if (!opened) {
        if (text[at] !== ",") fail(`expected , or ${end}`);
        at++;
        space();
      }
      if (top.node.kind === "object") {
        top.key = string();
        space();
        if (text[at] !== ":") fail("expected :");
        at++;
      }
      break;
    }
  }
}

/** Null if the text is no JSON. */
export function tryJson(text: string): JsonNode | null {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

export function size(node: JsonNode): number {
  return node.kind === "object" ? node.members.length : node.kind === "array" ? node.items.length : 0;
}

/** One line of a tree that is shown: a value, the start or the end of an object or array. */
export interface JsonLine {
  path: string;
  depth: number;
  key: string | null;
  node: JsonNode;
  part: "value" | "open" | "closed" | "end" | "more";
  comma: boolean;
}

/**
 * The lines of a tree in which `isOpen(path, depth)` says what is unfolded. At most `limit` lines, then one
 * of part "more".
 */
export function treeLines(root: JsonNode, isOpen: (path: string, depth: number) => boolean, limit: number): JsonLine[] {
  const lines: JsonLine[] = [];
  type Frame = { node: JsonNode; path: string; depth: number; key: string | null; next: number; comma: boolean };
  const stack: Frame[] = [{ node: root, path: "$", depth: 0, key: null, next: -1, comma: false }];
  while (stack.length > 0) {
    if (lines.length >= limit) {
      lines.push({ path: "more", depth: 0, key: null, node: root, part: "more", comma: false });
      break;
    }
    const top = stack[stack.length - 1]!;
    const { node, path, depth, key, comma } = top;
    if (node.kind !== "object" && node.kind !== "array") {
      lines.push({ path, depth, key, node, part: "value", comma });
      stack.pop();
      continue;
    }
    const total = size(node);
    if (top.next < 0) {
      if (total === 0 || !isOpen(path, depth)) {
        lines.push({ path, depth, key, node, part: total === 0 ? "value" : "closed", comma });
        stack.pop();
        continue;
      }
      lines.push({ path, depth, key, node, part: "open", comma });
      top.next = 0;
      continue;
    }
    if (top.next >= total) {
      lines.push({ path: `${path}$`, depth, key: null, node, part: "end", comma });
      stack.pop();
      continue;
    }
    const i = top.next++;
    // The position, not the key: keys may be there twice.
    const child: Frame =
      node.kind === "object"
        ? { node: node.members[i]!.value, key: node.members[i]!.key, path: `${path}.${i}`, depth: depth + 1, next: -1, comma: i + 1 < total }
        : { node: node.items[i]!, key: null, path: `${path}.${i}`, depth: depth + 1, next: -1, comma: i + 1 < total };
    stack.push(child);
  }
  return lines;
}

/** A JSON document that is sent as it was written: JSON.parse would round its large numbers. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** As JSON.stringify, with the documents in it as they are. */
export function stringify(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, v]) => v !== undefined);
    return `{${members.map(([k, v]) => `${JSON.stringify(k)}:${stringify(v)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}
