// How figures, times and reasons are said.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../bundle.js";

const words = await load("words.ts");

function check(say, cases) {
  for (const [given, expected] of cases) assert.equal(say(given), expected, `${say.name}(${given})`);
}

test("money: an unknown price is said, and little is not nothing", () => {
  check(words.money, [[null, "price unknown"], [0, "$0"], [1e8, "< $0.001"], [2.1e10, "$0.021"], [1.5e12, "$1.50"], [1234e12, "$1234.00"]]);
  check(words.dollars, [[null, "price unknown"], [0, "$0"], [0.0004, "< $0.001"], [0.014, "$0.014"], [2, "$2.00"]]);
});

test("counts and clocks", () => {
  assert.equal(words.count(1, "line"), "1 line");
  assert.equal(words.count(1234, "line"), "1,234 lines");
  assert.equal(words.count(2, "reply", "replies"), "2 replies");
  check(words.clock, [[0, "0:00"], [999, "0:01"], [61_000, "1:01"], [-5, "0:00"], [3_600_000, "60:00"]]);
});

test("when it was", () => {
  const now = new Date(2026, 10, 18, 15, 30).getTime();
  const minutes = 60_000;
  check((past) => words.when(now - past, now), [
    [0, "now"],
    [59_000, "now"],
    [5 * minutes, "5 min ago"],
    [2 * 60 * minutes, "13:30"],
    [20 * 60 * minutes, "yesterday"],
  ]);
  assert.equal(words.when(new Date(2026, 2, 3).getTime(), now), "3 Mar");
  assert.equal(words.when(new Date(2025, 2, 3).getTime(), now), "3 Mar 2025");
});

test("why it ended, and what can be gone on with", () => {
  check(words.ending, [["goal_achieved", "goal reached"], ["cancelled", "stopped"], ["a_new_reason", "a new reason"]]);
  check(words.isBrokenOff, [["cancelled", true], ["limit_usd", true], ["completed", false], ["goal_achieved", false]]);
});

test("text is inert, letters of every kind stay", () => {
  check(words.inert, [
    ["a\u202Eb\u2067c\u0000d\u001be\ufefff", "abcdef"],
    ["tab\tand\nline", "tab\tand\nline"],
    ["שלום Grüße 你好 👨‍👩‍👧", "שלום Grüße 你好 👨‍👩‍👧"],
  ]);
  check(words.initial, [["alice", "A"], ["  “bob", "B"], ["ßen", "SS"], ["שלום", "ש"], ["🦊", "?"], ["", "?"], ["3po", "3"]]);
});
