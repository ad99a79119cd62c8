// In a blind phase everybody else has a letter, drawn for each seat. The draw follows from the session's seed, so that
// the page can say who was who; it mirrors the core's own (`Labels` and `Chance`), and a test compares the two.
import type { Story } from "../../journal/story";
import { type Played, playingOf, settingsOf, turnOf } from "./fold";

const MASK = (1n << 64n) - 1n;
/** What the draw is for; part of its place. */
const SHUFFLE = 1;

/** Draws for one place of a session: SplitMix64. */
class Chance {
  #state: bigint;

  constructor(seed: number, place: number[]) {
    this.#state = BigInt(seed);
    for (const number of place) this.#state = this.#draw() ^ BigInt(number);
  }

  #draw(): bigint {
    this.#state = (this.#state + 0x9e3779b97f4a7c15n) & MASK;
    let mixed = this.#state;
    mixed = ((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return mixed ^ (mixed >> 31n);
  }

  shuffle<T>(items: T[]): void {
    for (let last = items.length - 1; last > 0; last--) {
      const other = Number(this.#draw() % BigInt(last + 1));
      [items[last], items[other]] = [items[other]!, items[last]!];
    }
  }
}

/** Somebody who is read without a name. */
export interface Lettered {
  letter: string;
  name: string;
}

/** Under which letters this seat reads the others in a blind phase. Only those whose words it reads are told. */
export function letters(story: Story, played: Played, seat: string): Lettered[] {
  const turn = turnOf(story, played);
  if (!turn?.blind) return [];
  const names = settingsOf(story).seats.map(({ name }) => name);
  const me = names.indexOf(seat);
  if (me < 0) return [];
  const others = names.filter((name) => name !== seat);
  new Chance(story.setup.seed, [SHUFFLE, played.number, me + 1]).shuffle(others);
  const seen = seenBy(story, played, seat);
  const free = lettersBeside(names);
  // Those who are seen have the first letters.
  return others.filter((name) => seen.has(name)).map((name) => ({ name, letter: free.next().value }));
}

/** A to Z, then A1, B1 and so on. A letter that is somebody's name is nobody's letter. */
function* lettersBeside(names: string[]): Generator<string, never> {
  const taken = new Set(names.map((name) => name.toUpperCase()));
  for (let nth = 0; ; nth++) {
    const letter = String.fromCharCode(65 + (nth % 26)) + (nth < 26 ? "" : Math.floor(nth / 26));
    if (!taken.has(letter)) yield letter;
  }
}

/** Those of whom this seat can read something. */
function seenBy(story: Story, played: Played, seat: string): Set<string> {
  const { sees } = turnOf(story, played)!;
  const { played: all } = playingOf(story);
  const before = all.slice(0, played.number - 1);
  // In turn, those before it in the same phase are heard as well.
  const own = played.taken.findIndex((taken) => taken.seat === seat);
  const now = played.isInTurn ? played.taken.slice(0, own < 0 ? undefined : own) : [];
  const speakers = (phases: { taken: Played["taken"] }[]) => phases.flatMap(({ taken }) => taken.filter(({ failure }) => failure === undefined).map(({ seat }) => seat));
  if (sees === "all") return new Set([...speakers(before), ...speakers([{ taken: now }])]);
  return new Set(
    sees.these.flatMap(({ phase }) => {
      const last = before.findLast((other) => other.phase === phase);
      return [...speakers(last ? [last] : []), ...(phase === played.phase ? speakers([{ taken: now }]) : [])];
    }),
  );
}
