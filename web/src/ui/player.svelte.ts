// The page's one voice: clips are heard one after the other, and never two at once.
import type { Clip } from "../api/types";

export interface Playable {
  /** What is played, to be shown: the line's place in its journal. */
  key: string;
  clip: Clip;
}

class Player {
  /** The key of what is heard now. */
  current = $state<string>();
  /** How much of it was heard, from 0 to 1. */
  heard = $state(0);
  /** What could not be played, in words. */
  problem = $state<string>();

  #audio: HTMLAudioElement | undefined;
  #rest: Playable[] = [];
  #done: (() => void) | undefined;

  get isPlaying(): boolean {
    return this.current !== undefined;
  }

  /** Plays these in order. The promise is kept when the last was heard, or something else is played. */
  play(clips: Playable[], speed = 1): Promise<void> {
    this.stop();
    this.problem = undefined;
    this.#rest = clips.slice();
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#next(speed);
    });
  }

  /** Plays it, or stops it where it is what is heard. */
  toggle(one: Playable): void {
    if (this.current === one.key) this.stop();
    else void this.play([one]);
  }

  /** Another speed for what is heard now. */
  hurry(speed: number): void {
    if (this.#audio) this.#audio.playbackRate = speed;
  }

  stop(): void {
    this.#rest = [];
    this.#audio?.pause();
    this.#audio = undefined;
    this.current = undefined;
    this.heard = 0;
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }

  #next(speed: number): void {
    const one = this.#rest.shift();
    if (!one) return this.stop();
    const audio = new Audio(`/v1/audio/${one.clip.path.split("/").map(encodeURIComponent).join("/")}`);
    audio.playbackRate = speed;
    this.#audio = audio;
    this.current = one.key;
    this.heard = 0;
    const isOurs = () => this.#audio === audio;
    audio.addEventListener("timeupdate", () => {
      if (isOurs() && audio.duration > 0) this.heard = audio.currentTime / audio.duration;
    });
    audio.addEventListener("ended", () => isOurs() && this.#next(speed));
    const fail = () => {
      if (!isOurs()) return;
      this.problem = "The clip could not be played.";
      this.#next(speed);
    };
    audio.addEventListener("error", fail);
    audio.play().catch(fail);
  }
}

export const player = new Player();
