// What the header says at its right: where the conversation stands. A view sets it, and takes it back.
import { untrack } from "svelte";

import { inert } from "./words";

class Status {
  text = $state("");
  /** How many views have lost the line to the server. */
  #lost = $state(0);

  get isLost(): boolean {
    return this.#lost > 0;
  }

  /** Says this for as long as the view that says it is there. To be called while a component is set up. */
  say(text: () => string): void {
    $effect(() => {
      this.text = text();
      return () => (this.text = "");
    });
  }

  /** Says that the line is lost, for as long as it is. To be called while a component is set up. */
  lose(isLost: () => boolean): void {
    $effect(() => {
      if (!isLost()) return;
      untrack(() => (this.#lost += 1));
      return () => (this.#lost -= 1);
    });
  }
}

export const status = new Status();

/** The window's title for as long as a view is there. */
export function titled(title: () => string): void {
  $effect(() => {
    const text = inert(title());
    document.title = text ? `${text} · Polylogue` : "Polylogue";
    return () => (document.title = "Polylogue");
  });
}
