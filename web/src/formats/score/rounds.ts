// Where a phase stands in the repeats around it, in words.
import type { Story } from "../../journal/story";
import { type Played, scoreOf, valuesOf } from "./fold";
import { placed, timesOf } from "./score";

/** `round 2 of 3`, of the innermost repeat. */
export function roundOf(story: Story, { phase, rounds }: Played): string | undefined {
  const round = rounds.at(-1);
  const repeat = placed(scoreOf(story).phases).find(({ turn }) => turn.name === phase)?.around.at(-1);
  if (round === undefined || !repeat) return undefined;
  return `round ${round} of ${timesOf(repeat, scoreOf(story), valuesOf(story))}`;
}
