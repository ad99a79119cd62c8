// How figures, times and reasons are said.

/** Amounts are whole picodollars, as the server counts. */
export const PICO = 1e12;

/** Picodollars; an unknown price is said, never zero. */
export function money(cost: number | null): string {
  if (cost === null) return "price unknown";
  return dollars(cost / PICO);
}

export function dollars(usd: number | null): string {
  if (usd === null) return "price unknown";
  if (usd === 0) return "$0";
  if (usd < 0.001) return "< $0.001";
  return usd < 1 ? `$${usd.toFixed(3)}` : `$${usd.toFixed(2)}`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export function clock(ms: number): string {
  const seconds = Math.max(Math.round(ms / 1000), 0);
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
}

const HOUR = 3_600_000;

/** How long something took, in the unit that says enough. */
export function span(ms: number): string {
  const seconds = Math.max(Math.round(ms / 1000), 1);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** When that was, as people say it. */
export function when(at: number, now: number = Date.now()): string {
  const past = now - at;
  if (past < 60_000) return "now";
  if (past < HOUR) return `${Math.floor(past / 60_000)} min ago`;
  const date = new Date(at);
  const today = new Date(now);
  const yesterday = new Date(now - 24 * HOUR);
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === today.toDateString()) return time;
  if (date.toDateString() === yesterday.toDateString()) return "yesterday";
  const sameYear = date.getFullYear() === today.getFullYear();
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) });
}

const REASONS: Record<string, string> = {
  completed: "completed",
  final: "done",
  no_handoff: "not handed on",
  cap_reached: "all rounds used",
  malformed_reply: "a reply could not be read",
  goal_achieved: "goal reached",
  natural_end: "came to its end",
  max_beats_exceeded: "all beats used",
  stalled: "stalled",
  cancelled: "stopped",
  failed: "failed",
  limit_usd: "cost limit reached",
  limit_tokens: "token limit reached",
  limit_seconds: "time limit reached",
};

/** Why a session ended, in words. */
export function ending(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

/** Whether one that ended so can be gone on with. */
export function isBrokenOff(reason: string): boolean {
  return ["cancelled", "failed", "cap_reached", "max_beats_exceeded", "limit_usd", "limit_tokens", "limit_seconds"].includes(
    reason,
  );
}

/** Text of models and people with nothing in it that acts: control characters and marks that turn text around. */
export function inert(text: string): string {
  return text.replace(ACTS, "");
}

// All control characters but tab and newline, and the marks that embed, override or isolate a direction.
const ACTS = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069\\ufeff]", "g");

/** A model as it is written. Of a script only the file's own name is shown, and not where it lies. */
export function modelName(model: string): string {
  return inert(model.startsWith("script/") ? `script/${model.split(/[\\/]/).at(-1)}` : model);
}

/** The first letter of a name, as it is shown in a circle. */
export function initial(name: string): string {
  const [first] = inert(name).replace(/^[^\p{L}\p{N}]+/u, "");
  return (first ?? "?").toUpperCase();
}
