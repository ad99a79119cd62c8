// What is heard in a room, event by event: the words in their order, who was called and has not answered yet, and
// which collaboration is which. Nothing here knows how the events arrive.
import type { RoomEvent } from "../../api/types";

export interface Spoken {
  id: string;
  is: "person" | "agent" | "router" | "handover";
  who: string;
  to?: string;
  text: string;
  call: string;
  session?: string;
}

/** Somebody was called, and has not answered. */
export interface Called {
  agent: string;
  call: string;
  session?: string;
  round?: number;
  since: number;
}

/** A collaboration of the room. */
export interface Talk {
  id: string;
  call: string;
  goal: string;
  /** By which it is told apart from others: A, B, C. */
  letter: string;
  done: number;
  max: number;
  /** The places of its first and last line. */
  first: number;
  last: number;
}

export interface Heard {
  lines: Spoken[];
  called: Called[];
  talks: Map<string, Talk>;
  /** Who has spoken or was called, in this order. */
  agents: Set<string>;
  /** What the person said that a call follows from, and to whom. */
  calls: Map<string, { text: string; target: string }>;
}

export const NOTHING_HEARD: Heard = { lines: [], called: [], talks: new Map(), agents: new Set(), calls: new Map() };

/** What was heard, with these events after it. The one before stays as it is. */
export function hear(before: Heard, events: { id: string; event: RoomEvent }[]): Heard {
  const heard: Heard = {
    lines: before.lines.slice(),
    called: before.called.slice(),
    talks: new Map(before.talks),
    agents: new Set(before.agents),
    calls: new Map(before.calls),
  };
  for (const { id, event } of events) add(heard, id, event);
  return heard;
}

function add(heard: Heard, id: string, event: RoomEvent): void {
  const { sender, target, text, call_id: call, session_id: session } = event;
  const say = (words: Pick<Spoken, "is" | "who" | "to" | "text">) => {
    heard.lines.push({ id, call, session, ...words });
    place(heard, event);
  };
  switch (event.type) {
    case "human_message":
      if (!heard.calls.has(call)) heard.calls.set(call, { text, target });
      say({ is: "person", who: sender, to: target === "router" ? undefined : target, text });
      break;
    case "agent_call": {
      heard.agents.add(target);
      heard.called.push({ agent: target, call, session, round: event.round, since: event.ts * 1000 });
      const cause = heard.calls.get(call);
      // That a message is passed on as it is says nothing new, unless the person left open to whom.
      if (cause?.text !== text) say({ is: "handover", who: sender, to: target, text });
      else if (cause.target === "router" && session === undefined) say({ is: "handover", who: sender, to: target, text: "" });
      break;
    }
    case "agent_response":
      if (sender === "router") {
        say({ is: "router", who: sender, text });
        // Where it goes on, whoever is asked again is waited for from now.
        heard.called = heard.called.map((one) => (session && one.session === session ? { ...one, since: event.ts * 1000 } : one));
      } else {
        heard.agents.add(sender);
        say({ is: "agent", who: sender, text });
        heard.called = heard.called.filter((one) => one.agent !== sender || one.call !== call || one.session !== session);
      }
      break;
  }
}

function place(heard: Heard, event: RoomEvent): void {
  const { session_id: id, call_id: call, round, max_rounds: max } = event;
  if (id === undefined) return;
  const at = heard.lines.length - 1;
  const known = heard.talks.get(id);
  const isAnswer = event.type === "agent_response" && event.sender !== "router";
  const done = isAnswer ? (round ?? 0) : (known?.done ?? 0);
  const goal = known?.goal ?? heard.calls.get(call)?.text ?? "";
  const letter = known?.letter ?? letterOf(heard.talks.size);
  heard.talks.set(id, { id, call, goal, letter, done, max: max ?? known?.max ?? 0, first: known?.first ?? at, last: at });
}

function letterOf(nth: number): string {
  return String.fromCharCode(65 + (nth % 26));
}
