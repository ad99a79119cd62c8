// Looks at something again and again while it is being changed: once it rests, and the last answer counts.
import { problemOf } from "../../api/client";
import type { CheckedScore } from "../../api/types";

const REST = 300;

export class Checking {
  /** What was found last; it stays while it is looked at anew. */
  found = $state.raw<CheckedScore>();
  /** Why it could not be looked at, in words. */
  problem = $state<string>();
  /** Whether what was found is of before the last change. */
  isOld = $state(true);
  #rest: ReturnType<typeof setTimeout> | undefined;
  #last = 0;

  /** Looks once nothing has been changed for a moment. The answer takes this back. */
  look(check: () => Promise<CheckedScore>): () => void {
    this.isOld = true;
    const nth = ++this.#last;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(async () => {
      try {
        const found = await check();
        if (nth !== this.#last) return;
        [this.found, this.problem, this.isOld] = [found, undefined, false];
      } catch (thrown) {
        if (nth === this.#last) this.problem = problemOf(thrown).message;
      }
    }, REST);
    return () => clearTimeout(this.#rest);
  }
}
