// The scores that can be played here, and what one begins to write.
import { api, Problem, take } from "../../api/client";
import type { OfferedScore } from "../../api/types";

export interface Shelf {
  scores: OfferedScore[];
  /** A score to begin with. */
  blank: string;
  /** Whether one that was written here can be played at once. */
  allowSent: boolean;
}

/** Those of the house come first. */
export async function shelf(): Promise<Shelf> {
  const { scores, blank, allowSent } = await take(api.GET("/v1/scores"));
  return { scores: [...scores].sort((one, other) => Number(other.isOwn) - Number(one.isOwn)), blank, allowSent };
}

export const EXAMPLE = { name: "council", message: "What is a home?" };

/** Begins the example with whomever its score is cast with, and says where it is watched. */
export async function beginExample(): Promise<string> {
  const { scores } = await shelf();
  const { name } = scores.find(({ name }) => name === EXAMPLE.name) ?? scores[0] ?? {};
  if (name === undefined) throw new Problem("There is no score here that could be played.", "UNAVAILABLE", 0);
  const params = { path: { name } };
  const { sessionId } = await take(api.POST("/v1/scores/{name}", { params, body: { message: EXAMPLE.message, settings: {}, score: undefined } }));
  return `/score/${sessionId}`;
}
