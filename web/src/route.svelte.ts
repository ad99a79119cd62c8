// Where on the page somebody is. The address says all of it, so that it can be kept, sent and gone back to.

class Route {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));

  constructor() {
    window.addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
      if (!link || !isPlain || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
      if (OUTSIDE.some((path) => link.pathname.startsWith(path))) return;
      event.preventDefault();
      this.go(link.pathname + link.search);
    });
  }

  /** The parts of the path. */
  get parts(): string[] {
    return this.path.split("/").filter(Boolean).map(decodeURIComponent);
  }

  get isKiosk(): boolean {
    return this.query.has("kiosk");
  }

  go(to: string): void {
    if (to !== location.pathname + location.search) history.pushState(null, "", to);
    this.#read();
    window.scrollTo(0, 0);
  }

  /** Another place of the same view: nothing to go back to. */
  replace(to: string): void {
    history.replaceState(null, "", to);
    this.#read();
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }
}

/** What the server answers and the page does not. */
const OUTSIDE = ["/v1/", "/api/", "/docs", "/openapi.json", "/metrics"];

export const route = new Route();
