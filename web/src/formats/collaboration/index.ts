// Collaboration: agents hand a task back and forth in a room, within bounds.
import { openWith, say } from "../../journal/story";
import type { Format } from "..";
import Drawing from "./Drawing.svelte";
import { beginExample } from "./example";
import { apply, begin, hasResult, roundsOf, settingsOf } from "./fold";
import Page from "./Page.svelte";

export const collaboration: Format = {
  name: "collaboration",
  titleOf: (story) => settingsOf(story).goal,
  begin(story, entry) {
    openWith(story, entry, settingsOf(story).goal);
    return begin(story);
  },
  apply(story, own, entry) {
    if (entry.type === "collaboration" && entry.decision === "handed_over") {
      say(story, entry, { speaker: { name: "router", is: "router" }, kind: "router", text: entry.task, to: entry.to });
    }
    return apply(own as ReturnType<typeof begin>, entry);
  },
  hasResult,
  counter(story) {
    const { now, max } = roundsOf(story);
    return `round ${Math.min(now, max)} of ${max}`;
  },
  door: {
    title: "Collaboration",
    path: "/room",
    address: ({ id, room }) => (room ? `/room/${room}` : `/room/-/${id}`),
    sentence: "Two agents hand a task back and forth until it is done, or the rounds are.",
    Drawing,
    Page,
    example: { label: "A fairy tale in four rounds", begin: beginExample },
  },
};
