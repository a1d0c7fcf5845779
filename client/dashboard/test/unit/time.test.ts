import { test } from "node:test";
import assert from "node:assert/strict";
import { clock, clockError, duration, iso, noteServerTime, parseLocal, relative, serverNow, shortDuration, toLocal, validZone, zoneOffset } from "../../src/time";

test("lengths of time have at most two units", () => {
  assert.equal(duration(0), "0 ms");
  assert.equal(duration(0.4), "0.4 ms");
  assert.equal(duration(40), "40 ms");
  assert.equal(duration(1400), "1.4 s");
  assert.equal(duration(9949), "9.9 s");
  assert.equal(duration(9960), "10 s");
  assert.equal(duration(59_999), "1 min");
  assert.equal(duration(125_000), "2 min 5 s");
  assert.equal(duration(4 * 3_600_000 + 60_000), "4 h 1 min");
  assert.equal(duration(3 * 86_400_000 + 4 * 3_600_000 + 59_000), "3 d 4 h");
  assert.equal(duration(-1400), "−1.4 s");
  assert.equal(duration(null), "–");
  assert.equal(shortDuration(125_000), "2 min");
});

test("relative times", () => {
  assert.equal(relative(1000, 1000), "now");
  assert.equal(relative(1000, 181_000), "3 min ago");
  assert.equal(relative(42_000, 1000), "in 41 s");
});

test("ages follow the server's clock, whatever the viewer's is", () => {
  const viewer = Date.now();
  noteServerTime(viewer - 600_000, viewer);
  assert.ok(Math.abs(serverNow(viewer) - (viewer - 600_000)) < 2);
  assert.equal(clockError(), 600_000);
  noteServerTime(viewer + 1000, viewer);
  assert.equal(clockError(), null);
});

test("ISO 8601 with ms and the offset of the zone, also around clock changes", () => {
  const ms = Date.UTC(2026, 10, 17, 14, 3, 7, 214);
  assert.equal(iso(ms, "UTC"), "2026-11-17T14:03:07.214Z");
  assert.equal(iso(ms, "Europe/Berlin"), "2026-11-17T15:03:07.214+01:00");
  assert.equal(iso(ms, "Asia/Kathmandu"), "2026-11-17T19:48:07.214+05:45");
  assert.equal(iso(ms, "America/New_York"), "2026-11-17T09:03:07.214-05:00");
  // Berlin, 25 October 2026: the hour from 2 to 3 comes twice.
  assert.equal(iso(Date.UTC(2026, 9, 25, 0, 30), "Europe/Berlin"), "2026-10-25T02:30:00.000+02:00");
  assert.equal(iso(Date.UTC(2026, 9, 25, 1, 30), "Europe/Berlin"), "2026-10-25T02:30:00.000+01:00");
  assert.equal(zoneOffset(ms, "Asia/Kathmandu"), 345);
});

test("local times of a zone are read as they are written", () => {
  for (const zone of ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/New_York"]) {
    const ms = Date.UTC(2026, 10, 17, 14, 3);
    assert.equal(parseLocal(toLocal(ms, zone), zone), ms, zone);
  }
  assert.equal(parseLocal("2026-03-29T03:30", "Europe/Berlin"), Date.UTC(2026, 2, 29, 1, 30));
  assert.equal(parseLocal("yesterday", "UTC"), null);
  assert.equal(parseLocal("", "UTC"), null);
});

test("the date is shown only if it is not today's", () => {
  const now = Date.UTC(2026, 10, 17, 14, 3, 7);
  assert.equal(clock(now, "UTC", now), "14:03:07");
  assert.equal(clock(now - 86_400_000, "UTC", now), "11-16 14:03:07");
  assert.equal(clock(Date.UTC(2025, 0, 2), "UTC", now), "2025-01-02 00:00:00");
});

test("zones are known or not", () => {
  assert.equal(validZone("Asia/Kathmandu"), true);
  assert.equal(validZone("Mars/Olympus"), false);
});
