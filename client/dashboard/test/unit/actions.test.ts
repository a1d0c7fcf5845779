// The documentation and the stand-in for the server have the actions of the server's table.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const text = (path: string): string => readFileSync(path, "utf8");
const actions = [...text("../tool/dashboard/action_table.cpp").matchAll(/\{"(\w+)",\s*"([^"]+)",\s*"(\w+)",\s*Kind::k(\w+),\s*Why::k(\w+),\s*"([\w.]+)"/g)].map((m) => ({ name: m[1]!, label: m[2]!, level: m[3]!, kind: m[4]!.toLowerCase(), reason: m[5]!.toLowerCase(), fn: m[6]! }));
const many = [...text("../tool/dashboard/bulk.cpp").matchAll(/\{"(\w+)", "[\w ]+", "\w+",\s*"\{h\}/g)].map((m) => m[1]!);

test("the documentation lists the actions of the server", () => {
  assert.ok(actions.length > 25 && many.length >= 5);
  const listed = text("../../docs/dashboard.md")
    .split("\n")
    .filter((line) => /\| (safe|disturbing|destructive) \|/.test(line));
  assert.deepEqual(
    listed,
    actions.map((a) => `| \`${a.fn}\` | ${a.label}${many.includes(a.name) ? ", also on many" : ""} | \`${a.level}\` | ${a.kind} | ${a.reason} |`),
  );
});

test("the stand-in for the server has the same actions", () => {
  const fake = [...text("test/fake_api.mjs").matchAll(/^ {2}(\w+): \["([^"]+)", "(\w+)", "(\w+)", "(\w+)"\],$/gm)].map((m) => m.slice(1, 6).join(" "));
  assert.deepEqual(
    fake,
    actions.map((a) => `${a.name} ${a.label} ${a.level} ${a.kind} ${a.reason}`),
  );
});
