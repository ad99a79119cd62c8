// Chorus: all slots answer at once, each comments on one other, those who were commented on reply.
import { openWith } from "../../journal/story";
import type { Format } from "..";
import Drawing from "./Drawing.svelte";
import { apply, begin, type Chorus, numberOf, type Settings } from "./fold";
import Page from "./Page.svelte";
import { EXAMPLE, house, start } from "./start";

export const chorus: Format = {
  name: "chorus",
  titleOf: (story) => (story.setup.format as unknown as Settings).message,
  begin(story, entry) {
    openWith(story, entry, (story.setup.format as unknown as Settings).message);
    return begin(story, entry);
  },
  apply: (story, own, entry) => apply(story, own as Chorus, entry),
  nameOf: (_, agent) => (agent.startsWith("slot-") ? `Speaker ${numberOf(agent)}` : undefined),
  counter(story) {
    const round = (story.own as Chorus).rounds.at(-1);
    return round && `turn ${round.phase} of 3`;
  },
  initialOf: (agent) => (agent.startsWith("slot-") ? String(numberOf(agent)) : undefined),
  ending: (_, reason) => (reason === "failed" ? "nobody could answer" : undefined),
  door: {
    title: "Chorus",
    path: "/chorus",
    address: ({ id }) => `/chorus/${id}`,
    sentence: "Six voices answer you, comment on each other, and reply. Every line can be heard.",
    Drawing,
    Page,
    example: {
      label: "“What is a home?”",
      begin: async () => {
        const { message } = await house().catch(() => ({ message: EXAMPLE }));
        return `/chorus/${await start(message)}`;
      },
    },
  },
};
