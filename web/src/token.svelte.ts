// Whether the server wants a token, and whether one was given in this browser. The token itself becomes a cookie that
// no script can read; all that is remembered here is that there is one, so that it can be taken back.
import { api, onTokenWanted, take } from "./api/client";

const KEY = "signed-in";

class Token {
  /** The server wants one before it says anything. */
  isWanted = $state(false);
  /** One was given, and can be taken back. */
  isGiven = $state(read());

  constructor() {
    onTokenWanted(() => void this.#refused());
  }

  /** A refusal may be of a request that was sent before somebody signed in: then one that is sent now is granted. */
  async #refused(): Promise<void> {
    if (this.isGiven && !this.isWanted) {
      const answer = await fetch("/v1/agents", { cache: "no-store" }).catch(() => undefined);
      if (answer?.status !== 401) return;
    }
    this.isWanted = true;
    this.#given(false);
  }

  /** Signs in. A refusal is thrown. */
  async give(token: string): Promise<void> {
    await take(api.POST("/v1/login", { body: { token } }));
    this.isWanted = false;
    this.#given(true);
  }

  /** Signs out. A refusal is thrown. */
  async takeBack(): Promise<void> {
    await take(api.POST("/v1/logout"));
    this.isWanted = true;
    this.#given(false);
  }

  #given(isGiven: boolean): void {
    this.isGiven = isGiven;
    try {
      if (isGiven) localStorage.setItem(KEY, "yes");
      else localStorage.removeItem(KEY);
    } catch {
      // It is known until the page is left.
    }
  }
}

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

export const token = new Token();
