//! What a speech engine is: words and a voice in, sound out.

use std::{fmt, str::FromStr, time::Duration};

use async_trait::async_trait;
use polylogue_core::text::language::Language;
use serde::{Deserialize, Serialize};

use super::{manner::Manner, profiles::Profile, sound::Sound};

#[async_trait]
pub trait Engine: Send + Sync {
    fn name(&self) -> EngineName;

    /// Whether it can speak a language.
    fn speaks(&self, _language: Language) -> bool {
        true
    }

    /// Everything that decides how words will sound, for the cache: the same recipe and words, the same clip.
    fn recipe(&self, profile: &Profile, manner: &Manner) -> serde_json::Value;

    /// As what it bills for a voice, if it bills at all.
    fn billing(&self, _profile: &Profile) -> Option<Billing> {
        None
    }

    /// Speaks words that hold no markup. Dropping the future ends the work.
    async fn say(&self, words: &str, profile: &Profile, manner: &Manner) -> Result<Sound, EngineError>;
}

/// What a price of speech is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Billing {
    pub engine: &'static str,
    pub model: String,
    /// Whether the server is on this machine or in a private network.
    pub is_private: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    ElevenLabs,
    OpenAi,
    Kokoro,
    Espeak,
}

impl EngineName {
    pub const ALL: [EngineName; 4] =
        [EngineName::ElevenLabs, EngineName::OpenAi, EngineName::Kokoro, EngineName::Espeak];

    pub fn as_str(self) -> &'static str {
        match self {
            EngineName::ElevenLabs => "elevenlabs",
            EngineName::OpenAi => "openai",
            EngineName::Kokoro => "kokoro",
            EngineName::Espeak => "espeak",
        }
    }

    /// How it is called where people read it.
    pub(super) fn title(self) -> &'static str {
        match self {
            EngineName::ElevenLabs => "ElevenLabs",
            EngineName::OpenAi => "OpenAI",
            EngineName::Kokoro => "Kokoro",
            EngineName::Espeak => "espeak-ng",
        }
    }

    /// How many clips it makes at once. A local engine is held back by the machine, a remote one by its vendor.
    pub(super) fn places(self) -> usize {
        match self {
            EngineName::ElevenLabs => 3,
            EngineName::OpenAi => 6,
            // One run already uses the cores.
            EngineName::Kokoro => 1,
            EngineName::Espeak => 2,
        }
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EngineName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = EngineName::ALL.into_iter().find(|engine| engine.as_str().eq_ignore_ascii_case(text));
        known.ok_or_else(|| format!("there is no speech engine `{text}`: choose elevenlabs, openai, kokoro or espeak"))
    }
}

/// Why words did not become sound. The texts are for people: no key, no address, no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("{0}")]
    Unavailable(String),
    #[error("{engine} does not accept the key: {message}")]
    Unauthorized { engine: EngineName, message: String },
    #[error("{engine} limits the rate of requests: {message}")]
    RateLimited { engine: EngineName, retry_after: Option<Duration>, message: String },
    #[error("{engine} is overloaded or broken ({status}): {message}")]
    Overloaded { engine: EngineName, status: u16, retry_after: Option<Duration>, message: String },
    #[error("{engine} rejects the request ({status}): {message}")]
    Rejected { engine: EngineName, status: u16, message: String },
    #[error("the connection to {engine} failed: {message}")]
    Network { engine: EngineName, message: String },
    #[error("what {engine} sent is no speech: {message}")]
    NoSpeech { engine: EngineName, message: String },
    #[error("{engine} failed: {message}")]
    Failed { engine: EngineName, message: String },
}

impl EngineError {
    /// Whether the same request may well succeed a moment later.
    pub fn is_passing(&self) -> bool {
        match self {
            EngineError::RateLimited { .. } | EngineError::Overloaded { .. } | EngineError::Network { .. } => true,
            EngineError::Unavailable(_)
            | EngineError::NoSpeech { .. }
            | EngineError::Unauthorized { .. }
            | EngineError::Rejected { .. }
            | EngineError::Failed { .. } => false,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            EngineError::RateLimited { retry_after, .. } | EngineError::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
