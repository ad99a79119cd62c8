//! ElevenLabs: raw samples over HTTP.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    engine::{Billing, Engine, EngineError, EngineName},
    manner::Manner,
    profiles::Profile,
    remote::Remote,
    sound::Sound,
    split,
};
use crate::{Secret, http::is_private};

const BASE_URL: &str = "https://api.elevenlabs.io";
const MODEL: &str = "eleven_multilingual_v2";
const RATE: u32 = 24_000;
/// Below what every model of the vendor takes at once.
const PIECE_BYTES: usize = 4_000;

#[derive(Clone, Debug)]
pub struct ElevenLabs {
    remote: Remote,
    base_url: String,
    model: String,
}

impl ElevenLabs {
    pub fn new(key: Secret, base_url: Option<String>, model: Option<String>) -> ElevenLabs {
        let base_url = base_url.unwrap_or_else(|| BASE_URL.to_owned());
        ElevenLabs {
            remote: Remote::new(EngineName::ElevenLabs, Some(key)),
            base_url: base_url.trim_end_matches('/').to_owned(),
            model: model.unwrap_or_else(|| MODEL.to_owned()),
        }
    }

    /// The body of a request, but for the words.
    fn settings(&self, profile: &Profile, manner: &Manner) -> Value {
        let voice = &profile.elevenlabs;
        let round = |value: f32, low: f32, high: f32| f64::from((value.clamp(low, high) * 100.0).round()) / 100.0;
        json!({
            "model_id": voice.model.as_ref().unwrap_or(&self.model),
            "voice_settings": {
                "stability": round(voice.stability + manner.stability(), 0.0, 1.0),
                "similarity_boost": round(voice.similarity_boost, 0.0, 1.0),
                "style": round(voice.style + manner.style(), 0.0, 1.0),
                "use_speaker_boost": true,
                "speed": round(voice.speed * manner.speed(), 0.7, 1.2),
            },
        })
    }
}

#[async_trait]
impl Engine for ElevenLabs {
    fn name(&self) -> EngineName {
        EngineName::ElevenLabs
    }

    fn recipe(&self, profile: &Profile, manner: &Manner) -> Value {
        json!({ "voice": profile.elevenlabs.voice, "settings": self.settings(profile, manner) })
    }

    fn billing(&self, profile: &Profile) -> Option<Billing> {
        Some(Billing {
            engine: self.name().as_str(),
            model: profile.elevenlabs.model.as_ref().unwrap_or(&self.model).to_string(),
            is_private: is_private(&self.base_url),
        })
    }

    async fn say(&self, words: &str, profile: &Profile, manner: &Manner) -> Result<Sound, EngineError> {
        // A voice's id is part of the address: only what ids are made of is let through.
        let voice: String =
            profile.elevenlabs.voice.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        let address = format!("{}/v1/text-to-speech/{voice}?output_format=pcm_{RATE}", self.base_url);
        let mut parts = Vec::new();
        for piece in split::pieces(words, PIECE_BYTES) {
            let mut body = self.settings(profile, manner);
            body["text"] = piece.text.into();
            let request = |client: &reqwest::Client| {
                client.post(&address).header("xi-api-key", self.remote.key().unwrap_or("")).json(&body)
            };
            let read = |audio: &super::remote::Audio| match audio.bytes.len() % 2 {
                0 => Ok(Sound::from_s16le(RATE, &audio.bytes)),
                _ => Err("it is cut off".to_owned()),
            };
            parts.push((self.remote.ask(request, read).await?, piece.pause_ms));
        }
        Ok(Sound::joined(RATE, parts))
    }
}
