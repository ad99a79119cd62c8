// Scene: characters act beat by beat, interrupt and stay silent as they please; a moderator directs them.
import { say } from "../../journal/story";
import { count, ending } from "../../words";
import type { Format } from "..";
import { example, start } from "./draft";
import Drawing from "./Drawing.svelte";
import { apply, begin, sceneOf, type Scene, settingsOf, totalBeats } from "./fold";
import Page from "./Page.svelte";
import { beingSaid } from "./said";
import { titled } from "./title";

export const scene: Format = {
  name: "scene",
  titleOf: (story) => titled(settingsOf(story).title),
  listedTitle: titled,
  begin(story, entry) {
    const { events } = settingsOf(story);
    if (typeof events === "object") {
      for (const { beat, text } of events.at) {
        if (beat === 0) say(story, entry, { speaker: { name: "moderator", is: "moderator" }, kind: "event", text });
      }
    }
    return begin(story);
  },
  apply: (story, own, entry) => apply(story, own as Scene, entry),
  nameOf: (story, agent) => settingsOf(story).names?.[agent] ?? (agent === "moderator" ? "Moderator" : undefined),
  counter(story) {
    const { beats, maxBeats } = sceneOf(story);
    return story.ended ? count(totalBeats(sceneOf(story)), "beat") : `beat ${beats.length} of ${maxBeats}`;
  },
  beingSaid: (story) => beingSaid(story, "audience"),
  ending: (story, reason) => story && `${ending(reason)}, ${count(totalBeats(sceneOf(story)), "beat")}`,
  door: {
    title: "Scene",
    path: "/scene",
    address: ({ id }) => `/scene/${id}`,
    sentence: "Characters act on their own and interrupt each other. A moderator brings it home.",
    Drawing,
    Page,
    example: { label: "The Apology", begin: async () => start(await example()) },
  },
};

