//! A speech engine: a line in, a clip on disk out.

use async_trait::async_trait;
use polylogue_core::{
    id::{LineId, SessionId},
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
    pub profile: Option<std::sync::Arc<str>>,
    /// Where the format wants the clip within the session's folder: folders, then the name without its ending.
    /// When empty, the clip is named after line and speaker.
    pub place: Vec<String>,
}

impl Speech {
    pub fn line_id(&self) -> LineId {
        self.line.id
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoiceError {
    #[error("no speech engine can be used here: {0}")]
    Unavailable(String),
    #[error("the line could not be spoken: {0}")]
    Failed(String),
}
