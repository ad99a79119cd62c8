// Plays a session from a moment on: each line for as long as its clip lasts, or as long as it takes to read.
import { heard } from "../journal/heard";
import type { Line } from "../journal/story";
import { player } from "../ui/player.svelte";
import type { Moment } from "./moment.svelte";

export const SPEEDS = [1, 2, 4];
const TICK = 100;

/** How long a line lasts, in milliseconds: reading time is bounded, so that nothing long stands still. */
export function lasts(line: Line): number {
  if (line.sound.is === "made") return line.sound.clip.durationMs;
  return Math.min(Math.max(600 + 45 * heard(line).length, 1_200), 12_000);
}

export class Play {
  isPlaying = $state(false);
  speed = $state(1);
  /** How much of the current line has gone by, in milliseconds. */
  elapsed = $state(0);
  readonly #moment: Moment;
  #cancel: (() => void) | undefined;

  constructor(moment: Moment) {
    this.#moment = moment;
  }

  /** When each line begins, and last when all is over. */
  starts = $derived.by(() => {
    let sum = 0;
    const starts = this.#moment.lines.map((line) => (sum += lasts(line)) - lasts(line));
    return [...starts, sum];
  });
  now = $derived.by(() => (this.starts[Math.max(this.#moment.index, 0)] ?? 0) + this.elapsed);
  total = $derived(this.starts.at(-1) ?? 0);

  toggle(): void {
    if (this.isPlaying) return this.pause();
    // From the end it begins anew.
    if (this.#moment.isAtEnd && !this.#moment.follows) this.#moment.toLine(0);
    this.isPlaying = true;
    void this.#run();
  }

  pause(): void {
    this.isPlaying = false;
    this.#leave();
  }

  /** Somebody went elsewhere: it goes on from there. */
  moved(): void {
    this.#leave();
    if (this.isPlaying) void this.#run();
  }

  faster(): void {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length]!;
    player.hurry(this.speed);
  }

  #leave(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.elapsed = 0;
  }

  async #run(): Promise<void> {
    let isOurs = true;
    this.#cancel = () => {
      isOurs = false;
      if (player.current === this.#key()) player.stop();
    };
    while (isOurs) {
      const line = this.#moment.line;
      this.elapsed = 0;
      if (line) await this.#hear(line, () => isOurs);
      if (!isOurs) return;
      // Somebody wants to hear something else.
      if (player.isPlaying || this.#moment.isAtEnd) return this.pause();
      this.#moment.step(1);
    }
  }

  async #hear(line: Line, goesOn: () => boolean): Promise<void> {
    if (line.sound.is === "made") {
      const watch = setInterval(() => {
        if (goesOn()) this.elapsed = player.heard * lasts(line);
      }, TICK);
      await player.play([{ key: this.#key(line), clip: line.sound.clip }], this.speed);
      clearInterval(watch);
      if (player.problem === undefined) return;
    }
    // A clip that cannot be played is read.
    while (goesOn() && this.elapsed < lasts(line)) {
      await new Promise((resolve) => setTimeout(resolve, TICK));
      if (goesOn()) this.elapsed += TICK * this.speed;
    }
  }

  #key(line = this.#moment.line): string {
    return `${this.#moment.whole?.id}/${line?.seq}`;
  }
}
