import { test } from "node:test";
import assert from "node:assert/strict";
import { JsonError, parseJson, RawJson, stringify, treeLines, tryJson, type JsonNode } from "../../src/json";

/** Back to text: what was kept is there again. */
function print(node: JsonNode): string {
  switch (node.kind) {
    case "object":
      return `{${node.members.map((m) => `${JSON.stringify(m.key)}:${print(m.value)}`).join(",")}}`;
    case "array":
      return `[${node.items.map(print).join(",")}]`;
    case "string":
      return JSON.stringify(node.text);
    default:
      return node.text;
  }
}

test("digits, order and duplicate keys are kept", () => {
  for (const text of ["9007199254740993", "-0", "1E400", "1.10", '{"b":1,"a":2,"b":3}', '{"__proto__":{"x":1}}', "[]", "{}", '[[[]],{"a":[]}]', "null", '""']) {
    assert.equal(print(parseJson(text)), text);
  }
});

test("escapes of strings", () => {
  assert.deepEqual(parseJson('"a\\n\\u00e4\\ud83d\\ude00\\/\\\\\\""'), { kind: "string", text: 'a\nä😀/\\"' });
  assert.deepEqual(parseJson('"\\ud800"'), { kind: "string", text: "\ud800" });
});

test("what is no JSON is refused where it goes wrong", () => {
  for (const text of ["", " ", "{", "[1,]", '{"a":1,}', "{a:1}", "01", "1 2", "nul", '"\u0001"', '"\\x"', "[1}", '{"a"}', "+1", ".5", "NaN"]) {
    assert.equal(tryJson(text), null, JSON.stringify(text));
  }
  assert.throws(() => parseJson("[1, x]"), (error: unknown) => error instanceof JsonError && error.position === 4);
});

test("agrees with JSON.parse on random values", () => {
  let seed = 12345;
  const next = (n: number): number => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
  const value = (depth: number): unknown => {
    switch (next(depth > 4 ? 4 : 6)) {
      case 0:
        return next(100000) / 8;
      case 1:
        return String.fromCharCode(...Array.from({ length: next(6) }, () => next(0x2fff)));
      case 2:
        return next(2) === 0;
      case 3:
        return null;
      case 4:
        return Array.from({ length: next(5) }, () => value(depth + 1));
      default:
        return Object.fromEntries(Array.from({ length: next(5) }, (_v, i) => [`k${i}`, value(depth + 1)]));
    }
  };
  for (let i = 0; i < 500; i++) {
    const text = JSON.stringify(value(0), null, next(3));
    assert.deepEqual(JSON.parse(print(parseJson(text))), JSON.parse(text));
  }
});

test("depth costs no stack", () => {
  const depth = 200_000;
  const root = parseJson("[".repeat(depth) + "]".repeat(depth));
  assert.equal(treeLines(root, (_path, d) => d < 100, 1000).length, 201);
});

test("a tree is opened by place, at most so many lines", () => {
  const root = parseJson('{"a":[1,2],"a":[3],"b":{}}');
  const all = treeLines(root, () => true, 100);
  assert.deepEqual(
    all.map((l) => `${"  ".repeat(l.depth)}${l.key ?? ""} ${l.part}${l.comma ? "," : ""}`),
    [" open", "  a open,", "     value,", "     value", "   end,", "  a open,", "     value", "   end,", "  b value", " end"],
  );
  // Paths differ though the keys are equal.
  assert.equal(new Set(all.map((l) => l.path)).size, all.length);
  const folded = treeLines(root, (path) => path === "$" || path === "$.1", 100);
  assert.deepEqual(folded.map((l) => l.part), ["open", "closed", "open", "value", "end", "value", "end"]);
  const cut = treeLines(parseJson(`[${Array.from({ length: 5000 }, (_v, i) => i).join(",")}]`), () => true, 1000);
  assert.equal(cut.length, 1001);
  assert.equal(cut[1000]!.part, "more");
});

test("documents are sent as they were written, everything else as JSON.stringify does", () => {
  const plain = { a: [1, "x\u2028", null, true], b: { c: undefined, d: -0.5 }, "k\"": "" };
  assert.equal(stringify(plain), JSON.stringify(plain));
  assert.equal(stringify({ state: ["failed"], payload: new RawJson('{"id": 9007199254740993}') }), '{"state":["failed"],"payload":{"id": 9007199254740993}}');
});
