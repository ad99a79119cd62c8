// A room as it goes on: what is heard in it, what is being written, and which sessions run.
import { api, problemOf, take, type Problem } from "../../api/client";
import { type Connection, type Frame, listen } from "../../api/stream";
import type { Listed, RoomDelta, RoomEvent, RoomSession, RoomWaiting } from "../../api/types";
import { askKey } from "../../journal/story";
import { type Called, hear, type Heard, NOTHING_HEARD } from "./heard";

interface Live {
  session: string;
  call: string;
  agent: string;
  key: string;
  text: string;
  waiting: string | null;
}

/** Somebody who is being asked, with what has arrived so far. */
export interface Writing extends Called {
  text: string;
  waiting: string | null;
}

/** So much is shown at first; the rest when somebody wants it. */
const FIRST_SHOWN = 300;

export class Room {
  heard = $state.raw<Heard>(NOTHING_HEARD);
  connection = $state<Connection>("connecting");
  problem = $state.raw<Problem>();
  /** What runs, and who can be spoken to; nothing until it is known. */
  running = $state.raw<RoomSession[]>();
  agents = $state.raw<string[]>([]);
  /** The sessions of the house that are over, by id: how each ended. */
  listed = $state.raw<Map<string, Listed>>(new Map());
  /** Whether more was said before what is shown. */
  hasEarlier = $state(false);
  #live = $state.raw<Map<string, Live>>(new Map());
  #stop: AbortController | undefined;
  #isAll = false;
  #asking = false;
  #askAgain = false;

  constructor(readonly name: string) {}

  open(): void {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    this.problem = undefined;
    const path = `/v1/rooms/${encodeURIComponent(this.name)}/events?live=true`;
    void listen(
      {
        address: (after) => (after ? `${path}&from=${after}` : this.#isAll ? path : `${path}&history=${FIRST_SHOWN}`),
        frames: (frames) => this.#take(frames),
        connection: (connection) => this.#connected(connection),
        refused: (problem) => (this.problem = problem),
        isOver: () => false,
      },
      stop.signal,
    );
    void this.look();
  }

  close(): void {
    this.#stop?.abort();
  }

  /** Everything from the first word. */
  showEarlier(): void {
    this.#isAll = true;
    this.hasEarlier = false;
    this.heard = NOTHING_HEARD;
    this.open();
  }

  /** Those who are asked now, in the order in which they were called. */
  get writing(): Writing[] {
    const live = [...this.#live.values()];
    return this.heard.called.flatMap((called) => {
      const session = this.running?.find((one) => isOf(called, one));
      if (!session) return [];
      const words = live.find((one) => one.session === session.sessionId && one.agent === called.agent);
      return [{ ...called, session: session.sessionId, text: words?.text ?? "", waiting: words?.waiting ?? null }];
    });
  }

  /**
   * The hues of those who speak here, by name. They follow the casts of the room's sessions, the first one first, so
   * that somebody has the same hue here and where the session is replayed.
   */
  get hues(): Map<string, number> {
    const ofRoom = [...this.listed.values()].reverse();
    const casts = [...ofRoom.map(({ agents }) => agents), ...(this.running ?? []).map(({ participants }) => participants)];
    const names = new Set([...casts.flat(), ...this.heard.agents].filter((name) => name !== PERSON));
    return new Map([...names].map((name, at) => [name, HUES[at % 6]!]));
  }

  #connected(connection: Connection): void {
    this.connection = connection;
    // What was being written arrives anew.
    if (connection === "reconnecting") this.#live = new Map();
    if (connection === "open") void this.look();
  }

  #take(frames: Frame[]): void {
    const fresh: { id: string; event: RoomEvent }[] = [];
    let live: Map<string, Live> | undefined;
    for (const frame of frames) {
      if (frame.event === "delta" || frame.event === "waiting") {
        live = liven(live ?? new Map(this.#live), JSON.parse(frame.data) as RoomDelta | RoomWaiting);
      } else if (frame.id !== undefined) {
        const event = JSON.parse(frame.data) as RoomEvent;
        fresh.push({ id: frame.id, event });
        if (event.type !== "agent_response") continue;
        live ??= new Map(this.#live);
        for (const [key, one] of live) {
          if (one.call === event.call_id && (one.agent === event.sender || event.sender === "router")) live.delete(key);
        }
      }
    }
    if (live) this.#live = live;
    if (fresh.length === 0) return;
    if (this.heard === NOTHING_HEARD) this.hasEarlier = !this.#isAll && fresh.length >= FIRST_SHOWN;
    this.heard = hear(this.heard, fresh);
    void this.look();
  }

  /** Asks what runs. What is asked for meanwhile is asked once more afterwards. */
  async look(): Promise<void> {
    if (this.#asking) {
      this.#askAgain = true;
      return;
    }
    this.#asking = true;
    try {
      do {
        this.#askAgain = false;
        await this.#look();
      } while (this.#askAgain && !this.#stop?.signal.aborted);
    } catch (thrown) {
      const problem = problemOf(thrown);
      // A server that is gone for a moment is said by the stream.
      if (problem.status !== 0 && problem.status < 500) this.problem = problem;
    } finally {
      this.#asking = false;
    }
  }

  async #look(): Promise<void> {
    const before = new Set(this.running?.map((one) => one.sessionId));
    const isFirst = this.running === undefined;
    const room = await take(api.GET("/v1/rooms/{room}", { params: { path: { room: this.name } } }));
    this.agents = room.agents;
    const running = room.sessions;
    const ids = new Set(running.map((one) => one.sessionId));
    if (isFirst || [...before].some((id) => !ids.has(id)) || [...this.heard.talks.keys()].some((id) => !ids.has(id) && !this.listed.has(id))) {
      const query = { room: this.name, limit: 1000 };
      const { sessions } = await take(api.GET("/v1/sessions", { params: { query } }));
      this.listed = new Map(sessions.map((one: Listed) => [one.sessionId, one]));
    }
    this.running = running;
  }
}

/** What a room calls whoever speaks to the agents. */
const PERSON = "you";

/** The first two get hues far apart. */
const HUES = [2, 5, 3, 1, 4, 6];

function isOf(called: Called, running: RoomSession): boolean {
  if (called.session !== undefined) return called.session === running.sessionId;
  return called.call === running.callId && running.speaker === called.agent;
}

function liven(live: Map<string, Live>, frame: RoomDelta | RoomWaiting): Map<string, Live> {
  const { ask, agent, session_id: session, call_id: call } = frame;
  const at = `${session}/${agent}`;
  const key = askKey(ask);
  const known = live.get(at)?.key === key ? live.get(at) : undefined;
  if (!("text" in frame)) return live.set(at, { session, call, agent, key, text: known?.text ?? "", waiting: frame.what ?? null });
  const before = frame.restart ? "" : (known?.text ?? "");
  return live.set(at, { session, call, agent, key, text: before + frame.text, waiting: null });
}
