import { test } from "node:test";
import assert from "node:assert/strict";
import { href, parse, segment, unsegment } from "../../src/router";

const ids = ["order-7", "a/b", "50%", "%2F", "..", ".", "~", "~..", "", "#x", "?y=1", "日本 語", "a b+c", "\u0000\u202e", "<script>", "é".repeat(512)];

test("ids survive the address, as a browser reads it", () => {
  for (const id of ids) {
    assert.equal(unsegment(segment(id)), id);
    const url = new URL(href("/base", ["h", "app", "instances", id], { event: 17, tab: null }), "http://x");
    const route = parse(url.pathname, url.search, "/base");
    assert.deepEqual(route.path, ["h", "app", "instances", id], JSON.stringify(id));
    assert.equal(route.query.get("event"), "17");
    assert.equal(route.query.has("tab"), false);
  }
});

test("broken escapes and lone surrogates do not throw", () => {
  assert.equal(unsegment("%zz"), "%zz");
  assert.equal(unsegment(segment("\ud800")), "\ufffd");
});

test("empty values leave the address", () => {
  assert.equal(href("", ["h", "app"], { a: "", b: false, c: true, d: undefined }), "/h/app?c=1");
});
