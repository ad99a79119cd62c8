// What a score says, read as the page needs it: its phases in their order, and each of them in words.
import type { Score, ScoreForm, ScorePhase, ScoreRepeat, ScoreTurn, ScoreWho } from "../../api/types";
import { count } from "../../words";

/** What is set otherwise than the score has it, by name. */
export type Values = Record<string, unknown>;

/** A phase in which seats speak, with the repeats around it, the outermost first. */
export interface Placed {
  turn: ScoreTurn;
  around: ScoreRepeat[];
}

/** The phases in the order in which they are written. */
export function placed(phases: ScorePhase[], around: ScoreRepeat[] = []): Placed[] {
  return phases.flatMap((phase) =>
    "turn" in phase ? [{ turn: phase.turn, around }] : placed(phase.repeat.phases, [...around, phase.repeat]),
  );
}

/** The roles whose seats may speak. */
export function rolesOf(who: ScoreWho): string[] {
  return "role" in who ? [who.role.role] : who.pick.from;
}

/** How often a repeat goes round at most. */
export function timesOf({ atMost }: ScoreRepeat, score: Score, values: Values): number {
  if (typeof atMost === "number") return atMost;
  const setting = score.settings?.find(({ name }) => name === atMost);
  const value = values[atMost] ?? setting?.default;
  return typeof value === "number" ? value : 1;
}

/** A name as it reads in a sentence: `sum_up` is said as `sum up`. */
export function said(name: string): string {
  return name.replaceAll(/[_-]/g, " ");
}

/** The same at the beginning of one. */
export function heading(name: string): string {
  const words = said(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `a`, `a and b`, `a, b and c`. */
export function list(words: string[], last = "and"): string {
  return words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}

/** An expression without its braces. */
export function expression(written: string): string {
  return written.trim().replace(/^\{\{-?\s*([^]*?)\s*-?\}\}$/, "$1");
}

/** A phase as something that is named. */
function quoted(phase: string): string {
  return `“${said(phase)}”`;
}

/** Who speaks in a phase, and how, as a programme says it. */
export function speakers(score: Score, turn: ScoreTurn): string {
  const who = turn.who.map((who) => {
    if ("role" in who) {
      const { role, if: only } = who.role;
      return only === undefined ? said(role) : `${said(role)} if ${expression(only)}`;
    }
    const { by, from } = who.pick;
    return `one ${list(from.map(said), "or")}, whom ${said(by)} picks`;
  });
  const roles = score.roles.filter(({ name }) => turn.who.some((who) => rolesOf(who).includes(name)));
  const isInTurn = turn.oneByOne || roles.some(({ isPerson }) => isPerson);
  const isOne = turn.who.some((who) => "pick" in who) || (roles.length === 1 && roles[0]?.most === 1);
  return `${list(who)}${isOne ? "" : isInTurn ? ", one by one" : ", all at once"}`;
}

/** What a phase sees, where that is not everything. */
export function sight({ sees, blind }: ScoreTurn): string | undefined {
  const names = blind ? ", without names" : "";
  if (sees === "all") return blind ? "sees everything, without names" : undefined;
  if (sees.these.length === 0) return "sees nothing";
  const seen = sees.these.map(({ phase, where, atMost, drawn }) => {
    const some = atMost === undefined ? (where === undefined ? "" : "some of ") : `${count(atMost, "line")} ${drawn ? "drawn from " : "of "}`;
    return `${some}${phase === "message" ? "the message" : quoted(phase)}`;
  });
  const isMessageOnly = sees.these.length === 1 && sees.these[0]?.phase === "message";
  return `sees ${isMessageOnly ? "only " : ""}${list(seen)}${names}`;
}

/** A form of a reply, in words. */
export function formed(form: ScoreForm): string {
  if (form === "text") return "words";
  if (form === "yes_no") return "yes or no";
  if ("number" in form) return `${form.number.least} to ${form.number.most}`;
  if ("list" in form) return `up to ${form.list.at_most} of ${formed(form.list.of)}`;
  const isOrder = "order" in form;
  const of = isOrder ? form.order : form.one_of;
  const whom = "words" in of ? list(of.words, isOrder ? "and" : "or") : "phase" in of ? `those of ${quoted(of.phase)}` : said(of.role);
  return isOrder ? `${whom} in order` : "words" in of ? whom : `one of ${"phase" in of ? whom : `${whom}s`}`;
}

/** What a phase answers with, where that is more than words. */
export function answer({ reply }: ScoreTurn): string | undefined {
  const fields = (reply ?? []).filter(({ form }) => form !== "text");
  if (fields.length === 0) return undefined;
  return `answers with ${list(fields.map(({ name, form }) => `${said(name)} (${formed(form)})`))}`;
}
