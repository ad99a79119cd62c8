// Begins a chorus. The answer is a stream of what follows; the page only needs to know which session that is, and
// listens to its journal then. Closing the stream does not stop the work.
import { told, unreachable } from "../../api/client";
import { examples } from "../../api/examples";
import { parser } from "../../api/stream";

/** Somebody for a slot, as a person chooses. */
export interface Seat {
  slotId: number;
  /** Nobody, where it is empty. */
  agentId: string;
  persona: string;
  /** Its own choice, where it is empty. */
  voice: string;
}

export const EXAMPLE = "What is a home, when the people you built it for have gone?";

/** What the house would begin: its example, and who it seats where it says so. */
export interface House {
  message: string;
  slots: { slotId: number; agentId: string }[];
}

export async function house(): Promise<House> {
  const { chorus } = await examples<{ chorus?: Partial<House> }>();
  return { message: chorus?.message ?? EXAMPLE, slots: chorus?.slots ?? [] };
}

/** Begins one, and says its id. Without seats, the house seats its own. */
export async function start(message: string, seats?: Seat[]): Promise<string> {
  const slots = seats
    ?.filter(({ agentId }) => agentId !== "")
    .map(({ slotId, agentId, persona, voice }) => ({
      slotId,
      agentId,
      ...(persona.trim() ? { persona: persona.trim() } : {}),
      ...(voice ? { voice } : {}),
    }));
  let response: Response;
  try {
    response = await fetch("/v1/chat", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ message, slots }),
    });
  } catch {
    throw unreachable();
  }
  if (!response.ok) throw told(await response.json().catch(() => undefined), response.status);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const parse = parser();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw unreachable();
    });
    if (done) throw unreachable();
    for (const frame of parse(value)) {
      const { sessionId } = JSON.parse(frame.data) as { sessionId?: string };
      if (sessionId === undefined) continue;
      void reader.cancel().catch(() => undefined);
      return sessionId;
    }
  }
}
