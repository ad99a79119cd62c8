// Who takes part in a discussion that is about to begin, in which order, and what still keeps it from beginning.
import { api, take } from "../../api/client";

export interface Seat {
  key: number;
  role: "manager" | "leader" | "specialist" | "user";
  /** The agent; nothing for a person. */
  agent: string;
  /** A person's name; whoever comes where there is none. */
  person: string;
}

export interface Known {
  name: string;
  available: boolean;
}

export interface Plan {
  title: string;
  topic: string;
  rounds: number;
  /** Whether it closes with a stated decision. */
  decides: boolean;
  seats: Seat[];
}

let keys = 0;

export function person(): Seat {
  return { key: ++keys, role: "user", agent: "", person: "" };
}

export function agent(name: string, role: Seat["role"] = "specialist"): Seat {
  return { key: ++keys, role, agent: name, person: "" };
}

/** Those whom the house would choose; else a person, one who leads and two who know something. */
export function usualSeats(agents: Known[], house?: Discussion): Seat[] {
  if (house) return house.participants.map(({ role, agent: name }) => (name ? agent(name, role) : person()));
  const usable = agents.filter((one) => one.available).map((one) => one.name);
  return [person(), ...usable.slice(0, 3).map((name, at) => agent(name, at === 0 ? "manager" : "specialist"))];
}

/** Why it cannot begin yet, in words. */
export function missing({ title, rounds, seats }: Omit<Plan, "decides">): string | undefined {
  if (title.trim() === "") return "It needs a title.";
  if (!seats.some((seat) => seat.role !== "user")) return "At least one agent has to take part.";
  if (seats.some((seat) => seat.role !== "user" && seat.agent === "")) return "Choose an agent for every place.";
  const people = seats.filter((seat) => seat.role === "user").map((seat) => seat.person.trim());
  if (people.length > 1 && people.includes("")) return "Where several people take part, each needs a name.";
  if (new Set(people).size < people.length) return "Two people have the same name.";
  if (!(Number.isInteger(rounds) && rounds >= 1 && rounds <= 1000)) return "Choose between 1 and 1,000 rounds.";
  return undefined;
}

/** A discussion as the server takes it. */
export interface Discussion {
  title: string;
  topic?: string;
  maxRounds?: number;
  closing?: "open" | "decision";
  participants: { role: Seat["role"]; agent?: string; name?: string; userId?: string }[];
}

/** Begins what was planned, and says where it is watched. */
export function start({ title, topic, rounds, decides, seats }: Plan): Promise<string> {
  const taken = new Map<string, number>();
  const participants = seats.map(({ role, agent, person }) => {
    if (role === "user") return { role, ...(person.trim() ? { userId: person.trim() } : {}) };
    const nth = (taken.get(agent) ?? 0) + 1;
    taken.set(agent, nth);
    // One agent in several places is told apart by a name of its own in each.
    return { role, agent, ...(nth > 1 ? { name: `${agent}-${nth}` } : {}) };
  });
  const more = { ...(topic.trim() ? { topic: topic.trim() } : {}), ...(decides ? { closing: "decision" as const } : {}) };
  return begin({ title: title.trim(), maxRounds: rounds, participants, ...more });
}

export async function begin(body: Discussion): Promise<string> {
  const { project } = await take(api.POST("/api/discussions", { body }));
  return `/discussion/${project.id}`;
}
