// The server's types by the names that the page uses. They are made of the API's own description.
import type { components } from "./schema";

type Schemas = components["schemas"];

/** One event of a journal, with its place and time. */
export type Entry = Schemas["Record"];
export type AskId = Schemas["AskId"];
export type Usage = Schemas["Usage"];
export type Price = Schemas["Price"];
export type Clip = Schemas["Clip"];
export type Setup = Schemas["Setup"];
export type Agent = Schemas["Agent"];
export type Change = Schemas["Change"];
export type Behind = Schemas["Behind"];
export type Model = Schemas["ModelInfo"];
export type Outcome = Schemas["Outcome"];
export type Listed = Schemas["ListedSession"];
/** What thinks or speaks here, or what would have to be done about it. */
export type Standing = Schemas["Standing"];
export type RoomEvent = Schemas["RoomEvent"];
/** A session that runs in a room. */
export type RoomSession = Schemas["RoomSession"];
/** Words of a room as they are written, and what somebody who is asked waits for. */
export type RoomDelta = Schemas["RoomDelta"];
export type RoomWaiting = Schemas["RoomWaiting"];
/** A format in words, and its parts. */
export type Score = Schemas["Score"];
export type ScoreRole = Schemas["ScoreRole"];
export type ScorePhase = Schemas["ScorePhase"];
export type ScoreTurn = Schemas["ScoreTurn"];
export type ScoreRepeat = Schemas["ScoreRepeat"];
export type ScoreWho = Schemas["ScoreWho"];
export type ScoreForm = Schemas["ScoreForm"];
export type ScoreSetup = Schemas["ScoreSetup"];
export type OfferedScore = Schemas["OfferedScore"];
/** What a score is worth: what is wrong with it, or the most that it can come to. */
export type CheckedScore = Schemas["CheckedScore"];
export type ScoreProblem = Schemas["ScoreProblem"];
