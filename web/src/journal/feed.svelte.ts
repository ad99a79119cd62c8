// A session as it goes on: its journal from the first event, and text as it is written.
import type { Problem } from "../api/client";
import { type Connection, type Frame, listen } from "../api/stream";
import type { AskId, Entry } from "../api/types";
import { askKey, type Story, tell } from "./story";

/** Text that is still arriving, or what its ask waits for. */
export interface Live {
  agent: string;
  text: string;
  waiting: string | null;
}

interface Delta {
  ask: AskId;
  agent: string;
  text: string;
  restart?: boolean;
}

interface Waiting {
  ask: AskId;
  agent: string;
  what: string | null;
}

export class Feed {
  /** What has happened; nothing while it is being loaded. */
  story = $state.raw<Story>();
  /** What is being written, by the key of its ask. */
  live = $state.raw<Record<string, Live>>({});
  connection = $state<Connection>("connecting");
  problem = $state.raw<Problem>();
  /** Every event so far: what a replay goes through. */
  readonly entries: Entry[] = [];

  #stop: AbortController | undefined;

  constructor(readonly id: string) {}

  /** Listens until the session has ended, or {@link close}. */
  open(): void {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    this.problem = undefined;
    void listen(
      {
        address: () => `/v1/sessions/${this.id}/events?live=true&from=${this.entries.length}`,
        frames: (frames) => this.#take(frames),
        connection: (connection) => (this.connection = connection),
        refused: (problem) => (this.problem = problem),
        isOver: () => this.story?.ended !== undefined,
      },
      stop.signal,
    );
  }

  close(): void {
    this.#stop?.abort();
  }

  #take(frames: Frame[]): void {
    const fresh: Entry[] = [];
    let live: Record<string, Live> | undefined;
    const edit = () => (live ??= { ...this.live });
    for (const frame of frames) {
      if (frame.event === "delta") {
        const { ask, agent, text, restart } = JSON.parse(frame.data) as Delta;
        const key = askKey(ask);
        const before = restart ? "" : (edit()[key]?.text ?? "");
        edit()[key] = { agent, text: before + text, waiting: null };
      } else if (frame.event === "waiting") {
        const { ask, agent, what } = JSON.parse(frame.data) as Waiting;
        const key = askKey(ask);
        edit()[key] = { agent, text: edit()[key]?.text ?? "", waiting: what };
      } else {
        const entry = JSON.parse(frame.data) as Entry;
        if (entry.seq !== this.entries.length + fresh.length + 1) continue;
        fresh.push(entry);
        if (entry.type === "answered" || entry.type === "ask_failed" || entry.type === "ask_cut") {
          delete edit()[askKey(entry.ask)];
        } else if (entry.type === "ended" || entry.type === "resumed") {
          live = {};
        }
      }
    }
    if (fresh.length > 0) {
      // Not spread into the call: a journal can be longer than a call has arguments.
      for (const entry of fresh) this.entries.push(entry);
      this.story = tell(fresh, this.story);
    }
    if (live) this.live = live;
  }
}
