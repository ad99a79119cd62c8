// The little Markdown that models write: what is known becomes a value, and everything else stays text.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../bundle.js";

const { blocks, inline } = await load("ui/markup.ts");

const text = (text) => ({ is: "text", text });
const paragraph = (...inside) => ({ is: "paragraph", inside });

const CASES = {
  "a line\nand the next\n\nanother": [paragraph(text("a line\nand the next")), paragraph(text("another"))],
  "**strong** and *soft* and _soft_": [
    paragraph({ is: "strong", inside: [text("strong")] }, text(" and "), { is: "em", inside: [text("soft")] }, text(" and "), { is: "em", inside: [text("soft")] }),
  ],
  "snake_case_name and 2 * 3 * 4": [paragraph(text("snake_case_name and 2 * 3 * 4"))],
  "`a*b*` is code": [paragraph({ is: "code", text: "a*b*" }, text(" is code"))],
  "# Heading #": [{ is: "heading", inside: [text("Heading ")] }],
  "- one\n- two\n\n3. three": [
    { is: "list", ordered: false, start: 1, items: [[text("one")], [text("two")]] },
    { is: "list", ordered: true, start: 3, items: [[text("three")]] },
  ],
  "> said before": [{ is: "quote", inside: [text("said before")] }],
  "```js\n*x*\n<b>\n```\nafter": [{ is: "code", text: "*x*\n<b>" }, paragraph(text("after"))],
  "```\nnever closed": [{ is: "code", text: "never closed" }],
  "[a page](https://example.org/x)": [paragraph({ is: "link", text: "a page", href: "https://example.org/x" })],
  "": [],
};

for (const [source, expected] of Object.entries(CASES)) {
  test(`reads ${JSON.stringify(source)}`, () => assert.deepEqual(blocks(source), expected));
}

test("nothing of it acts", () => {
  for (const source of [
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html,x)",
    "[a](vbscript:x)",
    "[a](/relative)",
    "[a](//no.scheme)",
    "[a](file:///etc/passwd)",
  ]) {
    assert.deepEqual(blocks(source), [paragraph(text(source))], source);
  }
});

test("a picture is not loaded: it is a link, for whoever wants to see it", () => {
  assert.deepEqual(blocks("![a](https://example.org/x.png)"), [paragraph(text("!"), { is: "link", text: "a", href: "https://example.org/x.png" })]);
});

test("marks that turn text around, and control characters, are left out", () => {
  assert.deepEqual(blocks("a\u202Eb\u2066c\u0007d\u009be\tf"), [paragraph(text("abcde\tf"))]);
  assert.deepEqual(blocks("one\r\ntwo\rthree"), [paragraph(text("one\ntwo\nthree"))]);
});

test("no text makes it slow", () => {
  for (const piece of ["*", "_", "**", "`", "[", "[a](", "> ", "- ", "# ", "*a", "_a "]) {
    const before = process.cpuUsage().user;
    inline(piece.repeat(20_000));
    blocks(piece.repeat(20_000));
    const ms = (process.cpuUsage().user - before) / 1000;
    assert.ok(ms < 1500, `${piece} takes ${ms} ms`);
  }
});
