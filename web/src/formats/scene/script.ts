// What stands in the script, in order: lines, the director's notes, who did not speak in time and, for those who want to
// see them, silent acts.
import type { Line, Story } from "../../journal/story";
import { calledIn, type Note, sceneOf } from "./fold";

export type Item =
  | { is: "line"; key: string; seq: number; line: Line; isCutting: boolean }
  | { is: "system"; key: string; seq: number; text: string }
  | { is: "note"; key: string; seq: number; note: Note }
  | { is: "silence"; key: string; seq: number; text: string };

export function script(story: Story, showsSilence: boolean): Item[] {
  const scene = sceneOf(story);
  const items: Item[] = story.lines.map((line) =>
    line.kind === "system"
      ? { is: "system", key: `l${line.id}`, seq: line.seq, text: unable(story, line) }
      : { is: "line", key: `l${line.id}`, seq: line.seq, line, isCutting: false },
  );
  for (const { seq, note } of scene.directed) items.push({ is: "note", key: `n${seq}`, seq, note });
  for (const { who, seq } of scene.beats.flatMap(({ passedOver }) => passedOver)) {
    items.push({ is: "silence", key: `p${seq}`, seq, text: `${calledIn(story, who)} says nothing: nobody spoke in time.` });
  }
  if (showsSilence) {
    for (const { number, silent, lines } of scene.beats) {
      if (silent.length === 0) continue;
      const last = story.lines[(lines.at(-1) ?? 0) - 1]?.seq ?? 0;
      const seq = Math.max(last, ...silent.map((one) => one.seq)) + 0.5;
      const acts = silent.map(({ who, nonverbal }) => [`${calledIn(story, who)} is silent`, ...nonverbal].join(", "));
      items.push({ is: "silence", key: `s${number}`, seq, text: `${acts.join(". ")}.` });
    }
  }
  items.sort((one, other) => one.seq - other.seq);
  return items.map((item, at) => {
    if (item.is !== "line" || item.line.kind !== "interrupt") return item;
    const above = items[at - 1];
    const isCutting = above?.is === "line" && above.line.cut?.by === item.line.speaker.name;
    return isCutting ? { ...item, isCutting } : { ...item, line: breakingIn(item.line) };
  });
}

/** Into which words it came, where the line that it cut is not the one above it. */
function breakingIn(line: Line): Line {
  if (line.interruptsAfter === undefined) return line;
  return { ...line, nonverbal: [...line.nonverbal, `into “${line.interruptsAfter}”`] };
}

/** Who could not answer, and why. */
function unable(story: Story, line: Line): string {
  const failure = story.failures.findLast(({ seq, ask }) => seq < line.seq && ask.purpose === "act");
  return failure ? `${line.text}: ${failure.message}` : line.text;
}
