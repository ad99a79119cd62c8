// What a chorus makes of its journal: for each message the three turns, who said what in which slot, who commented on
// whom, what was passed on, and who fell out. `turn` counts on through the messages: three for each.
import type { Entry } from "../../api/types";
import type { Line, OpenAsk, Story } from "../../journal/story";

export type Phase = 1 | 2 | 3;
export const PHASES: Phase[] = [1, 2, 3];

export interface Settings {
  message: string;
  slots: { slotId: number; agentId: string; name?: string }[];
}

export interface Slot {
  number: number;
  /** As the cast names it: `slot-2`. */
  agent: string;
  /** What the others call it, with the agent that plays it; the agent alone where that is the same. */
  called: string;
}

/** One slot in one turn. */
export interface Place {
  /** The line that was said, by its place among the lines. */
  line?: number;
  /** The slot that a comment is on. */
  to?: number;
  /** Why there is no line, in the words of the journal. */
  failed?: string;
}

/** A message, and what followed. */
export interface Round {
  message: string;
  seq: number;
  phase: Phase;
  /** The turns of which the texts are complete. */
  done: Phase[];
  /** Who has a place in a turn. */
  taking: Record<Phase, number[]>;
  places: Record<string, Place>;
  /** What was passed on of the comments on a slot, and what was only kept. */
  routes: Record<number, { forwarded: number[]; dropped: number[] }>;
}

export interface Chorus {
  slots: Slot[];
  rounds: Round[];
}

type Decision =
  | { decision: "turn_begun" | "turn_ended"; turn: number; slots: number[] }
  | { decision: "slot_failed"; turn: number; slot: number; message: string }
  | { decision: "routed"; target: number; forwarded: number[]; dropped: number[] }
  | { decision: "reasked" | "target_drawn" | "turn_voiced" };

export function begin(story: Story, entry: Entry): Chorus {
  const { message, slots } = story.setup.format as unknown as Settings;
  const seated = slots
    .map(({ slotId, agentId, name }) => {
      const called = name === undefined || name === agentId ? agentId : `${name} (${agentId})`;
      return { number: slotId, agent: `slot-${slotId}`, called };
    })
    .sort((one, other) => one.number - other.number);
  return { slots: seated, rounds: [newRound(seated, message, entry.seq)] };
}

function newRound(slots: Slot[], message: string, seq: number): Round {
  const all = slots.map(({ number }) => number);
  return { message, seq, phase: 1, done: [], taking: { 1: all, 2: [], 3: [] }, places: {}, routes: {} };
}

export function apply(story: Story, own: Chorus, entry: Entry): Chorus {
  switch (entry.type) {
    case "human_spoke":
      return { ...own, rounds: [...own.rounds, newRound(own.slots, entry.text, entry.seq)] };
    case "line_spoken": {
      if (!entry.ask) return own;
      const { agent, turn } = entry.ask;
      const place = { line: story.lines.length, to: entry.to ? numberOf(entry.to) : undefined };
      return put(own, turn, numberOf(agent), place);
    }
    case "resumed":
    case "forked": {
      // Where nobody could answer, everybody is asked again.
      const last = own.rounds.at(-1)!;
      const isLost = last.done.includes(1) && !own.slots.some(({ number }) => placeOf(last, number, 1)?.line);
      return isLost ? change(own, own.rounds.length - 1, { phase: 1, done: [], places: {} }) : own;
    }
  }
  const decided = entry as unknown as { type: string } & Decision;
  return decided.type === "chorus" ? decide(own, decided) : own;
}

function decide(own: Chorus, decided: Decision): Chorus {
  switch (decided.decision) {
    case "turn_begun": {
      const at = roundOf(decided.turn);
      const phase = phaseOf(decided.turn);
      return change(own, at, (round) => ({ phase, taking: { ...round.taking, [phase]: decided.slots } }));
    }
    case "turn_ended":
      return change(own, roundOf(decided.turn), (round) => ({ done: [...round.done, phaseOf(decided.turn)] }));
    case "slot_failed":
      return put(own, decided.turn, decided.slot, { failed: decided.message });
    case "routed": {
      const { target, forwarded, dropped } = decided;
      return change(own, own.rounds.length - 1, (round) => ({ routes: { ...round.routes, [target]: { forwarded, dropped } } }));
    }
    default:
      return own;
  }
}

function put(own: Chorus, turn: number, slot: number, place: Place): Chorus {
  const key = `${slot}/${phaseOf(turn)}`;
  return change(own, roundOf(turn), (round) => ({ places: { ...round.places, [key]: place } }));
}

function change(own: Chorus, at: number, to: Partial<Round> | ((round: Round) => Partial<Round>)): Chorus {
  const edit = (round: Round) => ({ ...round, ...(typeof to === "function" ? to(round) : to) });
  return { ...own, rounds: own.rounds.map((round, index) => (index === at ? edit(round) : round)) };
}

export function phaseOf(turn: number): Phase {
  return (((turn - 1) % 3) + 1) as Phase;
}

/** The message that a turn belongs to, counted from 0. */
export function roundOf(turn: number): number {
  return Math.floor((turn - 1) / 3);
}

export function numberOf(agent: string): number {
  return Number(agent.replace(/^slot-/, ""));
}

export function placeOf(round: Round, slot: number, phase: Phase): Place | undefined {
  return round.places[`${slot}/${phase}`];
}

/** What a slot said in a turn. */
export function lineOf(story: Story, round: Round, slot: number, phase: Phase): Line | undefined {
  const id = placeOf(round, slot, phase)?.line;
  return id === undefined ? undefined : story.lines[id - 1];
}

/** What a slot is being asked in a turn of this message. */
export function askOf(story: Story, at: number, slot: Slot, phase: Phase): OpenAsk | undefined {
  return story.open.find(({ ask }) => ask.agent === slot.agent && ask.turn === at * 3 + phase);
}

export interface Comment {
  from: number;
  to: number;
  /** It was kept, but not passed on: the slot had enough of them. */
  isDropped: boolean;
}

/** Who commented on whom, in the order of the slots. */
export function commentsOf(own: Chorus, round: Round): Comment[] {
  return own.slots.flatMap(({ number: from }) => {
    const to = placeOf(round, from, 2)?.to;
    return to === undefined ? [] : [{ from, to, isDropped: round.routes[to]?.dropped.includes(from) ?? false }];
  });
}

/** The lines of a turn that can be heard, in the order of the slots. */
export function spokenIn(story: Story, own: Chorus, round: Round, phase: Phase): Line[] {
  return own.slots.flatMap(({ number }) => lineOf(story, round, number, phase) ?? []);
}
