// Which lines of a scene are still being said, as the core sees it (`being_said`): those that somebody can still come
// into. Who watches is shown their beginning until they are settled.
import { hasRest } from "../../journal/heard";
import type { Line, Story } from "../../journal/story";
import { pending, personOf, sceneOf } from "./fold";

/**
 * Who looks at a scene while it goes on. Who plays sees every line whole when it is their turn, and from then on; and
 * what people say themselves always.
 */
export type Watcher = "audience" | "player";

/** The ids of the lines that can still be cut off. */
export function beingSaid(story: Story, watcher: Watcher): Set<number> {
  const { now, maxBeats, settled, seen } = sceneOf(story);
  const waiting = pending(story);
  // What the newest interruption cuts is told by the next event.
  const newest = story.lines.at(-1);
  const comesIn = newest?.seq === story.head && newest.interruptsAfter !== undefined ? [newest.speaker.name] : [];
  const isOpen = ({ id, speaker, ask, ...line }: Line) => {
    const turn = ask?.turn ?? -1;
    const inNext = turn === now && now + 1 < maxBeats;
    const others = [...waiting, ...comesIn].some((name) => name !== speaker.name);
    const isKnown = watcher === "player" && (id <= seen || personOf(story, speaker.name) !== undefined);
    return !isKnown && canBeCut(line) && (inNext || (turn >= now - 1 && others));
  };
  return new Set(story.lines.slice(settled).filter(isOpen).map(({ id }) => id));
}

function canBeCut({ kind, text, cut }: Pick<Line, "kind" | "text" | "cut">): boolean {
  return (kind === "speak" || kind === "interrupt") && !cut && hasRest(text);
}
