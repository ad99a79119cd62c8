// What a person who plays writes, in the form that characters answer in.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../bundle.js";

const { inForm } = await load("formats/scene/form.ts");

test("plain words stay plain, and a tone gives them their form", () => {
  for (const [text, tone, expected] of [
    ["I am sorry.", "", "I am sorry."],
    ["I am sorry.", " tender ", '[TONE: tender] "I am sorry."'],
    ["*sighs* I know.", "sad", '[TONE: sad, *sighs*] "I know."'],
    ["*sits down*", "tired", "[REACT, TONE: tired, *sits down*]"],
    ['She said "no".', "cold", '[TONE: cold] "She said \\"no\\"."'],
    ["[SILENT]", "cold", "[SILENT]"],
    ["No.", "]\"[", "No."],
  ]) {
    assert.equal(inForm(text, tone), expected, `${text} (${tone})`);
  }
});
