// Who is waited for in a scene that a person plays in, record by record.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../bundle.js";

const { apply, awaited, begin } = await load("formats/scene/fold.ts");

const OF_BOB = (turn) => ({ agent: "bob", purpose: "act", turn });
const SCENE = (decision) => ({ type: "scene", ...decision });

/** A scene between Alice, who begins, and Bob, whom a person plays. */
function stage() {
  const agents = [{ name: "alice", model: "script/a.yaml" }, { name: "bob", model: "person/you" }];
  const story = { agents, lines: [], open: [], startedAt: 0, setup: { format: { initialSpeaker: "alice", maxBeats: 4, patience: 60 } } };
  story.own = begin(story);
  let seq = 1;
  /** Whom it waits for after this event, and until when. */
  return (entry) => {
    story.own = apply(story, story.own, { seq: ++seq, at: 1000, ...entry });
    return { who: awaited(story), until: story.own.waits?.until };
  };
}

test("a person is waited for until they have spoken, or their time is up", () => {
  const after = stage();
  assert.deepEqual(after(SCENE({ decision: "beat_ended", beat: 0, moods: {} })), { who: [], until: undefined });
  assert.deepEqual(after(SCENE({ decision: "beat_begun", beat: 1 })), { who: ["bob"], until: undefined });
  assert.deepEqual(after(SCENE({ decision: "wait_begun", characters: ["bob"], seconds: 60 })), { who: ["bob"], until: 61_000 });
  // What the words come to is in the records after it.
  assert.deepEqual(after({ type: "human_spoke", who: "you", text: "Yes.", ask: OF_BOB(1) }), { who: [], until: undefined });
  assert.deepEqual(after(SCENE({ decision: "beat_ended", beat: 1, moods: {} })), { who: [], until: undefined });
  assert.deepEqual(after(SCENE({ decision: "beat_begun", beat: 2 })), { who: ["bob"], until: undefined });
  assert.deepEqual(after(SCENE({ decision: "passed_over", ask: OF_BOB(2) })), { who: [], until: undefined });
});
