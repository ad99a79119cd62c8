// Whose turn it is and whose it was: what the journal of a discussion tells beyond its lines.
import type { Entry } from "../../api/types";
import type { Story } from "../../journal/story";

export interface Participant {
  role: "manager" | "leader" | "specialist" | "user";
  agent?: string;
  person?: string;
}

export interface Settings {
  title: string;
  topic?: string;
  participants: Participant[];
  maxRounds: number;
}

/** A participant's chance to speak: the place in the order from 0, the round from 1. */
export type Turn = Participant & { index: number; round: number };

/** A turn that is over. */
export interface Taken {
  seq: number;
  at: number;
  turn: Turn;
  /** The line that was said, by its place. */
  line?: number;
  /** Why nothing was said. */
  failure?: string;
}

export interface Course {
  participants: Participant[];
  maxRounds: number;
  taken: Taken[];
  /** Whose turn it is; nobody's after the last. */
  next: Turn | null;
}

export function settingsOf(story: Story): Settings {
  return story.setup.format as Settings;
}

export function courseOf(story: Story): Course {
  return story.own as Course;
}

export function nameIn({ agent, person }: Participant): string {
  return agent ?? person ?? "";
}

export function begin(story: Story): Course {
  const { participants, maxRounds } = settingsOf(story);
  return { participants, maxRounds, taken: [], next: turnAt(participants, 0, 1, maxRounds) };
}

export function apply(story: Story, course: Course, entry: Entry): Course {
  if (entry.type === "resumed" || entry.type === "forked") {
    const maxRounds = entry.change.maxRounds ?? course.maxRounds;
    return { ...course, maxRounds, next: after(course, maxRounds) };
  }
  if (entry.type !== "discussion") return course;
  switch (entry.decision) {
    case "reseated":
      story.agents = entry.cast.agents;
      story.people = entry.cast.people;
      return { ...course, participants: entry.participants, next: turnAt(entry.participants, 0, 1, course.maxRounds) };
    case "turn_taken": {
      const { turn, failure, next } = entry;
      const said = failure ? { failure: failure.message } : { line: story.lines.length };
      return { ...course, taken: [...course.taken, { seq: entry.seq, at: entry.at, turn, ...said }], next };
    }
    default:
      return course;
  }
}

/** Whose turn comes after the last that was taken. */
function after({ participants, taken }: Course, maxRounds: number): Turn | null {
  const last = taken.at(-1)?.turn;
  if (!last) return turnAt(participants, 0, 1, maxRounds);
  const isRoundOver = last.index + 1 >= participants.length;
  return turnAt(participants, isRoundOver ? 0 : last.index + 1, last.round + (isRoundOver ? 1 : 0), maxRounds);
}

function turnAt(participants: Participant[], index: number, round: number, maxRounds: number): Turn | null {
  const participant = participants[index];
  return participant && round <= maxRounds ? { ...participant, index, round } : null;
}

/** How many turns each place has had; a turn without words counts too. */
export function countsOf({ participants, taken }: Course): number[] {
  const counts = participants.map(() => 0);
  for (const { turn } of taken) counts[turn.index] = (counts[turn.index] ?? 0) + 1;
  return counts;
}
