// The moment of a replay: which event of the journal is the last that has happened, and what the story is then.
import type { Entry } from "../api/types";
import { formatNamed } from "../formats";
import type { Feed } from "../journal/feed.svelte";
import { beginning, heard } from "../journal/heard";
import { type Line, type Story, tell } from "../journal/story";

/** An event's place, the end of a session that goes on, or nothing: then it begins with the first line. */
export type Wanted = number | "end" | undefined;

export class Moment {
  #wanted = $state<Wanted>();
  readonly #feed: Feed;
  readonly #teller: Teller;

  constructor(feed: Feed, wanted: Wanted) {
    this.#feed = feed;
    this.#teller = new Teller(feed.entries);
    this.#wanted = wanted;
  }

  /** The whole story so far, beyond the moment. */
  whole = $derived.by(() => this.#feed.story);
  lines = $derived<Line[]>(this.whole?.lines ?? []);
  /** Where each line stops: what it cut is cut in the same moment. */
  stops = $derived(this.lines.map((line) => stopOf(this.#feed.entries, line.seq)));
  at = $derived.by(() => {
    const head = this.whole?.head ?? 1;
    if (this.#wanted === "end") return head;
    return Math.min(Math.max(this.#wanted ?? this.stops[0] ?? 1, 1), head);
  });
  /** The place of the line that is being said, counted from 0; -1 before the first. */
  index = $derived(lastUpTo(this.lines, this.at));
  line = $derived(this.lines[this.index]);
  /** The lines of a session that goes on which can still be cut off. */
  open = $derived.by(() => (this.whole && formatNamed(this.whole.format)?.beingSaid?.(this.whole)) ?? NONE);
  /** What is heard of the line that is being said. */
  words = $derived.by(() => {
    const { line, at, open } = this;
    if (!line) return "";
    return isBeingSaid(line, at, open) ? beginning(line.text) : heard(line);
  });
  /** The story at the moment. */
  story = $derived.by((): Story | undefined => this.whole && this.#teller.upTo(this.at));
  isAtEnd = $derived(this.index === this.lines.length - 1);

  get wanted(): Wanted {
    return this.#wanted;
  }
  /** Whether it goes along with a session that goes on. */
  get follows(): boolean {
    return this.#wanted === "end" && this.whole?.ended === undefined;
  }

  goTo(wanted: Wanted): void {
    this.#wanted = wanted;
  }

  /** To a line by its place; the last is the end, with all that came after it. */
  toLine(index: number): void {
    if (index >= this.lines.length - 1) this.toEnd();
    else this.#wanted = this.stops[Math.max(index, 0)];
  }

  toEnd(): void {
    this.#wanted = this.whole?.ended ? this.whole.head : "end";
  }

  /** To the line after this one or before it. Lines of one event are one step. */
  step(by: 1 | -1): void {
    const seq = this.line?.seq ?? 0;
    const next =
      by > 0
        ? this.lines.findIndex((line) => line.seq > seq)
        : lastUpTo(this.lines, seq - 1);
    if (by > 0 && next < 0) this.toEnd();
    else this.toLine(next);
  }
}

const NONE: ReadonlySet<number> = new Set();

/** Whether only the beginning of a line is heard at a moment: it will be cut off later, or can still be. */
export function isBeingSaid({ id, seq, cut }: Line, at: number, open: ReadonlySet<number>): boolean {
  return open.has(id) || (cut !== undefined && seq <= at && at < cut.seq);
}

function stopOf(entries: Entry[], seq: number): number {
  let stop = seq;
  while (entries[stop]?.type === "line_cut") stop++;
  return stop;
}

/** The last line that was said up to an event. */
export function lastUpTo(lines: { seq: number }[], at: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle]!.seq <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** So many events apart, the story is remembered: going back does not begin at the beginning. */
const STRIDE = 250;

/** Tells the story up to one moment after the other, each from what it remembers. */
class Teller {
  readonly #known: Story[] = [];

  constructor(readonly entries: Entry[]) {}

  upTo(at: number): Story | undefined {
    const wanted = Math.floor(at / STRIDE);
    while (this.#known.length < wanted) {
      const from = this.#known.length * STRIDE;
      const next = tell(this.entries.slice(from, from + STRIDE), this.#known.at(-1));
      if (!next) return undefined;
      this.#known.push(next);
    }
    const before = this.#known[wanted - 1];
    return tell(this.entries.slice(wanted * STRIDE, at), before) ?? before;
  }
}
