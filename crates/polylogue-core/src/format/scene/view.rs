//! The scene as people and later programs read it: the transcript, written and read back; how it went,
//! beat by beat and in figures; and everything that happened, for people who wonder why.

mod debug;
mod markdown;
mod played;
mod read;
mod report;
mod text;
mod transcript;

pub use debug::debug_log;
pub use played::{Beat, PlayedScene, Silence};
pub use read::{NotATranscript, TranscriptProblem, read_transcript};
pub use report::{BeatCosts, BeatDynamics, MoodFigures, Relationship, SceneCosts, SceneError, SceneReport};
pub use text::entry;
pub use transcript::{Entry, SceneText, titled};
