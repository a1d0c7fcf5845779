import { test } from "node:test";
import assert from "node:assert/strict";
import type { HistoryEvent } from "../../src/api";
import { bars, idleScale, linearScale, ticks, turns } from "../../src/timeline";

let last = 0;
const event = (type: string, at: number, more: Partial<HistoryEvent> = {}): HistoryEvent => ({ event_id: String(++last), type, name: null, source_event_id: null, at_ms: at, turn_ms: at, preview: "", bytes: 0, ...more });

test("a start is paired with the event that names it", () => {
  last = 0;
  const list = bars([event("OrchestrationStarted", 0, { name: "Bill" }), event("ActivityScheduled", 10, { name: "Charge" }), event("ActivityScheduled", 20, { name: "Mail" }), event("ActivityFailed", 90, { source_event_id: "2" }), event("ActivityCompleted", 95, { source_event_id: "3" })], 100);
  assert.deepEqual(
    list.map((b) => [b.label, b.kind, b.from, b.to, b.outcome]),
    [
      ["Bill", "point", 0, 0, "none"],
      ["Charge", "activity", 10, 90, "failed"],
      ["Mail", "activity", 20, 95, "ok"],
    ],
  );
});

test("an unpaired start runs until now, or until the end of the execution", () => {
  last = 0;
  const events = [event("ActivityScheduled", 10), event("TimerCreated", 20, { due_ms: 500 }), event("SubOrchestrationScheduled", 30, { child: "c" })];
  const open = bars(events, null);
  assert.deepEqual(open.map((b) => [b.to, b.outcome]), [[null, "running"], [null, "running"], [null, "running"]]);
  assert.equal(open[1]!.due, 500);
  assert.equal(open[2]!.child, "c");
  assert.deepEqual(bars(events, 70).map((b) => [b.to, b.outcome]), [[70, "none"], [70, "none"], [70, "none"]]);
});

test("types that are not known are points; ends without a start, too", () => {
  last = 0;
  const list = bars([event("SomethingNew", 5), event("ActivityCompleted", 9, { source_event_id: "77" })], null);
  assert.deepEqual(list.map((b) => [b.kind, b.what, b.from, b.to]), [["point", "SomethingNew", 5, 5], ["point", "ActivityCompleted", 9, 9]]);
});

test("points say what they are", () => {
  last = 0;
  const list = bars([event("OrchestrationStarted", 0, { name: "Bill" }), event("KeyValueSet", 1, { name: "stage" }), event("CustomStatusUpdated", 2), event("TimerCreated", 3), event("ActivityScheduled", 4, { name: "Charge" })], null);
  assert.deepEqual(list.map((b) => `${b.what} ${b.label}`.trim()), ["start Bill", "set stage", "status", "timer", "Charge"]);
});

test("turns are the times at which their events were stored", () => {
  last = 0;
  assert.deepEqual(turns([event("OrchestrationStarted", 0, { turn_ms: 7 }), event("ActivityScheduled", 0, { turn_ms: 7 }), event("ActivityCompleted", 90, { turn_ms: 95 })]), [7, 95]);
});

test("a cancelled activity that answers all the same has its answer", () => {
  last = 0;
  const list = bars([event("ActivityScheduled", 1), event("ActivityCancelRequested", 5, { source_event_id: "1" }), event("ActivityCompleted", 9, { source_event_id: "1" })], null);
  assert.deepEqual(list.map((b) => [b.to, b.outcome]), [[9, "ok"]]);
});

test("events go to the waits of their name, in order; one that nothing waits for is a point", () => {
  last = 0;
  const list = bars(
    [
      event("ExternalSubscribed", 0, { name: "go" }),
      event("ExternalSubscribed", 10, { name: "go" }),
      event("ExternalSubscribed", 20, { name: "stop" }),
      event("ExternalEvent", 30, { name: "go" }),
      event("ExternalEvent", 40, { name: "other" }),
      event("ExternalEvent", 50, { name: "go" }),
      event("ExternalEvent", 60, { name: "go" }),
    ],
    null,
  );
  assert.deepEqual(
    list.map((b) => [b.id, b.kind, b.to, b.outcome, b.endId]),
    [
      ["1", "wait", 30, "ok", "4"],
      ["2", "wait", 50, "ok", "6"],
      ["3", "wait", null, "running", null],
      ["5", "point", 40, "none", null],
      ["7", "point", 60, "none", null],
    ],
  );
});

test("a wait that is cancelled gets nothing: the next of its name does, also if it comes later", () => {
  last = 0;
  const first = bars([event("ExternalSubscribed", 0, { name: "go" }), event("ExternalSubscribed", 1, { name: "go" }), event("ExternalEvent", 5, { name: "go" }), event("ExternalSubscribedCancelled", 9, { source_event_id: "1" })], null);
  assert.deepEqual(first.map((b) => [b.id, b.to, b.outcome]), [["1", 9, "cancelled"], ["2", 9, "ok"], ["3", 5, "none"]]);
  last = 0;
  const later = bars([event("ExternalSubscribed", 0, { name: "go" }), event("ExternalEvent", 5, { name: "go" }), event("ExternalSubscribedCancelled", 9, { source_event_id: "1" }), event("ExternalSubscribed", 12, { name: "go" })], null);
  assert.deepEqual(later.map((b) => [b.id, b.kind, b.to, b.outcome]), [["1", "wait", 9, "cancelled"], ["2", "point", 5, "none"], ["4", "wait", 12, "ok"]]);
});

test("messages of a queue wait for a subscription; a cancelled one takes none", () => {
  last = 0;
  const list = bars(
    [
      event("ExternalEventPersistent", 1, { name: "mail" }),
      event("ExternalSubscribedPersistent", 4, { name: "mail" }),
      event("ExternalSubscribedPersistent", 5, { name: "mail" }),
      event("ExternalSubscribedPersistent", 6, { name: "mail" }),
      event("ExternalSubscribedPersistentCancelled", 7, { source_event_id: "3" }),
      event("ExternalEventPersistent", 8, { name: "mail" }),
    ],
    null,
  );
  assert.deepEqual(
    list.map((b) => [b.id, b.kind, b.to, b.outcome]),
    [
      ["1", "point", 1, "none"],
      ["2", "wait", 4, "ok"],
      ["3", "wait", 7, "cancelled"],
      ["4", "wait", 8, "ok"],
    ],
  );
});

test("50,000 events take little time", () => {
  last = 0;
  const events: HistoryEvent[] = [];
  for (let i = 0; i < 25_000; i++) {
    const start = event("ActivityScheduled", i * 10);
    events.push(start, event("ActivityCompleted", i * 10 + 5, { source_event_id: start.event_id }));
  }
  const began = performance.now();
  assert.equal(bars(events, null).length, 25_000);
  assert.ok(performance.now() - began < 1000);
});

test("scales turn times into places and back", () => {
  const scale = linearScale(1000, 2000);
  assert.equal(scale.at(1500), 0.5);
  assert.equal(scale.time(0.5), 1500);
});

test("idle stretches are cut, order and ends stay", () => {
  last = 0;
  const list = bars([event("ActivityScheduled", 0), event("ActivityCompleted", 1000, { source_event_id: "1" }), event("TimerCreated", 1000, { due_ms: 3_600_000 }), event("TimerFired", 3_600_000, { source_event_id: "3" }), event("ActivityScheduled", 3_600_000), event("ActivityCompleted", 3_602_000, { source_event_id: "5" })], 3_602_000);
  const scale = idleScale(list, 0, 3_602_000, 3_602_000);
  assert.equal(scale.gaps.length, 1);
  assert.ok(Math.abs(scale.at(0)) < 1e-9);
  assert.ok(Math.abs(scale.at(3_602_000) - 1) < 1e-9);
  let before = -1;
  for (let t = 0; t <= 3_602_000; t += 10_000) {
    const x = scale.at(t);
    assert.ok(x >= before);
    before = x;
    assert.ok(Math.abs(scale.time(x) - t) < 1);
  }
  // The hour of waiting gets little room.
  const gap = scale.gaps[0]!;
  assert.ok(scale.at(gap.to) - scale.at(gap.from) < 0.2);
});

test("ticks are few and even", () => {
  assert.deepEqual(ticks(0, 60_000, 6), [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
  assert.ok(ticks(0, 1e12, 8).length <= 33);
  assert.ok(ticks(5, 5, 8).length >= 1);
});
