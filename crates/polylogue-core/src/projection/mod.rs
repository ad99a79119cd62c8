//! Views of a journal. Each is a pure function of it, computed when somebody looks.

mod captions;
mod chorus;
mod discussion;
mod fork;
mod insight;
mod memories;
mod outcome;
mod room;
mod scene;
mod text;
mod timeline;

pub use captions::{srt, vtt};
pub use chorus::{ChorusEvent, ChorusStream, Manifest, ManifestLine, NotAChorus, SlotError};
pub use discussion::{
    AgentRow, DiscussionChange, DiscussionEntry, DiscussionState, DiscussionStatus, LogRow, Metadata, ModelConfig,
    NotADiscussion, ParticipantRow, ProjectRow, discussion_changes, waits_for_person,
};
pub use fork::{CannotFork, fork};
pub use insight::{Insight, NoRequest, request_at, request_behind};
pub use memories::{memories, remembered};
pub use outcome::{AgentCosts, Costs, Outcome, OutcomeLine, Status};
pub use room::{Recent, RoomEvent, RoomEventKind, RoomRound, RoomSession, RoomStream};
pub use scene::{
    Beat, BeatCosts, BeatDynamics, Entry, MoodFigures, NotATranscript, PlayedScene, Relationship, SceneCosts,
    SceneError, SceneReport, SceneText, Silence, TranscriptProblem, debug_log, entry, grouped, read_transcript, titled,
};
pub use text::{markdown, plain_text};
pub use timeline::{Audible, FADE_MS, OVERLAP_MS, Placed, audible, timeline};
