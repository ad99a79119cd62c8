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
  /** How it closes after its rounds. */
  closing?: "open" | "decision";
}

/** A participant's chance to speak: the place in the order from 0, the round from 1. A decision comes after the last. */
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
  /** It states what was decided. */
  isDecision?: boolean;
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
    return { ...course, maxRounds, next: after(course, maxRounds) ?? closing(course, settingsOf(story)) };
  }
  if (entry.type !== "discussion") return course;
  switch (entry.decision) {
    case "reseated":
      story.agents = entry.cast.agents;
      story.people = entry.cast.people;
      return { ...course, participants: entry.participants, next: turnAt(entry.participants, 0, 1, course.maxRounds) };
    case "turn_taken": {
      const { turn, failure, closes } = entry;
      const said = failure ? { failure: failure.message } : { line: story.lines.length };
      const taken = [...course.taken, { seq: entry.seq, at: entry.at, turn, ...said }];
      const closer = closes && course.participants.find(({ agent }) => agent === closes);
      const next = entry.next ?? (closer ? { ...closer, index: turn.index + 1, round: turn.round } : null);
      return { ...course, taken, next };
    }
    case "closed": {
      const { turn, failure } = entry;
      const said = failure ? { failure: failure.message } : { line: story.lines.length };
      const decision = { seq: entry.seq, at: entry.at, turn, isDecision: true, ...said };
      return { ...course, taken: [...course.taken, decision], next: null };
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

/** The decision that is still due after the last turn. */
function closing({ participants, taken }: Course, settings: Settings): Turn | null {
  const last = taken.at(-1);
  if (settings.closing !== "decision" || !last || last.isDecision) return null;
  const inRole = (role: Participant["role"]) => participants.find((one) => one.role === role);
  const closer = inRole("leader") ?? inRole("manager") ?? participants.findLast((one) => one.role !== "user");
  return closer ? { ...closer, index: last.turn.index + 1, round: last.turn.round } : null;
}

function turnAt(participants: Participant[], index: number, round: number, maxRounds: number): Turn | null {
  const participant = participants[index];
  return participant && round <= maxRounds ? { ...participant, index, round } : null;
}

/** How many turns each place has had; a turn without words counts too. */
export function countsOf({ participants, taken }: Course): number[] {
  const counts = participants.map(() => 0);
  for (const { turn, isDecision } of taken) if (!isDecision) counts[turn.index] = (counts[turn.index] ?? 0) + 1;
  return counts;
}
