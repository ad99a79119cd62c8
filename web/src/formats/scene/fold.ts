// A scene beat by beat, as the core sees it (`PlayedScene`): what was done in each beat, what the moderator made of it,
// how the characters feel and what is between them.
import type { AskId, Entry } from "../../api/types";
import type { Story } from "../../journal/story";
import type { Mood } from "./feel";

export interface Settings {
  title: string;
  prompt: string;
  goal?: string;
  setting?: string;
  initialSpeaker?: string;
  maxBeats: number;
  /** For how many seconds people are waited for. */
  patience?: number;
  events?: "auto" | "off" | { at: { beat: number; text: string }[] };
  names?: Record<string, string>;
}

/** A direction that the transcript does not show; for everybody where it is to nobody. */
export interface Note {
  to?: string;
  text: string;
  kind: string;
}

export interface Judgement {
  progress: number;
  goalReached: boolean;
  naturalEnd: boolean;
  onTrack: boolean;
  characters?: { character: string; arc?: "open" | "moving" | "resolved"; note?: string; drift?: string }[];
  relations?: Shift[];
  event?: string;
  closing?: string;
}

interface Shift {
  between: [string, string];
  change: number;
}

export interface Relation {
  between: [string, string];
  /** From -100, hostile, to 100, close. */
  value: number;
}

/** One beat. They are counted from 0, and shown from 1. */
export interface Beat {
  number: number;
  /** What the characters were told before it. */
  notes: Note[];
  /** The lines of it by their ids, and what happened before it. */
  lines: number[];
  silent: { who: string; nonverbal: string[]; seq: number }[];
  /** Characters whose people have spoken, and those whose people did not while they were waited for. */
  heard: string[];
  passedOver: { who: string; seq: number }[];
  /** Who wanted to speak, while others had the floor. */
  waited: string[];
  /** Whose reply was not in its form, and was understood all the same. */
  salvaged: string[];
  failed: { who: string; why: string }[];
  judgement?: Judgement;
  /** Why there is no judgement, if there is none. */
  unjudged?: string;
  isCircling: boolean;
  moods: Record<string, Mood>;
  relations: Relation[];
  isOver: boolean;
}

export interface Scene {
  beats: Beat[];
  /** The beat that is played. */
  now: number;
  maxBeats: number;
  /** What a person has directed, at its place. */
  directed: { seq: number; note: Note }[];
  goalAchieved: boolean;
  /** What went wrong after the last beat, in words. */
  warnings: string[];
  /** How many lines have their beat. */
  placed: number;
  /** How many lines there were when the scene last came to an end: nobody comes into those any more. */
  settled: number;
  /** How many there were when it was last the turn of a person who plays. */
  seen: number;
  /** Whom alone it waits for, and when it goes on without them; nobody where others are asked as well. */
  waits?: { characters: string[]; until?: number };
}

type Decision =
  | { decision: "stayed_silent"; ask: AskId; nonverbal?: string[] }
  | { decision: "salvaged"; ask: AskId }
  | { decision: "judged"; beat: number; judgement: Judgement }
  | { decision: "unjudged"; beat: number; problem: string; standsIn?: string }
  | { decision: "beat_ended"; beat: number; isCircling?: boolean; moods: Record<string, Mood> }
  | { decision: "beat_begun"; beat: number; notes?: Note[] }
  | { decision: "directed"; note?: Note; event?: string }
  | { decision: "wait_begun"; characters: string[]; seconds?: number }
  | { decision: "passed_over"; ask: AskId }
  | { decision: "waited"; ask: AskId }
  | { decision: "concluded"; goalAchieved: boolean }
  | { decision: "not_remembered"; character: string; problem: string };

export function settingsOf(story: Story): Settings {
  return story.setup.format as unknown as Settings;
}

export function sceneOf(story: Story): Scene {
  return story.own as Scene;
}

function waiting(characters: string[], since: number, seconds?: number): Scene["waits"] {
  return { characters, until: seconds === undefined ? undefined : since + seconds * 1000 };
}

/** The person who plays a character, where no model does. */
export function personOf(story: Story, character: string): string | undefined {
  const model = story.agents.find(({ name }) => name === character)?.model;
  return model?.startsWith("person/") ? model.slice("person/".length) : undefined;
}

/** The characters that people play. */
export function played(story: Story): string[] {
  return story.agents.map(({ name }) => name).filter((name) => personOf(story, name) !== undefined);
}

/** Those who have a place in the beat that is played and of whom nothing has come yet. */
export function pending(story: Story, { now, beats }: Scene = sceneOf(story)): string[] {
  const { initialSpeaker } = settingsOf(story);
  const beat = beats[now];
  if (story.ended || !beat) return [];
  const asked = now === 0 && initialSpeaker !== undefined ? [initialSpeaker] : story.agents.map(({ name }) => name);
  const spoke = story.lines.flatMap(({ ask }) => (ask?.turn === now && ask.purpose === "act" ? [ask.agent] : []));
  const gone = [...beat.silent, ...beat.passedOver].map(({ who }) => who);
  const done = new Set([...spoke, ...gone, ...beat.waited]);
  return asked.filter((name) => !done.has(name));
}

/** Whose turn it is: a person who has spoken has had theirs, before there is a line of it. */
export function due(story: Story, scene: Scene = sceneOf(story)): string[] {
  return pending(story, scene).filter((name) => !scene.beats[scene.now]!.heard.includes(name));
}

/** Of those, the ones whom people play. */
export function awaited(story: Story, scene: Scene = sceneOf(story)): string[] {
  return due(story, scene).filter((name) => personOf(story, name) !== undefined);
}

/** How a character is called in the scene. */
export function calledIn(story: Story, agent: string): string {
  return settingsOf(story).names?.[agent] ?? agent;
}

export function begin(story: Story): Scene {
  const { initialSpeaker, maxBeats } = settingsOf(story);
  const scene: Scene = {
    beats: [],
    now: 0,
    maxBeats: maxBeats ?? 50,
    directed: [],
    goalAchieved: false,
    warnings: [],
    placed: 0,
    settled: 0,
    seen: 0,
  };
  const opening: Note[] =
    initialSpeaker === undefined
      ? []
      : [{ to: initialSpeaker, text: `You are ${calledIn(story, initialSpeaker)}. Begin the scene.`, kind: "opening" }];
  const begun = place(story, change(scene, 0, () => ({ notes: opening })), 0);
  const isPerson = initialSpeaker !== undefined && personOf(story, initialSpeaker) !== undefined;
  return isPerson ? { ...begun, waits: waiting([initialSpeaker], story.startedAt, settingsOf(story).patience) } : begun;
}

export function apply(story: Story, before: Scene, entry: Entry): Scene {
  const scene = fold(story, before, entry);
  return awaited(story, scene).length > 0 ? { ...scene, seen: story.lines.length } : scene;
}

function fold(story: Story, scene: Scene, entry: Entry): Scene {
  switch (entry.type) {
    case "asked":
      // One that goes on after its last beat begins the next without saying so.
      return entry.ask.purpose === "act" && entry.ask.turn > scene.now ? play(scene, entry.ask.turn) : scene;
    case "ask_failed": {
      // A memory is put down after the last beat: it is missed by nobody in it.
      if (entry.ask.purpose !== "act") return scene;
      const failed = { who: entry.ask.agent, why: entry.failure.message };
      return change(scene, entry.ask.turn, (beat) => ({ failed: [...beat.failed, failed] }));
    }
    case "line_spoken":
      return place(story, scene, entry.kind === "event" || !entry.ask ? next(scene) : entry.ask.turn);
    case "resumed":
    case "forked":
      return { ...scene, maxBeats: entry.change?.maxRounds ?? scene.maxBeats };
    case "scene":
      return decide(story, scene, entry as unknown as Decision, entry);
    case "human_spoke": {
      const { ask } = entry;
      if (!ask) return scene;
      return { ...change(scene, ask.turn, (beat) => ({ heard: [...beat.heard, ask.agent] })), waits: undefined };
    }
    case "ended":
      return { ...scene, settled: story.lines.length };
    default:
      return scene;
  }
}

function decide(story: Story, scene: Scene, decision: Decision, { seq, at }: Entry): Scene {
  switch (decision.decision) {
    case "stayed_silent": {
      const silence = { who: decision.ask.agent, nonverbal: decision.nonverbal ?? [], seq };
      return change(scene, decision.ask.turn, (beat) => ({ silent: [...beat.silent, silence] }));
    }
    case "salvaged":
      return change(scene, decision.ask.turn, (beat) => ({ salvaged: [...beat.salvaged, decision.ask.agent] }));
    case "judged":
      return change(scene, decision.beat, (beat) => ({
        judgement: decision.judgement,
        relations: (decision.judgement.relations ?? []).reduce(shifted, beat.relations),
      }));
    case "unjudged": {
      const then = decision.standsIn === undefined ? "" : `; ${decision.standsIn} takes over`;
      return change(scene, decision.beat, () => ({ unjudged: `${decision.problem}${then}` }));
    }
    case "beat_ended":
      return change(scene, decision.beat, () => ({
        moods: decision.moods,
        isCircling: decision.isCircling ?? false,
        isOver: true,
      }));
    case "beat_begun":
      return change(play(scene, decision.beat), decision.beat, (beat) => ({ notes: [...beat.notes, ...(decision.notes ?? [])] }));
    case "directed": {
      const { note } = decision;
      if (!note) return scene;
      const told = change(scene, next(scene), (beat) => ({ notes: [...beat.notes, note] }));
      return { ...told, directed: [...told.directed, { seq, note }] };
    }
    case "wait_begun": {
      const { characters, seconds } = decision;
      return { ...scene, waits: characters.length > 0 ? waiting(characters, at, seconds) : undefined };
    }
    case "passed_over": {
      const late = { who: decision.ask.agent, seq };
      const passed = change(scene, decision.ask.turn, (beat) => ({ passedOver: [...beat.passedOver, late] }));
      return { ...passed, waits: undefined };
    }
    case "waited":
      return change(scene, decision.ask.turn, (beat) => ({ waited: [...beat.waited, decision.ask.agent] }));
    case "concluded":
      return { ...scene, goalAchieved: decision.goalAchieved, settled: story.lines.length };
    case "not_remembered": {
      const warning = `${calledIn(story, decision.character)} remembers nothing of it: ${decision.problem}`;
      return { ...scene, warnings: [...scene.warnings, warning] };
    }
    default:
      return scene;
  }
}

/** The beat after the last one that is over. */
function next(scene: Scene): number {
  return (scene.beats.findLast((beat) => beat.isOver)?.number ?? -1) + 1;
}

/** The last beat that is over. */
export function lastOver(scene: Scene): Beat | undefined {
  return scene.beats.findLast((beat) => beat.isOver);
}

export function totalBeats(scene: Scene): number {
  return scene.beats.filter((beat) => beat.isOver).length;
}

/** How far the scene has come, in percent; nothing before the first judgement. */
export function progressOf(scene: Scene): number | undefined {
  return scene.beats.findLast((beat) => beat.judgement)?.judgement?.progress;
}

function play(scene: Scene, number: number): Scene {
  return { ...change(scene, number, () => ({})), now: number };
}

function change(scene: Scene, number: number, to: (beat: Beat) => Partial<Beat>): Scene {
  const beats = scene.beats.slice();
  while (beats.length <= number) beats.push(after(beats.at(-1), beats.length));
  beats[number] = { ...beats[number]!, ...to(beats[number]!) };
  return { ...scene, beats };
}

function after(last: Beat | undefined, number: number): Beat {
  return {
    number,
    notes: [],
    lines: [],
    silent: [],
    heard: [],
    passedOver: [],
    waited: [],
    salvaged: [],
    failed: [],
    isCircling: false,
    moods: last?.moods ?? {},
    relations: last?.relations ?? [],
    isOver: false,
  };
}

/** Lines that are in no beat yet belong to this one. */
function place(story: Story, scene: Scene, number: number): Scene {
  const fresh = story.lines.slice(scene.placed).map((line) => line.id);
  if (fresh.length === 0) return scene;
  const placed = change(scene, number, (beat) => ({ lines: [...beat.lines, ...fresh] }));
  return { ...placed, placed: story.lines.length };
}

function shifted(relations: Relation[], { between, change }: Shift): Relation[] {
  const clamp = (value: number) => Math.max(-100, Math.min(100, value));
  const isOf = (relation: Relation) => relation.between[0] === between[0] && relation.between[1] === between[1];
  return relations.some(isOf)
    ? relations.map((one) => (isOf(one) ? { ...one, value: clamp(one.value + change) } : one))
    : [...relations, { between, value: clamp(change) }];
}
