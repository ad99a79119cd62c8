// What a person writes, in the form that characters answer in, where plain words cannot say how it is said.

/** Words with a tone; without one they are sent as they are. */
export function inForm(text: string, tone: string): string {
  const said = tone.replace(/[\[\]"]/g, "").trim();
  if (said === "" || text.startsWith("[")) return text;
  const acts = [...text.matchAll(/\*([^*]+)\*/g)].map(([, act]) => `*${act!.trim()}*`);
  const words = text.replace(/\*[^*]+\*/g, " ").replace(/\s+/g, " ").trim();
  if (words === "") return `[${["REACT", `TONE: ${said}`, ...acts].join(", ")}]`;
  return `[${[`TONE: ${said}`, ...acts].join(", ")}] "${words.replace(/["\\]/g, "\\$&")}"`;
}
