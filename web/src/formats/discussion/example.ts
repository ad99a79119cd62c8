// The example: what the house would discuss, and with whom.
import { Problem } from "../../api/client";
import { examples } from "../../api/examples";
import { begin, type Discussion } from "./seats";

export async function beginExample(): Promise<string> {
  const { discussion } = await examples<{ discussion: Discussion }>();
  if (!discussion) throw new Problem("There is nobody here to discuss with: see below what would add somebody.", "UNAVAILABLE", 0);
  return begin(discussion);
}
