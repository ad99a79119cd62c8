// Who has which seat in a score that is about to be played, and what is set for it.
import { api, take } from "../../api/client";
import type { CheckedScore, Score, ScoreRole } from "../../api/types";
import type { Values } from "./score";

/** Who can have a seat: agents of the house by their names, and models. */
export interface Candidate {
  name: string;
  available: boolean;
  isModel: boolean;
}

/** Who has the seats of each role, by its name. */
export type Cast = Record<string, string[]>;

/** What is about to be played. A score that is not here by its name is sent along as its text. */
export interface Plan {
  score: Score;
  text?: string;
  message: string;
  cast: Cast;
  values: Values;
}

let known: Promise<Candidate[]> | undefined;

/** Who is here; it is asked once. */
export function candidates(): Promise<Candidate[]> {
  known ??= Promise.all([take(api.GET("/v1/agents")), take(api.GET("/v1/models"))]).then(([{ agents }, { models }]) => [
    ...agents.map(({ name, available }) => ({ name, available, isModel: false })),
    ...models.map(({ name, available }) => ({ name, available, isModel: true })),
  ]);
  known.catch(() => (known = undefined));
  return known;
}

/** An agent or a model that can be had here. A model is also named without its vendor. */
function available(name: string, all: Candidate[]): string | undefined {
  return all.find((one) => one.available && (one.name === name || (one.isModel && one.name.endsWith(`/${name}`))))?.name;
}

/** Who has the seats of a role when nobody chooses: as the score has it, as far as they can be had here. */
export function usual(role: ScoreRole, all: Candidate[]): string[] {
  if (role.isPerson) {
    const names = role.default ?? [];
    return names.length > 0 ? names : Array.from({ length: role.least }, (_, at) => (at === 0 ? "you" : `guest-${at + 1}`));
  }
  const found = (role.default ?? []).flatMap((name) => available(name, all) ?? []);
  if (found.length === 0) {
    const agents = all.filter((one) => one.available && !one.isModel).map(({ name }) => name);
    found.push(...agents.slice(0, Math.min(Math.max(role.least, 2), role.most)));
  }
  const had = found.length;
  for (let nth = 0; had > 0 && found.length < role.least; nth++) found.push(found[nth % had]!);
  return found;
}

export function usualCast(score: Score, all: Candidate[]): Cast {
  return Object.fromEntries(score.roles.map((role) => [role.name, usual(role, all)]));
}

/** Somebody for one more seat: who has none yet, where there is one. */
export function another(role: ScoreRole, taken: string[], all: Candidate[]): string {
  if (role.isPerson) {
    let nth = taken.length + 1;
    while (taken.includes(`guest-${nth}`)) nth++;
    return taken.includes("you") ? `guest-${nth}` : "you";
  }
  const agents = all.filter((one) => one.available && !one.isModel);
  return (agents.find(({ name }) => !taken.includes(name)) ?? agents[0])?.name ?? taken.at(-1) ?? "";
}

/** How many seats a role has, in words. */
export function seatsOf({ least, most }: ScoreRole): string {
  return least === most ? (least === 1 ? "one seat" : `${least} seats`) : `${least} to ${most} seats`;
}

/** Why it cannot be played yet, in words. */
export function missing({ score, message, cast }: Plan): string | undefined {
  for (const { name, isPerson } of score.roles) {
    if ((cast[name] ?? []).some((seat) => seat.trim() === "")) {
      return isPerson ? `Who has the seat of ${name}? It needs a name.` : `Choose who has the seats of ${name}.`;
    }
  }
  return message.trim() === "" ? "It needs a message: what it is to be about." : undefined;
}

/** Only what is set otherwise than the score has it. */
export function changed(score: Score, values: Values): Values {
  const isOther = ({ name, default: usual }: { name: string; default: unknown }) => name in values && values[name] !== usual;
  return Object.fromEntries((score.settings ?? []).filter(isOther).map(({ name }) => [name, values[name]]));
}

function body({ score, message, cast, values }: Plan) {
  const seats = Object.fromEntries(Object.entries(cast).filter(([, names]) => names.length > 0));
  return { message: message.trim(), seats, settings: changed(score, values) };
}

/** What is wrong with it, or the most that it can come to. Nothing is played. */
export function check(plan: Plan): Promise<CheckedScore> {
  const name = plan.text === undefined ? plan.score.name : null;
  return take(api.POST("/v1/scores/check", { body: { ...body(plan), name, score: plan.text } }));
}

/** Plays it, and says where it is watched. */
export async function play(plan: Plan): Promise<string> {
  const params = { path: { name: plan.score.name } };
  const { sessionId } = await take(api.POST("/v1/scores/{name}", { params, body: { ...body(plan), score: plan.text } }));
  return `/score/${sessionId}`;
}
