// Discussion: everybody in turn, people among them.
import type { Format } from "..";
import Drawing from "./Drawing.svelte";
import { beginExample } from "./example";
import { apply, begin, type Course, courseOf, settingsOf } from "./fold";
import Page from "./Page.svelte";

export const discussion: Format = {
  name: "discussion",
  titleOf: (story) => settingsOf(story).title,
  begin: (story) => begin(story),
  apply: (story, own, entry) => apply(story, own as Course, entry),
  counter(story) {
    const { next, maxRounds } = courseOf(story);
    return `round ${next?.round ?? maxRounds} of ${maxRounds}`;
  },
  ending: (_, reason) => (reason === "cancelled" || reason === "cap_reached" ? "paused" : undefined),
  door: {
    title: "Discussion",
    path: "/discussion",
    address: ({ id }) => `/discussion/${id}`,
    sentence: "Everybody in turn, you among them. It waits for you as long as it takes.",
    Drawing,
    Page,
    example: { label: "Repair the roof, or replace it?", begin: beginExample },
  },
};
