// How a score is played: which phase, in which round of its repeats, what every seat came to in it. It is what the
// journal of a score tells beyond its lines.
import type { Entry, Score, ScoreRole, ScoreSetup, ScoreTurn } from "../../api/types";
import type { OpenAsk, Story } from "../../journal/story";
import { placed, rolesOf, type Values } from "./score";

/** What a seat came to in a phase. */
export interface Taken {
  seat: string;
  seq: number;
  /** The line that was heard of it, by its place; none where nobody hears of it. */
  line?: number;
  /** The reply, where it has a form. */
  reply?: Record<string, unknown>;
  /** Why it is left out of the phase. */
  failure?: string;
}

/** A phase that was begun. */
export interface Played {
  /** Counted from 1. */
  number: number;
  phase: string;
  /** How often the repeats around it have gone round, the outermost first. */
  rounds: number[];
  /** Those who speak; those who can be chosen, where one is. */
  seats: string[];
  /** Who chooses. */
  by?: string;
  /** Who was chosen, and why that was drawn. */
  pick?: { seat: string; problem?: string };
  /** Whether one speaks after the other. */
  isInTurn: boolean;
  taken: Taken[];
  /** Why a seat was asked once more. */
  again: Record<string, string>;
  /** What somebody outside told a seat, or all. */
  notes: { seq: number; to?: string; text: string }[];
}

export interface Playing {
  played: Played[];
  /** The person who is waited for. */
  awaited?: string;
  /** Whether too few are left; whoever failed is asked again when it goes on. */
  isShort: boolean;
  /** What came out, by name. */
  results?: Record<string, unknown>;
}

export function settingsOf(story: Story): ScoreSetup {
  return story.setup.format as ScoreSetup;
}

export function playingOf(story: Story): Playing {
  return story.own as Playing;
}

export function scoreOf(story: Story): Score {
  return settingsOf(story).score;
}

export function valuesOf(story: Story): Values {
  return (settingsOf(story).values ?? {}) as Values;
}

/** A phase that was begun, as the score has it. */
export function turnOf(story: Story, { phase }: Played): ScoreTurn | undefined {
  return placed(scoreOf(story).phases).find(({ turn }) => turn.name === phase)?.turn;
}

export function roleOf({ score, seats }: ScoreSetup, seat: string): ScoreRole | undefined {
  const role = seats.find(({ name }) => name === seat)?.role;
  return score.roles.find(({ name }) => name === role);
}

/** Those who speak in a phase, as far as it is known. */
export function speakersOf({ by, pick, seats }: Played): string[] {
  return by === undefined ? seats : pick ? [pick.seat] : [];
}

/** The ask that a seat has been sent in a phase and has not answered. */
export function openIn(story: Story, { number }: Played, seat: string): OpenAsk | undefined {
  return story.open.find(({ ask }) => ask.turn === number && ask.agent === seat);
}

export function begin(story: Story): Playing {
  const settings = settingsOf(story);
  const played = firstOf(settings, 0);
  const [next] = played ? speakersOf(played) : [];
  const awaited = next !== undefined && roleOf(settings, next)?.isPerson ? next : undefined;
  return { played: played ? [played] : [], isShort: false, ...(awaited === undefined ? {} : { awaited }) };
}

/**
 * The first phase begins with the session and is not recorded. Whether a condition holds in it the page does not work
 * out: those for whom it does are known when they are asked.
 */
function firstOf(settings: ScoreSetup, from: number): Played | undefined {
  const first = placed(settings.score.phases)[from];
  if (!first) return undefined;
  const { turn, around } = first;
  const of = (role: string) => settings.seats.filter((seat) => seat.role === role).map(({ name }) => name);
  const fixed = turn.who.flatMap((who) => ("role" in who && who.role.if !== undefined ? [] : rolesOf(who).flatMap(of)));
  const seats = [...new Set(fixed)];
  const picked = turn.who.find((who) => "pick" in who);
  const by = picked && "pick" in picked && seats.length > 1 ? of(picked.pick.by)[0] : undefined;
  return opened(settings, { number: 1, phase: turn.name, rounds: around.map(() => 1), seats, by });
}

function opened(settings: ScoreSetup, phase: Pick<Played, "number" | "phase" | "rounds" | "seats" | "by">): Played {
  const { by, ...begun } = phase;
  const turn = placed(settings.score.phases).find(({ turn }) => turn.name === phase.phase)?.turn;
  const isInTurn = (turn?.oneByOne ?? false) || phase.seats.some((seat) => roleOf(settings, seat)?.isPerson);
  return { ...begun, ...(by === undefined ? {} : { by }), isInTurn, taken: [], again: {}, notes: [] };
}

/** What is known of the first phase once somebody has a turn in it: that they are of it, and so which phase it is. */
function seated(settings: ScoreSetup, playing: Playing, seat: string): Playing {
  const [first] = playing.played;
  if (!first || playing.played.length > 1 || first.by === seat || first.seats.includes(seat)) return playing;
  const role = roleOf(settings, seat)?.name ?? "";
  const all = placed(settings.score.phases);
  const from = all.findIndex(({ turn }) => turn.name === first.phase);
  const at = all.findIndex(({ turn }, at) => at >= from && turn.who.some((who) => rolesOf(who).includes(role)));
  const phase = at === from ? first : firstOf(settings, at);
  if (!phase) return playing;
  const names = settings.seats.map(({ name }) => name);
  const seats = names.filter((name) => name === seat || phase.seats.includes(name));
  return { ...playing, played: [opened(settings, { ...phase, seats })] };
}

/** The same with the phase that is played otherwise. */
function changed(playing: Playing, change: (now: Played) => Partial<Played>): Playing {
  const now = playing.played.at(-1);
  return now ? { ...playing, played: [...playing.played.slice(0, -1), { ...now, ...change(now) }] } : playing;
}

export function apply(story: Story, playing: Playing, entry: Entry): Playing {
  const settings = settingsOf(story);
  if (entry.type === "asked") return entry.ask.turn === 1 ? seated(settings, playing, entry.ask.agent) : playing;
  if (entry.type === "resumed" || entry.type === "forked") {
    if (!playing.isShort) return playing;
    const isOthers = ({ failure }: Taken) => failure === undefined;
    return { ...changed(playing, ({ taken }) => ({ taken: taken.filter(isOthers) })), isShort: false };
  }
  if (entry.type !== "score") return playing;
  switch (entry.decision) {
    case "phase_begun": {
      const { turn, phase, rounds, seats, by } = entry;
      const next = opened(settings, { number: turn, phase, rounds: rounds ?? [], seats, by });
      return { ...playing, played: [...playing.played, next] };
    }
    case "picked": {
      const { seat, problem } = entry;
      return changed(playing, () => ({ pick: { seat, ...(problem === undefined ? {} : { problem }) } }));
    }
    case "reasked":
      return changed(playing, ({ again }) => ({ again: { ...again, [entry.ask.agent]: entry.problem } }));
    case "played": {
      const { seq, seat, reply, silent } = entry;
      const isForm = typeof reply === "object" && reply !== null;
      const heard = { ...(silent ? {} : { line: story.lines.length }), ...(isForm ? { reply: reply as Taken["reply"] } : {}) };
      return changed(seated(settings, playing, seat), ({ taken }) => ({ taken: [...taken, { seq, seat, ...heard }] }));
    }
    case "seat_failed": {
      const { seq, seat, message } = entry;
      return changed(seated(settings, playing, seat), ({ taken }) => ({ taken: [...taken, { seq, seat, failure: message }] }));
    }
    case "too_few":
      return { ...playing, isShort: true };
    case "noted": {
      const { seq, to, text } = entry;
      return changed(playing, ({ notes }) => ({ notes: [...notes, { seq, text, ...(to === undefined ? {} : { to }) }] }));
    }
    case "awaited": {
      const { awaited: _, ...rest } = playing;
      return entry.who === undefined ? rest : { ...rest, awaited: entry.who };
    }
    case "concluded":
      return { ...playing, results: entry.results };
    case "broken":
      return playing;
  }
}

const places = new WeakMap<Playing, Map<number, { played: Played; taken: Taken }>>();

/** Where in the score a line was said. */
export function placeOf(story: Story, line: number): { played: Played; taken: Taken } | undefined {
  const playing = playingOf(story);
  let known = places.get(playing);
  if (!known) {
    known = new Map();
    for (const played of playing.played) {
      for (const taken of played.taken) if (taken.line !== undefined) known.set(taken.line, { played, taken });
    }
    places.set(playing, known);
  }
  return known.get(line);
}
