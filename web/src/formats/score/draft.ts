// The score that somebody is writing. It is kept in the browser, so that a reload loses nothing.

const KEY = "polylogue.score";

/** What was being written, where anything was. */
export function kept(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    // A browser may keep nothing; then it is written anew.
    return undefined;
  }
}

export function keep(text: string): void {
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // As above.
  }
}

/** A blank score under a name of its own. */
export function fresh(blank: string): string {
  return blank.replace("NAME", "my-score");
}

/** A score to be changed: it gets a name of its own, so that it does not hide the one that it is from. */
export function copyOf(text: string, name: string): string {
  return text.replace(/^(score:[ \t]*)\S.*$/m, `$1my-${name}`);
}

/** What the score calls itself, whether or not the rest of it is right. */
export function nameIn(text: string): string {
  const name = /^score:[ \t]*["']?([\w-]+)/m.exec(text)?.[1];
  return name ?? "my-score";
}
