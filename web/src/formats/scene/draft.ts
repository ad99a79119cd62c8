// A scene that is being written: what its fields hold, what a pasted file puts into them, and what is sent.
import { api, Problem, take } from "../../api/client";
import { examples } from "../../api/examples";

/** A scene file, as the server takes it. */
export type File = Record<string, unknown>;

/** A character of the house. */
export interface Character {
  name: string;
  description?: string | null;
  markdown: string;
}

/** A character of this scene alone. Without a text it is the house's of that name. */
export interface Written {
  key: number;
  name: string;
  markdown: string;
}

export interface Draft {
  name: string;
  prompt: string;
  goal: string;
  setting: string;
  maxBeats: number | null;
  initialSpeaker: string;
  speech: boolean;
  /** The house's characters that play, by their names. */
  picked: string[];
  written: Written[];
  /** What else a pasted file says: it goes along as it is. */
  rest: File;
}

let keys = 0;

export function character(name = "", markdown = ""): Written {
  return { key: ++keys, name, markdown };
}

export function empty(): Draft {
  return {
    name: "",
    prompt: "",
    goal: "",
    setting: "",
    maxBeats: 20,
    initialSpeaker: "",
    speech: false,
    picked: [],
    written: [],
    rest: {},
  };
}

/** Who plays, in order. */
export function cast(draft: Draft): string[] {
  return [...draft.picked, ...draft.written.map(({ name }) => name.trim()).filter(Boolean)];
}

/** The fields that a file fills; names can be as in `max_beats`. What is wrong with it is thrown in words. */
export function fromFile(text: string, house: Character[]): Draft {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error(
      "This is not JSON. A scene in YAML or TOML is played on the command line, `polylogue scene FILE`, or written into the fields here.",
    );
  }
  if (typeof file !== "object" || file === null || Array.isArray(file)) {
    throw new Error("A scene file is one object: { \"name\": …, \"prompt\": …, \"characters\": […] }.");
  }
  return fromScene(file as File, house);
}

export function fromScene(file: File, house: Character[]): Draft {
  const { name, prompt, goal, setting, speech, characters, agents, ...others } = file;
  const { initialSpeaker, initial_speaker, maxBeats, max_beats, ...rest } = others;
  const text = (value: unknown) => (typeof value === "string" ? value : value == null ? "" : String(value));
  const names = Array.isArray(characters) ? characters.map(text) : [];
  const along = typeof agents === "object" && agents !== null ? (agents as Record<string, unknown>) : {};
  const ofHouse = (name: string) => house.find((one) => one.name.toLowerCase() === name.toLowerCase());
  const draft = { ...empty(), rest };
  for (const name of names) {
    const own = ofHouse(name);
    if (along[name] !== undefined) draft.written.push(character(name, text(along[name])));
    else if (own) draft.picked.push(own.name);
    else draft.written.push(character(name));
  }
  const beats = Number(maxBeats ?? max_beats ?? 50);
  return {
    ...draft,
    name: text(name),
    prompt: text(prompt).trim(),
    goal: text(goal),
    setting: text(setting),
    maxBeats: Number.isFinite(beats) ? beats : null,
    initialSpeaker: text(initialSpeaker ?? initial_speaker),
    speech: speech === true,
  };
}

/** What is sent. */
export function toFile(draft: Draft): File {
  const file: File = { ...draft.rest, name: draft.name.trim(), prompt: draft.prompt.trim(), characters: cast(draft) };
  if (draft.goal.trim()) file.goal = draft.goal.trim();
  if (draft.setting.trim()) file.setting = draft.setting.trim();
  if (draft.maxBeats !== null) file.maxBeats = draft.maxBeats;
  if (draft.initialSpeaker) file.initialSpeaker = draft.initialSpeaker;
  if (draft.speech) file.speech = true;
  const along = draft.written.filter(({ name, markdown }) => name.trim() && markdown.trim());
  if (along.length > 0) file.agents = Object.fromEntries(along.map(({ name, markdown }) => [name.trim(), markdown]));
  return file;
}

/** Plays it, and says where it is watched. */
export async function start(file: File): Promise<string> {
  const { sessionId } = (await take(api.POST("/v1/scenes", { body: file as never }))) as { sessionId: string };
  return `/scene/${sessionId}`;
}

/** The scene that can be played in one click. */
export async function example(): Promise<File> {
  const { scene } = await examples<{ scene?: File }>();
  if (!scene) throw new Error("The house has no example of a scene.");
  return scene;
}

export async function characters(): Promise<Character[]> {
  return (await take(api.GET("/v1/characters"))).characters;
}

/** Where something is wrong: a field, a character, or the whole. */
export interface Wrong {
  at: "name" | "prompt" | "goal" | "setting" | "maxBeats" | "initialSpeaker" | "characters" | "whole";
  /** The character, where it is one. */
  who?: string;
  message: string;
}

const PLACES: [RegExp, Wrong["at"]][] = [
  [/^scene name|`name`/i, "name"],
  [/^scene prompt|`prompt`/i, "prompt"],
  [/^initial speaker|initial_?speaker/i, "initialSpeaker"],
  [/max_?beats/i, "maxBeats"],
  [/`goal`/i, "goal"],
  [/`setting`/i, "setting"],
  [/character/i, "characters"],
];

/** Everything that the server says is wrong, each at its place. */
export function placed(problem: Problem): Wrong[] {
  const { code, context, message } = problem;
  if (code === "CHARACTER_LOAD_ERROR") {
    const who = String(context.character ?? "");
    const why = context.reason === "file not found" ? "There is no such character in the house. Write it here, or choose another." : `It cannot be read: ${String(context.reason ?? message)}.`;
    return [{ at: "characters", who, message: why }];
  }
  if (code !== "INVALID_CONFIG") return [{ at: "whole", message }];
  const problems = Array.isArray(context.problems) ? context.problems.map(String) : [message];
  return problems.map((message) => ({
    // A field that is not known is named among all the others.
    at: (/^unknown field/i.test(message) ? undefined : PLACES.find(([pattern]) => pattern.test(message))?.[1]) ?? "whole",
    message: /[.!?…]$/.test(message) ? message : `${message}.`,
  }));
}
