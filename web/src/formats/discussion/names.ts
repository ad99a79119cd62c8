// How those who take part are called on the page.
import { nameIn, type Participant } from "./fold";

/** A place that anybody may take is the reader's. */
export function called(participant: Participant): string {
  const name = nameIn(participant);
  if (participant.agent === undefined && (name === "user" || name === "you")) return "You";
  return name;
}
