// What can be different from a line on, and how it is sent. The session itself stays as it is.
import { api, take } from "../api/client";
import type { Model } from "../api/types";
import type { Line, Story } from "../journal/story";
import { inert } from "../words";

/** What a person has changed; an agent that is not named stays as it was. */
export interface Otherwise {
  words: string;
  note: string;
  /** Whom the note is for; everybody where it is empty. */
  to: string;
  personas: Record<string, string>;
  models: Record<string, string>;
}

/** Whether the words of a line can be others: an agent's, or a person's later on. How it began belongs to the setup. */
export function isEditable(line: Line): boolean {
  return line.ask !== undefined || (line.speaker.is === "person" && line.seq > 1);
}

/** Begins a session that shares everything up to an event, and says which it is. */
export async function fork(story: Story, at: number, line: Line, otherwise: Otherwise): Promise<string> {
  const words = otherwise.words.trim();
  const isEdited = isEditable(line) && words !== "" && words !== inert(line.text).trim();
  const note = otherwise.note.trim();
  const body = {
    at: isEdited ? line.seq : at,
    ...(isEdited ? { edit: words } : {}),
    notes: note ? [{ text: note, ...(otherwise.to ? { to: otherwise.to } : {}) }] : [],
    personas: changed(otherwise.personas, (agent) => story.agents.find(({ name }) => name === agent)?.persona),
    models: changed(otherwise.models, () => ""),
  };
  return (await take(api.POST("/v1/sessions/{id}/fork", { params: { path: { id: story.id } }, body }))).sessionId;
}

function changed(now: Record<string, string>, before: (agent: string) => string | undefined): Record<string, string> {
  const isOther = ([agent, value]: [string, string]) => value.trim() !== "" && value.trim() !== inert(before(agent) ?? "").trim();
  return Object.fromEntries(Object.entries(now).filter(isOther).map(([agent, value]) => [agent, value.trim()]));
}

let known: Promise<Model[]> | undefined;

/** What can think here; it is asked once. */
export function models(): Promise<Model[]> {
  known ??= take(api.GET("/v1/models")).then(({ models }) => models);
  known.catch(() => (known = undefined));
  return known;
}
