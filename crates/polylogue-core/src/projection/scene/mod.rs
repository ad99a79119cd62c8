//! The scene as people and later programs read it: the transcript of seed 001, written and read back.

mod read;
mod transcript;

pub use read::{NotATranscript, TranscriptProblem, read_transcript};
pub use transcript::{Entry, SceneText};
