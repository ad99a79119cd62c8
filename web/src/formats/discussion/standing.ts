// Where a discussion stands for the person who looks at it, in words.
import type { Story } from "../../journal/story";
import { courseOf } from "./fold";
import { called } from "./names";

export interface Standing {
  is: "yours" | "theirs" | "paused" | "over";
  /** Beside the speaking order. */
  now: string;
  /** In the line where the person would write. */
  placeholder: string;
}

export function standing(story: Story): Standing {
  const { next, maxRounds, participants } = courseOf(story);
  const reason = story.ended?.reason;
  if (reason !== undefined) {
    if (reason === "cancelled" || reason === "cap_reached") {
      return { is: "paused", now: "paused", placeholder: "Paused. Resume it to go on." };
    }
    if (reason.startsWith("limit_")) return { is: "over", now: "paused at its limit", placeholder: "" };
    const isComplete = reason === "completed";
    return { is: "over", now: isComplete ? `complete, ${maxRounds === 1 ? "one round" : `${maxRounds} rounds`}` : "over", placeholder: "" };
  }
  if (!next) return { is: "over", now: "complete", placeholder: "" };
  const name = called(next);
  if (next.index >= participants.length) {
    return { is: "theirs", now: `${name} states the decision`, placeholder: `${name} states the decision.` };
  }
  if (next.person === undefined) {
    return { is: "theirs", now: `${name} speaks`, placeholder: `${name} speaks${turnsUntil(story)}.` };
  }
  const isYou = name === "You";
  return { is: "yours", now: isYou ? "your turn" : `the turn of ${name}`, placeholder: isYou ? "Your turn…" : `Speak as ${name}…` };
}

/** When a person has the word again, short enough for a phone. */
function turnsUntil(story: Story): string {
  const { participants, next, maxRounds } = courseOf(story);
  if (!next) return "";
  let { index, round } = next;
  for (let turns = 1; turns <= participants.length; turns++) {
    index += 1;
    if (index === participants.length) [index, round] = [0, round + 1];
    if (round > maxRounds) return "";
    const one = participants[index]!;
    if (one.person === undefined) continue;
    const who = called(one) === "You" ? "you" : called(one);
    return turns === 1 ? `, then ${who}` : `, ${who} in ${turns} turns`;
  }
  return "";
}
