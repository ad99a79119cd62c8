// Score: a format from a file. The page draws it by its phases, whatever they are.
import { openWith } from "../../journal/story";
import type { Format } from "..";
import Beneath from "./Beneath.svelte";
import Drawing from "./Drawing.svelte";
import { apply, begin, placeOf, type Playing, playingOf, settingsOf } from "./fold";
import Page from "./Page.svelte";
import { roundOf } from "./rounds";
import { heading, said } from "./score";
import { beginExample } from "./shelf";

const ENDINGS: Record<string, string> = { too_few: "too few were left", bad_score: "the score could not go on" };

export const score: Format = {
  name: "score",
  titleOf: (story) => settingsOf(story).message,
  begin(story, entry) {
    openWith(story, entry, settingsOf(story).message);
    return begin(story);
  },
  apply: (story, own, entry) => apply(story, own as Playing, entry),
  counter(story) {
    const now = playingOf(story).played.at(-1);
    return now && [said(now.phase), roundOf(story, now)].filter(Boolean).join(", ");
  },
  ending: (_, reason) => ENDINGS[reason],
  partOf(story, line) {
    const place = placeOf(story, line.id);
    if (!place) return undefined;
    const { played } = place;
    return { key: played.number, title: [heading(played.phase), roundOf(story, played)].filter(Boolean).join(", ") };
  },
  Beneath,
  door: {
    title: "Score",
    path: "/score",
    address: ({ id }) => `/score/${id}`,
    sentence: "A format from a file: a council, a debate, a vote. Nine are here; write your own.",
    Drawing,
    Page,
    example: { label: "Ask a council", begin: beginExample },
  },
};
