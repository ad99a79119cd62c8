// Which lines are still being said, and what is heard of each: the same in the page as in the core, whose own test keeps
// what it says of some scenes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { load } from "../bundle.js";

// The formats' own pages come along, and look at once where they are.
globalThis.location = new URL("http://127.0.0.1/");
globalThis.window = globalThis.document = new EventTarget();

const { tell } = await load("journal/story.ts");
const { beingSaid } = await load("formats/scene/said.ts");
const { beginning, heard } = await load("journal/heard.ts");
const KEPT = "../../../crates/polylogue-core/tests/it/snapshots/it__scene_being_said__said.snap";
const [, , kept] = readFileSync(new URL(KEPT, import.meta.url), "utf8").split(/^---$/m);
const scenes = JSON.parse(kept);

for (const { name, journal, audience, player, lines } of scenes) {
  test(name, () => {
    let story;
    const open = { audience: [], player: [] };
    for (const entry of journal) {
      story = tell([entry], story);
      for (const watcher of ["audience", "player"]) open[watcher].push([...beingSaid(story, watcher)]);
    }
    assert.deepEqual(open, { audience, player });
    assert.deepEqual(story.lines.map((line) => ({ heard: heard(line), beginning: beginning(line.text) })), lines);
  });
}
