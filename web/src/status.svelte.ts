// What the header says at its right: where the conversation stands. A view sets it, and takes it back.

class Status {
  text = $state("");

  /** Says this for as long as the view that says it is there. To be called while a component is set up. */
  say(text: () => string): void {
    $effect(() => {
      this.text = text();
      return () => (this.text = "");
    });
  }
}

export const status = new Status();

/** The window's title for as long as a view is there. */
export function titled(title: () => string): void {
  $effect(() => {
    const text = title();
    document.title = text ? `${text} · Polylogue` : "Polylogue";
    return () => (document.title = "Polylogue");
  });
}
