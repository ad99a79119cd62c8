// Where a collaboration stands, of its journal: rounds begun and spoken in.
import type { Entry } from "../../api/types";
import type { Story } from "../../journal/story";

export interface Settings {
  goal: string;
  speaker: string;
  maxRounds: number;
  mode?: "collaborate" | "single";
  /** Whether a final message is the finished work, whole. */
  delivers?: boolean;
}

export interface Rounds {
  /** The round that goes on, from 1. */
  now: number;
  /** The rounds that were spoken in. */
  done: number;
  max: number;
}

export function settingsOf(story: Story): Settings {
  return story.setup.format as Settings;
}

export function roundsOf(story: Story): Rounds {
  return story.own as Rounds;
}

/** Whether the session hands out a finished work. */
export function hasResult(story: Story): boolean {
  const { mode = "collaborate", delivers = false } = settingsOf(story);
  return story.ended?.reason === "final" && mode === "collaborate" && delivers;
}

export function begin(story: Story): Rounds {
  return { now: 1, done: 0, max: settingsOf(story).maxRounds };
}

export function apply(rounds: Rounds, entry: Entry): Rounds {
  switch (entry.type) {
    case "asked":
      return { ...rounds, now: entry.ask.turn };
    case "line_spoken":
      return { ...rounds, done: rounds.now };
    case "resumed":
    case "forked":
      return { ...rounds, max: entry.change.maxRounds ?? rounds.max };
    default:
      return rounds;
  }
}
