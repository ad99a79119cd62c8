// The example: a fairy tale in the lobby, between those whom the house would choose.
import { api, Problem, take } from "../../api/client";
import { examples } from "../../api/examples";

interface Example {
  goal: string;
  between?: string[];
}

const ROUNDS = 4;

export async function beginExample(): Promise<string> {
  const { collaboration } = await examples<{ collaboration: Example }>();
  if (!collaboration) throw new Problem("There are no two here who could work together: see below what would add some.", "UNAVAILABLE", 0);
  const { goal, between } = collaboration;
  const who = between && { participants: between, speaker: between[0] };
  const body = { text: goal, mode: "collaborate" as const, maxRounds: ROUNDS, ...who };
  await take(api.POST("/v1/rooms/{room}/messages", { params: { path: { room: "lobby" } }, body }));
  return "/room/lobby";
}
