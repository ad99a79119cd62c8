//! A speech engine: a line in, a clip on disk out.

use std::sync::Arc;

use async_trait::async_trait;
use polylogue_core::{
    id::SessionId,
    line::{Clip, Line},
};

#[async_trait]
pub trait Voice: Send + Sync {
    /// Makes the clip of a line. Dropping the future ends the work.
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError>;
}

/// No speech at all: every line stays text.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoVoice;

#[async_trait]
impl Voice for NoVoice {
    async fn speak(&self, _: &Speech) -> Result<Clip, VoiceError> {
        Err(VoiceError::Unavailable("none is set up".to_owned()))
    }
}

/// A line to be spoken.
#[derive(Clone, Debug)]
pub struct Speech {
    pub session: SessionId,
    pub line: Line,
    /// The voice profile of the line or else of its speaker, where one was chosen.
    pub profile: Option<Arc<str>>,
    /// The speaker's place in the cast, from 0. Without a profile, it decides the voice: two agents then differ.
    pub seat: usize,
    /// How it is said, in the format's own words ("frustrated").
    pub tone: Option<Arc<str>>,
    /// Where the format wants the clip within the session's folder: folders, then the name without its ending.
    /// Each part may hold anything, an agent's name included; the engine that writes the file makes it safe. When
    /// empty, the clip is named after line, speaker and voice.
    pub place: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoiceError {
    #[error("no speech engine can be used here: {0}")]
    Unavailable(String),
    #[error("the line could not be spoken: {0}")]
    Failed(String),
}
