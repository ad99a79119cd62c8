// What is shown of a reply that has a form: the words that were heard, and what they do not say.
import type { ScoreForm, ScoreTurn } from "../../api/types";
import type { Taken } from "./fold";

/** A field as it is shown. Those who are named are seats, where the form chooses among them. */
export type Shown =
  | { is: "order"; name: string; items: string[]; areSeats: boolean }
  | { is: "one"; name: string; value: string; isSeat: boolean }
  | { is: "yes_no"; name: string; value: boolean }
  | { is: "number"; name: string; value: number; least: number; most: number }
  | { is: "list"; name: string; items: string[]; areSeats: boolean }
  | { is: "text"; name: string; text: string };

/** The words that were heard and the fields beside them. Words that only repeat the fields are left out. */
export function shown(turn: ScoreTurn, { reply }: Taken, heard: string): { words: string; fields: Shown[] } {
  if (!reply) return { words: heard, fields: [] };
  const fields = (turn.reply ?? []).flatMap(({ name, form }) => field(name, form, reply[name]) ?? []);
  const rest = fields.reduce((rest, field) => without(rest, spoken(field)), heard);
  const isRepeated = fields.some((field) => field.is !== "text") && heard !== "" && !/[\p{L}\p{N}]/u.test(rest);
  if (isRepeated) return { words: "", fields };
  return { words: heard, fields: fields.filter((field) => field.is !== "text" || !heard.includes(field.text.trim())) };
}

/** The texts of a field that stand for themselves in a line. */
function spoken(field: Shown): string[] {
  return field.is === "list" ? field.items : [];
}

function without(text: string, parts: string[]): string {
  return parts.reduce((text, part) => text.replace(part.trim(), " "), text);
}

function field(name: string, form: ScoreForm, value: unknown): Shown | undefined {
  if (value === undefined || value === null) return undefined;
  if (form === "text") return { is: "text", name, text: String(value) };
  if (form === "yes_no") return { is: "yes_no", name, value: value === true };
  if ("number" in form) return { is: "number", name, value: Number(value), ...form.number };
  if ("one_of" in form) return { is: "one", name, value: String(value), isSeat: !("words" in form.one_of) };
  const items = Array.isArray(value) ? value.map(String) : [String(value)];
  if ("order" in form) return { is: "order", name, items, areSeats: !("words" in form.order) };
  const { of } = form.list;
  const areSeats = typeof of === "object" && "one_of" in of && !("words" in of.one_of);
  return { is: "list", name, items, areSeats };
}

/** A figure as it is said: whole, or with as much after the point as tells it apart. */
export function figure(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toFixed(2)));
}

/** Something that came out of a score. */
export type Outcome =
  | { is: "words"; text: string }
  /** Somebody or something with what it came to, in order. */
  | { is: "table"; rows: { label: string; figure: string }[] };

export function outcome(value: unknown): Outcome {
  if (Array.isArray(value) && value.length > 0) {
    const rows = value.map(row);
    if (rows.every((row) => row !== undefined)) return { is: "table", rows };
    return { is: "words", text: value.map(inWords).join(", ") };
  }
  return { is: "words", text: inWords(value) };
}

/** A row of what filters for votes give: `{name, points}`, `{value, count}`. */
function row(value: unknown): { label: string; figure: string } | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const fields = Object.entries(value);
  const label = fields.find(([name]) => name === "name" || name === "value") ?? fields.find(([, of]) => typeof of === "string");
  const figures = fields.filter((field) => field !== label).map(([name, of]) => (name === "count" ? inWords(of) : `${inWords(of)} ${name.replaceAll("_", " ")}`));
  return label && { label: inWords(label[1]), figure: figures.join(", ") };
}

function inWords(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return figure(value);
  if (Array.isArray(value)) return value.map(inWords).join(", ") || "none";
  if (typeof value === "object") return Object.values(value).map(inWords).join(" ");
  return String(value);
}
