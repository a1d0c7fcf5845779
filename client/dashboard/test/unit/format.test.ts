import { test } from "node:test";
import assert from "node:assert/strict";
import { itemInput } from "../../src/format";

test("the input of an item is what a list shows of it", () => {
  const item = (input: string) => JSON.stringify({ ActivityExecute: { instance: "order-1", execution_id: 1, id: 2, name: "Pay", input } });
  assert.equal(itemInput(item('{"card": "x\\"y"}')), '{"card": "x\\"y"}');
  assert.equal(itemInput(item("plain")), "plain");
  // Cut off: within the text, within an escape, and before there is one.
  assert.equal(itemInput(item('{"card": 1}').slice(0, -6)), '{"card":');
  assert.equal(itemInput('{"ActivityExecute": {"input": "a\\u00'), "a\\u00");
  assert.equal(itemInput('{"ActivityExecute": {"instance": "or'), '{"ActivityExecute": {"instance": "or');
  assert.equal(itemInput('{"StartOrchestration": {"input": {"a": 1}}}'), '{"a": 1}');
  assert.equal(itemInput('{"EventRaised": {"name": "go", "data": null}}'), "null");
  assert.equal(itemInput("no JSON"), "no JSON");
  assert.equal(itemInput(null), "");
});
