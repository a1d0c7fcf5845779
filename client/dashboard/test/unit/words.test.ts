import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { about, bytes, count, middle, rate, visible, visibleLines } from "../../src/format";
import { errorWords, explainClaim, explainFetch, explainWorkItem, stateWord } from "../../src/words";

// The reasons that the server has, from its sources: a new one needs its sentence here.
function reasonsOf(file: string): string[] {
  const text = readFileSync(`../../src/ops/${file}`, "utf8");
  const found = [...text.matchAll(/add\(\s*\{?(?:[^"();]*\?\s*)?"([a-z_]+)"(?:\s*:\s*"([a-z_]+)")?/g)].flatMap((m) => [m[1]!, m[2]]);
  return [...new Set(found.filter((word): word is string => word !== undefined))];
}
const claim = reasonsOf("task/read_tasks.cpp");
const fetch = [...reasonsOf("management/explain_fetch.cpp"), ...reasonsOf("management/explain_waits.cpp")];
const item = reasonsOf("management/explain_work_item.cpp");

test("the reasons of the server are found in its sources", () => {
  assert.ok(claim.includes("queue_limits_locked") && claim.includes("capabilities_missing") && claim.length >= 19, claim.join());
  assert.ok(["never_started", "activity", "timer", "message", "child", "event"].every((r) => fetch.includes(r)) && fetch.length >= 14, fetch.join());
  assert.ok(item.includes("session_held") && item.includes("tag_needed") && item.includes("fetchable") && item.length >= 9, item.join());
});

test("every reason has its sentence and its next step", () => {
  for (const [list, explain] of [[claim, explainClaim], [fetch, explainFetch], [item, explainWorkItem]] as const) {
    const texts = new Set<string>();
    for (const reason of list) {
      const s = explain({ reason, detail: { tasks: 17, active: 3, concurrency: 3, state: "failed", slot: 4, owner: "w" }, until_ms: null }, { hub: "app", queue: "mail" });
      assert.notEqual(s.text, reason);
      assert.match(s.text, /^[A-Z0-9].*[.!]$/, reason);
      assert.ok(s.next !== null, reason);
      texts.add(s.text);
    }
    assert.equal(texts.size, list.length);
  }
});

test("details are part of the sentence", () => {
  const claim = (reason: string, detail: Record<string, unknown>) => explainClaim({ reason, detail, until_ms: null }, { hub: "app", queue: "mail" }).text;
  assert.equal(claim("row_locked", { pid: 7, age_ms: 4000 }), "An open transaction of process 7, open for 4.0 s, holds its row.");
  assert.equal(claim("queue_limits_locked", { gid: "move-1", age_ms: 61_000 }), "An open transaction (prepared, move-1), open for 1 min 1 s, holds the limits of queue mail.");
  assert.equal(claim("behind", { tasks: 1 }), "1 task of queue mail comes before it.");
  const waits = (reason: string, text: string) => explainFetch({ reason, detail: { text }, until_ms: null }, { hub: "app" }).text;
  assert.equal(waits("in_transaction", "process 7, open for 4 s, holds the instance"), "An open transaction is in the way: process 7, open for 4 s, holds the instance.");
  // The sentence does not say when: the time that is left stands beside it.
  assert.equal(explainFetch({ reason: "timer", detail: { text: "#7" }, until_ms: 41_000 }, { hub: "app" }).text, "It waits for timer #7.");
  const activity = (text: string) => explainFetch({ reason: "activity", detail: { text }, until_ms: null }, { hub: "app" });
  assert.equal(activity("Charge: all #7: leased by w #1: ready, attempt 2").text, "Activity Charge: all #7 is leased by w #1: ready, attempt 2.");
  assert.equal(activity("Charge #7: leased by w, attempt 1").text, "Activity Charge #7 is leased by w.");
  assert.equal(activity("#9: ready").text, "Activity #9 waits for a worker.");
  assert.equal(activity("#9: ready").calm, false);
  assert.equal(activity("Ship #8: delayed").text, "Activity Ship #8 is delayed.");
  assert.deepEqual(explainFetch({ reason: "child", detail: { text: "c" }, until_ms: null }, { hub: "app" }).links[0]!.path, ["h", "app", "instances", "c"]);
  assert.match(explainClaim({ reason: "capabilities_missing", detail: { missing: ["avx2"] }, until_ms: null }, { hub: "app", queue: "cpu" }).text, /avx2.*cpu/);
  const blocked = explainClaim({ reason: "blocked_by_upstream", detail: { upstream: [{ task_id: "t1", state: "active" }] }, until_ms: null }, { hub: "app", queue: "cpu" });
  assert.deepEqual(blocked.links[0]!.path, ["h", "app", "tasks", "t1"]);
  assert.equal(explainClaim({ reason: "leased", detail: { worker_instance: "w", until_ms: 5 }, until_ms: null }, { hub: "app" }).until, 5);
});

test("a reason of a newer server is shown as it is", () => {
  assert.match(explainClaim({ reason: "something_new", detail: { x: 1 }, until_ms: null }, { hub: "app" }).text, /something_new/);
  assert.equal(stateWord("something_new").word, "something_new");
});

test("errors say what to do", () => {
  assert.match(errorWords({ error: "x", message: "m", sqlstate: "42501", hint: "operator" }, 403, "app").statement ?? "", /grant_hub\('app', current_user, 'operator'\)/);
  assert.match(errorWords({ error: "x", message: "m", sqlstate: "57014" }, 504, "app").title, /2 s/);
  assert.match(errorWords({ error: "x", message: "m", sqlstate: "42883" }, 409, "app").statement ?? "", /upgrade_hub/);
  assert.match(errorWords({ error: "database_away", message: "m" }, 503, "app").title, /away/);
  assert.match(errorWords({ error: "busy", message: "m" }, 503, "app").title, /busy/);
});

test("numbers for people", () => {
  assert.equal(count({ n: 10000, capped: true }), "10,000+");
  assert.equal(count(null), "–");
  assert.equal(about(1_214_330), "about 1.2 M");
  assert.equal(rate(0.44), "0.4");
  assert.equal(rate(250.4), "250");
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(48_213), "47 kB");
});

test("characters that are not seen are shown as escapes", () => {
  assert.equal(visible("a\u202eb\u200b\u0000\n\ud800"), "a\\u202eb\\u200b\\u0000\\n\\ud800");
  assert.equal(visible("😀 é 日本"), "😀 é 日本");
  assert.equal(visibleLines("a\n\tb\u202e"), "a\n\tb\\u202e");
  assert.equal(middle("0123456789", 5), "01…89");
});
