// The keys of the replay. What is typed into a field is typed there, and a button keeps its own keys.

export interface Deeds {
  play: () => void;
  step: (by: 1 | -1) => void;
  page: (by: 1 | -1) => void;
  first: () => void;
  last: () => void;
  behind: () => void;
  fork: () => void;
  help: () => void;
  close: () => void;
}

const FIELDS = "input, textarea, select, [contenteditable]";
const SCROLLS = "[role=tabpanel], aside";

export function keys(deeds: Deeds): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const isSlider = target.matches("[role=slider]");
    if (event.key === "Escape") return run(event, deeds.close);
    if (target.closest(FIELDS)) return;
    switch (event.key) {
      case " ":
        return target.closest("button, a, summary") ? undefined : run(event, deeds.play);
      case "ArrowRight":
        return run(event, () => deeds.step(1));
      case "ArrowLeft":
        return run(event, () => deeds.step(-1));
      case "ArrowDown":
        // Down is further on, except on a slider, where it is less.
        return target.closest(SCROLLS) ? undefined : run(event, () => deeds.step(isSlider ? -1 : 1));
      case "ArrowUp":
        return target.closest(SCROLLS) ? undefined : run(event, () => deeds.step(isSlider ? 1 : -1));
      case "PageDown":
        return isSlider ? run(event, () => deeds.page(-1)) : undefined;
      case "PageUp":
        return isSlider ? run(event, () => deeds.page(1)) : undefined;
      case "Home":
        return run(event, deeds.first);
      case "End":
        return run(event, deeds.last);
      case "i":
        return run(event, deeds.behind);
      case "f":
        return run(event, deeds.fork);
      case "?":
        return run(event, deeds.help);
    }
  };
}

function run(event: KeyboardEvent, deed: () => void): void {
  event.preventDefault();
  deed();
}
