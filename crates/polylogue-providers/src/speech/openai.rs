//! OpenAI speech, and every server that speaks its protocol.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    engine::{Billing, Engine, EngineError, EngineName},
    manner::Manner,
    profiles::Profile,
    remote::{Audio, Remote},
    sound::Sound,
    split, wav,
};
use crate::{Secret, http::is_private};

const BASE_URL: &str = "https://api.openai.com/v1";
const MODEL: &str = "gpt-4o-mini-tts";
/// What raw samples have, where a server sends such.
const RAW_RATE: u32 = 24_000;
/// The vendor takes 4,096 characters at once.
const PIECE_BYTES: usize = 4_000;

#[derive(Clone, Debug)]
pub struct OpenAi {
    remote: Remote,
    base_url: String,
    model: String,
}

impl OpenAi {
    /// A server of one's own may need no key.
    pub fn new(key: Option<Secret>, base_url: Option<String>, model: Option<String>) -> OpenAi {
        let base_url = base_url.unwrap_or_else(|| BASE_URL.to_owned());
        OpenAi {
            remote: Remote::new(EngineName::OpenAi, key),
            base_url: base_url.trim_end_matches('/').to_owned(),
            model: model.unwrap_or_else(|| MODEL.to_owned()),
        }
    }

    /// The body of a request, but for the words.
    fn settings(&self, profile: &Profile, manner: &Manner) -> Value {
        let voice = &profile.openai;
        let model = voice.model.as_ref().unwrap_or(&self.model);
        let mut body = json!({ "model": model, "voice": voice.voice, "response_format": "wav" });
        // The models that take directions in words take no speed, and the other way round.
        if model.contains("gpt") {
            let tone = manner.tone.as_ref().map(|tone| format!("Tone: {tone}."));
            let directions: Vec<String> = voice.instructions.clone().into_iter().chain(tone).collect();
            if !directions.is_empty() {
                body["instructions"] = directions.join(" ").into();
            }
        } else {
            let speed = (voice.speed * manner.speed()).clamp(0.25, 4.0);
            body["speed"] = (f64::from((speed * 100.0).round()) / 100.0).into();
        }
        body
    }
}

#[async_trait]
impl Engine for OpenAi {
    fn name(&self) -> EngineName {
        EngineName::OpenAi
    }

    fn recipe(&self, profile: &Profile, manner: &Manner) -> Value {
        json!({ "server": self.base_url, "settings": self.settings(profile, manner) })
    }

    fn billing(&self, profile: &Profile) -> Option<Billing> {
        Some(Billing {
            engine: self.name().as_str(),
            model: profile.openai.model.as_ref().unwrap_or(&self.model).to_string(),
            is_private: is_private(&self.base_url),
        })
    }

    async fn say(&self, words: &str, profile: &Profile, manner: &Manner) -> Result<Sound, EngineError> {
        let address = format!("{}/audio/speech", self.base_url);
        let mut parts: Vec<(Sound, u64)> = Vec::new();
        for piece in split::pieces(words, PIECE_BYTES) {
            let mut body = self.settings(profile, manner);
            body["input"] = piece.text.into();
            let request = |client: &reqwest::Client| {
                let request = client.post(&address).json(&body);
                match self.remote.key() {
                    Some(key) => request.bearer_auth(key),
                    None => request,
                }
            };
            parts.push((self.remote.ask(request, read).await?, piece.pause_ms));
        }
        let rate = parts.first().map_or(RAW_RATE, |(sound, _)| sound.rate);
        Ok(Sound::joined(rate, parts))
    }
}

/// A WAV, whatever the server calls it; else raw samples, where it says so.
fn read(audio: &Audio) -> Result<Sound, String> {
    let is_raw = audio.kind.contains("pcm") || audio.kind.contains("l16");
    if is_raw && !audio.bytes.starts_with(b"RIFF") {
        return match audio.bytes.len() % 2 {
            0 => Ok(Sound::from_s16le(RAW_RATE, &audio.bytes)),
            _ => Err("it is cut off".to_owned()),
        };
    }
    wav::parse(&audio.bytes).map_err(|error| error.to_string())
}
