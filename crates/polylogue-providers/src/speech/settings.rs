//! Which engines are used here, from what the caller knows of keys, servers and folders.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;

use super::{
    elevenlabs::ElevenLabs,
    engine::{Engine, EngineError, EngineName},
    espeak::Espeak,
    kokoro::{self, Kokoro},
    manner::Manner,
    openai::OpenAi,
    profiles::Profile,
    sound::Sound,
};
use crate::Secret;

/// What decides about engines.
#[derive(Clone, Debug, Default)]
pub struct SpeechSettings {
    /// The engine that somebody chose. Without a choice: ElevenLabs where there is a key for it, then Kokoro,
    /// then espeak-ng. OpenAI is only used when it is chosen, since its key is there for other reasons too.
    pub engine: Option<EngineName>,
    /// The user's cache folder.
    pub cache: PathBuf,
    pub elevenlabs: Account,
    pub openai: Account,
}

/// What is needed to use a vendor, or a server of its protocol.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub key: Option<Secret>,
    pub base_url: Option<String>,
    pub model: Option<String>,
}

/// An engine and whether it works here, for the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub engine: EngineName,
    /// What it is, or what to do to have it.
    pub state: Result<String, String>,
}

impl SpeechSettings {
    /// The engines in the order of use.
    pub fn engines(&self) -> Vec<Arc<dyn Engine>> {
        let order = match self.engine {
            None if self.elevenlabs.key.is_some() => {
                vec![EngineName::ElevenLabs, EngineName::Kokoro, EngineName::Espeak]
            }
            None | Some(EngineName::Kokoro) => vec![EngineName::Kokoro, EngineName::Espeak],
            Some(EngineName::Espeak) => vec![EngineName::Espeak],
            Some(remote) => vec![remote, EngineName::Kokoro, EngineName::Espeak],
        };
        order.into_iter().map(|name| self.engine(name)).collect()
    }

    fn engine(&self, name: EngineName) -> Arc<dyn Engine> {
        match name {
            EngineName::ElevenLabs => match self.elevenlabs.clone() {
                Account { key: Some(key), base_url, model } => Arc::new(ElevenLabs::new(key, base_url, model)),
                Account { key: None, .. } => Arc::new(Absent { name, what_to_do: "set ELEVENLABS_API_KEY" }),
            },
            EngineName::OpenAi => match self.openai.clone() {
                Account { key: None, base_url: None, .. } => {
                    Arc::new(Absent { name, what_to_do: "set OPENAI_API_KEY, or the address of a server" })
                }
                Account { key, base_url, model } => Arc::new(OpenAi::new(key, base_url, model)),
            },
            EngineName::Kokoro => Arc::new(Kokoro::new(&self.cache)),
            EngineName::Espeak => Arc::new(Espeak::default()),
        }
    }

    /// How every engine stands. It costs nothing: no vendor is called.
    pub async fn standings(&self) -> Vec<Standing> {
        let mut standings = Vec::new();
        for engine in EngineName::ALL {
            let state = match engine {
                EngineName::ElevenLabs if self.elevenlabs.key.is_some() => Ok("a key is set".to_owned()),
                EngineName::ElevenLabs => Err("set ELEVENLABS_API_KEY to use it".to_owned()),
                EngineName::OpenAi if self.openai.base_url.is_some() => Ok("a server is set".to_owned()),
                EngineName::OpenAi if self.openai.key.is_some() => Ok("a key is set".to_owned()),
                EngineName::OpenAi => Err("set OPENAI_API_KEY to use it".to_owned()),
                EngineName::Kokoro if kokoro::is_pulled(&self.cache) => Ok("model and voices are there".to_owned()),
                EngineName::Kokoro => Err("run `polylogue voices pull kokoro`".to_owned()),
                EngineName::Espeak if Espeak::default().is_there().await => Ok("installed".to_owned()),
                EngineName::Espeak => Err("install espeak-ng with the system's packages".to_owned()),
            };
            standings.push(Standing { engine, state });
        }
        standings
    }
}

/// An engine that was chosen and cannot be used.
struct Absent {
    name: EngineName,
    what_to_do: &'static str,
}

#[async_trait]
impl Engine for Absent {
    fn name(&self) -> EngineName {
        self.name
    }

    fn recipe(&self, _: &Profile, _: &Manner) -> serde_json::Value {
        serde_json::Value::Null
    }

    async fn say(&self, _: &str, _: &Profile, _: &Manner) -> Result<Sound, EngineError> {
        Err(EngineError::Unavailable(format!("{} has no account: {}", self.name, self.what_to_do)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_come_in_the_order_of_use() {
        let keyed = Account { key: Secret::new("k"), ..Account::default() };
        let cases = [
            (None, Account::default(), "kokoro espeak"),
            (None, keyed.clone(), "elevenlabs kokoro espeak"),
            (Some(EngineName::OpenAi), keyed.clone(), "openai kokoro espeak"),
            (Some(EngineName::Kokoro), keyed.clone(), "kokoro espeak"),
            (Some(EngineName::Espeak), keyed, "espeak"),
        ];
        for (engine, elevenlabs, expected) in cases {
            let settings = SpeechSettings { engine, elevenlabs, ..SpeechSettings::default() };
            let names: Vec<&str> = settings.engines().iter().map(|engine| engine.name().as_str()).collect();
            assert_eq!(names.join(" "), expected);
        }
    }
}
