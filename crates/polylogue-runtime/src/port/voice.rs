//! A speech engine: a line in, a clip on disk out.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{id::SessionId, line::Clip, money::Money, text::language::Language};

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

/// What is to be spoken: a line, or what a narrator reads.
#[derive(Clone, Debug)]
pub struct Speech {
    pub session: SessionId,
    pub text: Arc<str>,
    /// Whose words they are.
    pub by: Arc<str>,
    /// What tells it from everything else in the session that is spoken, as a part of a file's name: `line-0007`.
    pub mark: String,
    /// The voice profile of the line or else of its speaker, where one was chosen.
    pub profile: Option<Arc<str>>,
    /// The speaker's place in the cast, from 0. Without a profile, it decides the voice: two agents then differ.
    pub seat: usize,
    /// How it is said, in the format's own words ("frustrated").
    pub tone: Option<Arc<str>>,
    pub language: Language,
    /// Where the format wants the clip within the session's folder: folders, then the name without its ending.
    /// Each part may hold anything, an agent's name included; the engine that writes the file makes it safe. When
    /// empty, the clip is named after mark, speaker and voice.
    pub place: Vec<String>,
    pub budget: Budget,
}

/// What a clip may cost. An engine that bills asks before it begins.
#[derive(Clone, Default)]
pub struct Budget(Option<Arc<dyn Fn(Money) -> bool + Send + Sync>>);

impl Budget {
    /// Without one, every clip may be made.
    pub fn new(allows: impl Fn(Money) -> bool + Send + Sync + 'static) -> Budget {
        Budget(Some(Arc::new(allows)))
    }

    pub fn allows(&self, cost: Money) -> bool {
        self.0.as_ref().is_none_or(|allows| allows(cost))
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Budget").field(&self.0.is_some()).finish()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoiceError {
    #[error("no speech engine can be used here: {0}")]
    Unavailable(String),
    #[error("the line could not be spoken: {0}")]
    Failed(String),
    #[error("the line is not spoken: that could pass the limit in dollars (max_usd); the text goes on")]
    OverBudget,
}
