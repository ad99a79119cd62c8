// The recorded sessions as a list: page by page, and asked for again for as long as something in it goes on.
import { api, problemOf, take } from "../api/client";
import type { Listed } from "../api/types";

/** What is looked for. Nothing means anything. */
export interface Search {
  q?: string;
  format?: string;
  status?: string;
}

/** How often a list in which something goes on is asked for again. */
const AGAIN = 4_000;
/** The most that the server gives at once. */
const MOST = 1_000;

export class Listing {
  /** The newest first; nothing until it is known. */
  sessions = $state.raw<Listed[]>();
  /** Where the earlier ones begin; nothing where there are none. */
  next = $state<string | null>(null);
  problem = $state<string>();
  isLooking = $state(false);

  #search: Search = {};
  /** What is shown was found by another search. */
  #isOther = false;
  /** Which question the last one was: an answer to an earlier one comes too late. */
  #asked = 0;

  constructor(readonly size: number) {}

  /** Looks for something else, from the newest on. */
  async look(search: Search = {}): Promise<void> {
    this.#search = search;
    this.#isOther = true;
    await this.#ask(this.size);
  }

  /** The same list as it stands now. */
  async again(): Promise<void> {
    await this.#ask(Math.min(Math.max(this.size, this.sessions?.length ?? 0), MOST));
  }

  /** Those before the last one that is shown. */
  async more(): Promise<void> {
    if (this.next !== null) await this.#ask(this.size, this.next);
  }

  /** Removes one for good. A refusal is thrown. */
  async remove(id: string): Promise<void> {
    await take(api.DELETE("/v1/sessions/{id}", { params: { path: { id } } }));
    // What is being asked for may still have it.
    this.#asked += 1;
    this.isLooking = false;
    this.sessions = this.sessions?.filter((session) => session.sessionId !== id);
  }

  /** Keeps the list as it is out there, for as long as the view is there. To be called while a component is set up. */
  keep(): void {
    $effect(() => {
      const goesOn = this.sessions?.some(({ status, isLeftAlone }) => status === "running" || (status === "left" && !isLeftAlone));
      if (!goesOn && this.problem === undefined) return;
      const timer = setInterval(() => {
        if (document.visibilityState === "visible" && !this.isLooking) void this.again();
      }, AGAIN);
      return () => clearInterval(timer);
    });
  }

  async #ask(limit: number, before?: string): Promise<void> {
    const asked = ++this.#asked;
    this.isLooking = true;
    try {
      const page = await take(api.GET("/v1/sessions", { params: { query: { ...this.#search, limit, before } } }));
      if (asked !== this.#asked) return;
      this.sessions = before === undefined ? page.sessions : [...(this.sessions ?? []), ...page.sessions];
      this.next = page.next;
      this.problem = undefined;
      this.#isOther = false;
    } catch (thrown) {
      if (asked !== this.#asked) return;
      this.problem = problemOf(thrown).message;
      if (this.#isOther) this.sessions = undefined;
    } finally {
      if (asked === this.#asked) this.isLooking = false;
    }
  }
}
