import { test } from "node:test";
import assert from "node:assert/strict";
import { cronWords } from "../../src/cron";

test("cron in words", () => {
  const cases: [string, string | null][] = [
    ["30 2 * * mon-fri", "at 02:30 on Monday to Friday"],
    ["0 4 1 * *", "at 04:00 on day 1 of the month"],
    ["* * * * *", "every minute"],
    ["*/15 * * * *", "every 15 minutes"],
    ["*/15 8-17 * * *", "every 15 minutes, from 08:00 to 17:59"],
    ["0 * * * *", "every hour, on the hour"],
    ["5 * * * *", "every hour, at minute 5"],
    ["0 8,20 * * *", "at 08:00 and 20:00 every day"],
    ["0 0 * jan,jul *", "at 00:00 in January and July"],
    ["0 0 13 * 5", "at 00:00 on day 13 of the month or on Friday"],
    ["0 0 * * 7", "at 00:00 on Sunday"],
    ["0 */6 * * *", "every 6 hours, at minute 0"],
    ["10,40 * * * *", "at minutes 10 and 40 of every hour"],
    ["0 0 */2 * *", "at 00:00 every 2nd day"],
    ["60 * * * *", null],
    ["* * * *", null],
    ["* * 0 * *", null],
    ["5/2 * * * *", null],
    ["a b c d e", null],
    ["", null],
  ];
  for (const [cron, words] of cases) {
    assert.equal(cronWords(cron), words, cron);
  }
});
