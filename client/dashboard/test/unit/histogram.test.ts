import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { bucketCount, bucketLabel } from "../../src/format";
import { shortDuration } from "../../src/time";

// The bounds that the server has, from its source.
const source = readFileSync("../../src/core/histogram.hpp", "utf8");
const bounds = /kDurationBounds = \{([^}]*)\}/.exec(source)![1]!.split(",").map(Number);

test("every bucket of the server has its label", () => {
  assert.equal(bounds.length, 21);
  assert.equal(bucketCount, bounds.length + 1);
  bounds.forEach((ms, i) => assert.equal(bucketLabel(i), `up to ${shortDuration(ms)}`));
  assert.equal(new Set(Array.from({ length: bucketCount }, (_v, i) => bucketLabel(i))).size, bucketCount);
  assert.equal(bucketLabel(0), "up to 1 ms");
  assert.equal(bucketLabel(17), "up to 30 min");
  assert.equal(bucketLabel(bounds.length - 1), "up to 1 d");
  assert.equal(bucketLabel(bounds.length), "over 1 d");
});
