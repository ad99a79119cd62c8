// Interview: an agent is asked about a line that it said, outside of its session.
import { openWith } from "../../journal/story";
import type { Format } from "..";

interface Settings {
  question: string;
}

export const interview: Format = {
  name: "interview",
  titleOf: (story) => (story.setup.format as unknown as Settings).question,
  begin(story, entry) {
    openWith(story, entry, (story.setup.format as unknown as Settings).question);
    return undefined;
  },
  apply: (_, own) => own,
};
