// Event streams that go on: over a lost connection, a reload of the server, a machine that slept.
import { Problem, told } from "./client";

export interface Frame {
  id: string | undefined;
  /** The event's name; `message` where it has none. */
  event: string;
  data: string;
}

export type Connection = "connecting" | "open" | "reconnecting" | "closed";

export interface Listening {
  /** Where to listen, after the event with this id. */
  address: (after: string | undefined) => string;
  /** Everything that arrived together. */
  frames: (frames: Frame[]) => void;
  connection: (connection: Connection) => void;
  /** The server refuses, for good. */
  refused: (problem: Problem) => void;
  /** Whether a stream that the server ended has told all that there is. */
  isOver: () => boolean;
}

/** How long is waited before another try: at first nearly nothing, at most four seconds. */
const FIRST_WAIT = 150;
const LONGEST_WAIT = 4_000;
/** The server says that it is there every fifteen seconds at the latest; after this, nobody is. */
const SILENCE = 45_000;

/** Listens until everything was told or `signal` says to stop. */
export async function listen(to: Listening, signal: AbortSignal): Promise<void> {
  let last: string | undefined;
  let wait = FIRST_WAIT;
  to.connection("connecting");
  while (!signal.aborted) {
    const isThrough = await once().catch((thrown: unknown) => {
      if (thrown instanceof Problem) {
        to.refused(thrown);
        return true;
      }
      return false;
    });
    if (signal.aborted) return;
    if (isThrough) {
      to.connection("closed");
      return;
    }
    to.connection("reconnecting");
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }

  async function once(): Promise<boolean> {
    const attempt = new AbortController();
    const give = () => attempt.abort();
    signal.addEventListener("abort", give);
    let watchdog = setTimeout(give, SILENCE);
    try {
      const response = await fetch(to.address(last), {
        headers: { accept: "text/event-stream" },
        signal: attempt.signal,
        cache: "no-store",
      });
      if (!response.ok) {
        const body: unknown = await response.json().catch(() => undefined);
        // A server that is only just starting, or whose store is busy, is asked again.
        if (response.status >= 500 || response.status === 429) return false;
        throw told(body, response.status);
      }
      if (!response.body) return false;
      to.connection("open");
      wait = FIRST_WAIT;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parse = parser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return to.isOver();
        clearTimeout(watchdog);
        watchdog = setTimeout(give, SILENCE);
        const frames = parse(value);
        if (frames.length === 0) continue;
        last = frames.findLast((frame) => frame.id !== undefined)?.id ?? last;
        to.frames(frames);
      }
    } finally {
      clearTimeout(watchdog);
      signal.removeEventListener("abort", give);
      attempt.abort();
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms * (0.75 + Math.random() / 2));
    window.addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}

/** An empty line ends a frame. */
const END = /\r?\n\r?\n/g;

/** Cuts what arrives into frames; what is not whole yet waits for the rest. */
export function parser(): (chunk: string) => Frame[] {
  let rest = "";
  return (chunk) => {
    // What was looked through before has no end, except that one may have begun with its last letters.
    END.lastIndex = Math.max(rest.length - 3, 0);
    rest += chunk;
    const frames: Frame[] = [];
    let begin = 0;
    for (let end = END.exec(rest); end; end = END.exec(rest)) {
      const frame = frameOf(rest.slice(begin, end.index));
      if (frame) frames.push(frame);
      begin = END.lastIndex;
    }
    rest = rest.slice(begin);
    return frames;
  };
}

function frameOf(block: string): Frame | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    if (at < 1) continue;
    const value = line.slice(line.charAt(at + 1) === " " ? at + 2 : at + 1);
    switch (line.slice(0, at)) {
      case "id":
        id = value;
        break;
      case "event":
        event = value;
        break;
      case "data":
        data.push(value);
        break;
    }
  }
  return data.length > 0 ? { id, event, data: data.join("\n") } : undefined;
}
