// What a journal tells, up to any of its events: the page's one fold. A live view shows the story so far, a replay
// the story up to a moment. It mirrors the server's own (`Stage` in the core): a test compares the two.
import type { Agent, AskId, Change, Clip, Entry, Price, Setup, Usage } from "../api/types";
import { formatNamed } from "../formats";
import { PICO } from "../words";

/** Who speaks: an agent, a person, or the conversation itself. */
export interface Speaker {
  name: string;
  is: "agent" | "person" | "router" | "moderator";
}

export type Sound =
  | { is: "none" }
  | { is: "wanted" }
  | { is: "made"; clip: Clip }
  | { is: "failed"; error: string };

/** What was said, with its speaker. */
export interface Line {
  /** Its place among the lines, counted from 1. */
  id: number;
  seq: number;
  at: number;
  speaker: Speaker;
  kind: string;
  text: string;
  to?: string;
  ask?: AskId;
  voice?: string;
  tone?: string;
  nonverbal: string[];
  interruptsAfter?: string;
  /** The words after which somebody else came in, and who. */
  cut?: { after: string; by: string; seq: number };
  sound: Sound;
}

/** A model that is being asked. */
export interface OpenAsk {
  key: string;
  ask: AskId;
  seq: number;
  since: number;
}

export interface Failure {
  seq: number;
  ask: AskId;
  message: string;
}

export interface Account {
  calls: number;
  tokens: number;
  cached: number;
  /** In picodollars; `null` when a price is not known. */
  cost: number | null;
}

export interface Story {
  id: string;
  setup: Setup;
  format: string;
  title: string;
  agents: Agent[];
  crew: Agent[];
  people: string[];
  startedAt: number;
  lastAt: number;
  head: number;
  speaks: boolean;
  lines: Line[];
  open: OpenAsk[];
  failures: Failure[];
  accounts: Map<string, Account>;
  total: Account;
  ended?: { reason: string; notice?: string; seq: number };
  forkedFrom?: { id: string; seq: number };
  /** What the session's format makes of it: its own folder knows. */
  own: unknown;
}

/** An ask by its place, so that text that arrives and the record that ends it find each other. */
export function askKey(ask: AskId): string {
  return `${ask.purpose}/${ask.turn}/${ask.agent}/${ask.attempt ?? 1}`;
}

const NOTHING: Account = { calls: 0, tokens: 0, cached: 0, cost: 0 };

/** The story that these events tell, going on from an earlier one, which stays as it is. */
export function tell(entries: Iterable<Entry>, before?: Story): Story | undefined {
  let story = before && { ...before, lines: before.lines.slice() };
  for (const entry of entries) {
    if (!story) {
      if (entry.type !== "started") return undefined;
      story = begin(entry.setup, entry);
    } else if (entry.seq > story.head) {
      apply(story, entry);
    }
  }
  return story;
}

function begin(setup: Setup, entry: Entry): Story {
  const format = formatNamed(setup.format.name);
  const story: Story = {
    id: setup.id,
    setup,
    format: setup.format.name,
    title: "",
    agents: setup.cast.agents,
    crew: setup.cast.crew ?? [],
    people: setup.cast.people,
    startedAt: entry.at,
    lastAt: entry.at,
    head: entry.seq,
    speaks: setup.speech ?? false,
    lines: [],
    open: [],
    failures: [],
    accounts: new Map(),
    total: { ...NOTHING },
    own: undefined,
  };
  story.title = format?.titleOf(story) ?? "";
  story.own = format?.begin(story, entry);
  return story;
}

/** The first person of the cast says this with the event that starts the session. */
export function openWith(story: Story, entry: Entry, text: string): void {
  const person = story.people[0];
  if (person !== undefined) say(story, entry, { speaker: { name: person, is: "person" }, kind: "user", text });
}

type Words = Pick<Line, "speaker" | "kind" | "text"> & Partial<Line>;

/** Adds a line at the place of the event that says it. */
export function say(story: Story, entry: { seq: number; at: number }, words: Words): void {
  const isSpoken = story.speaks && SPOKEN.has(words.kind);
  story.lines.push({
    nonverbal: [],
    ...words,
    id: story.lines.length + 1,
    seq: entry.seq,
    at: entry.at,
    sound: isSpoken ? { is: "wanted" } : { is: "none" },
  });
}

/** The kinds of lines that become clips. */
const SPOKEN = new Set(["message", "response", "comment", "reply", "speak", "interrupt"]);

function apply(story: Story, entry: Entry): void {
  story.head = entry.seq;
  story.lastAt = entry.at;
  switch (entry.type) {
    case "forked":
      // What was spent before the fork was spent by the other session.
      story.accounts = new Map();
      story.total = { ...NOTHING };
      story.startedAt = entry.at;
      story.forkedFrom = { id: entry.from, seq: entry.fromSeq };
      goOn(story, entry.change);
      break;
    case "resumed":
      entry.lost?.forEach((lost) => charge(story, lost.ask, lost.usage));
      goOn(story, entry.change);
      break;
    case "asked":
      close(story, entry.ask);
      story.open = [...story.open, { key: askKey(entry.ask), ask: entry.ask, seq: entry.seq, since: entry.at }];
      break;
    case "answered":
      close(story, entry.ask);
      // No model was asked for words that a person put into somebody's mouth.
      if (!entry.isEdited) charge(story, entry.ask, entry.usage);
      break;
    case "ask_cut":
      giveUp(story, entry.ask, entry.usage);
      break;
    case "ask_failed":
      giveUp(story, entry.ask, entry.usage);
      story.failures = [...story.failures, { seq: entry.seq, ask: entry.ask, message: entry.failure.message }];
      break;
    case "line_spoken":
      say(story, entry, {
        speaker: speakerOf(entry.speaker),
        kind: entry.kind,
        text: entry.text,
        to: entry.to,
        ask: entry.ask,
        voice: entry.voice,
        tone: entry.delivery?.tone,
        nonverbal: entry.delivery?.nonverbal ?? [],
        interruptsAfter: entry.delivery?.interruptsAfter,
      });
      break;
    case "line_cut":
      change(story, entry.line, { cut: { after: entry.after, by: entry.by, seq: entry.seq } });
      break;
    case "clip_made": {
      change(story, entry.line, { sound: { is: "made", clip: entry.clip } });
      const line = story.lines[entry.line - 1];
      if (entry.clip.billed && line) {
        const { usd } = entry.clip.billed;
        add(story, line.speaker.name, { ...NOTHING, cost: usd == null ? null : Math.round(usd * PICO) });
      }
      break;
    }
    case "clip_failed":
      change(story, entry.line, { sound: { is: "failed", error: entry.error } });
      break;
    case "narrated":
      // The narrator is nobody of the cast, and what is read is no line; what it costs is theirs.
      if (entry.clip.billed) {
        const { usd } = entry.clip.billed;
        add(story, "narrator", { ...NOTHING, cost: usd == null ? null : Math.round(usd * PICO) });
      }
      break;
    case "human_spoke":
      story.ended = undefined;
      // What somebody who plays a part comes to is told after this.
      if (!entry.ask) say(story, entry, { speaker: { name: entry.who, is: "person" }, kind: "user", text: entry.text });
      break;
    case "ended":
      story.ended = { reason: entry.reason, notice: entry.notice, seq: entry.seq };
      story.open = [];
      if (entry.notice !== undefined) {
        say(story, entry, { speaker: { name: "router", is: "router" }, kind: "router", text: entry.notice });
      }
      break;
  }
  const format = formatNamed(story.format);
  if (format) story.own = format.apply(story, story.own, entry);
}

function speakerOf(speaker: unknown): Speaker {
  if (speaker === "router" || speaker === "moderator") return { name: speaker, is: speaker };
  const named = speaker as { agent?: string; person?: string };
  return named.agent !== undefined
    ? { name: named.agent, is: "agent" }
    : { name: named.person ?? "", is: "person" };
}

function goOn(story: Story, { recast, personas, speech }: Change): void {
  story.ended = undefined;
  story.open = [];
  if (speech !== undefined && speech !== null) story.speaks = speech;
  const changed = (one: Agent): Agent => {
    const other = recast?.findLast(({ agent }) => agent === one.name);
    const persona = personas?.[one.name] ?? one.persona;
    return other ? { ...one, persona, model: other.model, price: other.price } : { ...one, persona };
  };
  story.agents = story.agents.map(changed);
  story.crew = story.crew.map(changed);
}

function close(story: Story, ask: AskId): void {
  const key = askKey(ask);
  story.open = story.open.filter((open) => open.key !== key);
}

/** What came to nothing is charged where something was sent. */
function giveUp(story: Story, ask: AskId, usage: Usage): void {
  close(story, ask);
  if (usage.input + usage.output > 0) charge(story, ask, usage);
}

function change(story: Story, id: number, to: Partial<Line>): void {
  const line = story.lines[id - 1];
  if (line) story.lines[id - 1] = { ...line, ...to };
}

function charge(story: Story, ask: AskId, usage: Usage): void {
  const agent = [...story.agents, ...story.crew].find((agent) => agent.name === ask.agent);
  const cost = agent?.price ? costOf(agent.price, usage) : null;
  add(story, ask.agent, { calls: 1, tokens: usage.input + usage.output, cached: usage.cached ?? 0, cost });
}

function costOf(price: Price, usage: Usage): number {
  const cached = usage.cached ?? 0;
  const written = usage.cacheWritten ?? 0;
  const perToken = (perMillion: number) => Math.round(perMillion * 1e6);
  return (
    Math.max(usage.input - cached - written, 0) * perToken(price.input) +
    cached * perToken(price.cached ?? price.input) +
    written * perToken(price.cache_write ?? price.input) +
    usage.output * perToken(price.output)
  );
}

function add(story: Story, agent: string, more: Account): void {
  const sum = (one: Account): Account => ({
    calls: one.calls + more.calls,
    tokens: one.tokens + more.tokens,
    cached: one.cached + more.cached,
    cost: one.cost === null || more.cost === null ? null : one.cost + more.cost,
  });
  story.accounts = new Map(story.accounts).set(agent, sum(story.accounts.get(agent) ?? NOTHING));
  story.total = sum(story.total);
}

/** How somebody is called: a scene has names of its own, a chorus numbers. */
export function nameOf(story: Story, speaker: Speaker | string): string {
  const one = typeof speaker === "string" ? { name: speaker, is: "agent" as const } : speaker;
  if (one.is === "person" && (one.name === "you" || one.name === "user")) return "You";
  return formatNamed(story.format)?.nameOf?.(story, one.name) ?? one.name;
}

/** The hue of a speaker, 1 to 6 by the place in the cast; 0 for people and for the conversation itself. */
export function hueOf(story: Story, speaker: Speaker | string): number {
  const name = typeof speaker === "string" ? speaker : speaker.name;
  if (typeof speaker !== "string" && speaker.is !== "agent") return 0;
  const at = story.agents.findIndex((agent) => agent.name === name);
  return at < 0 ? 0 : hueAt(at, story.agents.length);
}

/** The hue of the agent at this place of a cast, from 0. */
export function hueAt(place: number, among: number): number {
  return HUES[among <= 2 ? 1 : 0]![place % 6]!;
}

/** Two who talk with each other get hues far apart. */
const HUES = [
  [1, 2, 3, 4, 5, 6],
  [2, 5, 3, 4, 1, 6],
];
