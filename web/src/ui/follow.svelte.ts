// The window stays at the end of what is said while somebody reads there, and where they are when they have scrolled up.

/** How near the end counts as at the end. */
const NEAR = 120;

/** To be called while a component is set up; `said` reads whatever makes the page longer. */
export function follow(said: () => unknown): void {
  let wasAtEnd = true;
  $effect.pre(() => {
    said();
    const { scrollHeight } = document.documentElement;
    wasAtEnd = window.scrollY + window.innerHeight >= scrollHeight - NEAR;
  });
  $effect(() => {
    said();
    if (wasAtEnd) window.scrollTo(0, document.documentElement.scrollHeight);
  });
}
