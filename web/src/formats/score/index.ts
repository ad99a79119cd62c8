// Score: a format from a file. The page draws it by its phases: which is played, and in which round of its repeats.
import type { Entry } from "../../api/types";
import { openWith } from "../../journal/story";
import type { Format } from "..";

interface Settings {
  message: string;
  score: { name: string; phases: Phase[] };
}

/** A phase, or phases that are gone through again. */
type Phase = { turn: { name: string } } | { repeat: { phases: Phase[] } };

/** What is played now. */
interface Now {
  phase: string;
  rounds: number[];
}

interface PhaseBegun {
  type: string;
  decision?: string;
  phase?: string;
  rounds?: number[];
}

function settingsOf(format: unknown): Settings {
  return format as Settings;
}

/** The first phase, in the order in which they are written, with a first round for every repeat around it. */
function firstOf(phases: Phase[], rounds: number[] = []): Now | undefined {
  const [first] = phases;
  if (first === undefined) return undefined;
  return "turn" in first ? { phase: first.turn.name, rounds } : firstOf(first.repeat.phases, [...rounds, 1]);
}

export const score: Format = {
  name: "score",
  titleOf: (story) => settingsOf(story.setup.format).message,
  begin(story, entry) {
    const settings = settingsOf(story.setup.format);
    openWith(story, entry, settings.message);
    return firstOf(settings.score.phases);
  },
  apply(_, own, entry: Entry) {
    const event = entry as unknown as PhaseBegun;
    if (event.type !== "score" || event.decision !== "phase_begun" || event.phase === undefined) return own;
    return { phase: event.phase, rounds: event.rounds ?? [] } satisfies Now;
  },
  counter(story) {
    const now = story.own as Now | undefined;
    if (now === undefined) return undefined;
    const round = now.rounds.at(-1);
    return round === undefined ? now.phase : `${now.phase}, round ${round}`;
  },
  ending: (_, reason) => (reason === "too_few" ? "too few were left" : undefined),
};
