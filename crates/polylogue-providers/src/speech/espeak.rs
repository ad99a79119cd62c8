//! espeak-ng: a program of the system's packages. Instant, tiny and robotic; it is run, never linked.

mod kana;

use std::{io, path::PathBuf, process::Stdio, time::Duration};

use async_trait::async_trait;
use polylogue_core::text::language::Language;
use serde_json::json;
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use super::{
    engine::{Engine, EngineError, EngineName},
    manner::Manner,
    profiles::Profile,
    sound::Sound,
    wav,
};

const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The engine, by the program's name or path.
#[derive(Clone, Debug)]
pub struct Espeak {
    program: PathBuf,
}

impl Default for Espeak {
    fn default() -> Self {
        Espeak { program: PathBuf::from("espeak-ng") }
    }
}

impl Espeak {
    pub fn new(program: impl Into<PathBuf>) -> Espeak {
        Espeak { program: program.into() }
    }

    /// Whether the program is there and runs.
    pub async fn is_there(&self) -> bool {
        let mut command = Command::new(&self.program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        command.status().await.is_ok_and(|status| status.success())
    }

    fn settings(profile: &Profile, manner: &Manner) -> (String, u32, u32) {
        let voice = &profile.espeak;
        let spoken = in_language(&voice.voice, manner.language);
        let pitch = (voice.pitch.min(99) as i32 + manner.pitch()).clamp(0, 99) as u32;
        let rate = (voice.rate as f32 * manner.speed()).clamp(80.0, 450.0) as u32;
        (spoken, pitch, rate)
    }
}

#[async_trait]
impl Engine for Espeak {
    fn name(&self) -> EngineName {
        EngineName::Espeak
    }

    fn speaks(&self, language: Language) -> bool {
        voice_of(language).is_some()
    }

    fn recipe(&self, profile: &Profile, manner: &Manner) -> serde_json::Value {
        let (voice, pitch, rate) = Self::settings(profile, manner);
        json!({ "voice": voice, "pitch": pitch, "rate": rate })
    }

    async fn say(&self, words: &str, profile: &Profile, manner: &Manner) -> Result<Sound, EngineError> {
        let (voice, pitch, rate) = Self::settings(profile, manner);
        let words = match manner.language.code() {
            "ja" => kana::of(words).await?,
            _ => words.to_owned(),
        };
        let mut command = Command::new(&self.program);
        command.args(["--stdin", "--stdout", "-b", "1", "-v", &voice]);
        command.args(["-p", &pitch.to_string(), "-s", &rate.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                EngineError::Unavailable("espeak-ng is not installed: install it with the system's packages".to_owned())
            }
            _ => failed(error),
        })?;
        let mut stdin = child.stdin.take().ok_or_else(|| failed("it takes no words"))?;
        let say = async move {
            // It reads while it writes: both have to go on at once, and its input must end.
            let write = async move {
                stdin.write_all(words.as_bytes()).await?;
                stdin.shutdown().await
            };
            let (written, output) = tokio::join!(write, child.wait_with_output());
            output.map(|output| (written, output))
        };
        let (written, output) =
            timeout(TIME_LIMIT, say).await.map_err(|_| failed("it took too long"))?.map_err(failed)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(
                said.lines().next().unwrap_or("it did not say why").chars().take(200).collect::<String>(),
            ));
        }
        written.map_err(failed)?;
        let sound = wav::parse(&output.stdout).map_err(failed)?.trimmed();
        match sound.peak() {
            0.0 => Err(EngineError::NoSpeech { engine: EngineName::Espeak, message: "it was silent".to_owned() }),
            _ => Ok(sound),
        }
    }
}

/// What the program calls a language. What it only spells, or reads as another one, is not in the list.
const LANGUAGES: [(&str, &str); 24] = [
    ("en", "en-us"),
    ("de", "de"),
    ("fr", "fr-fr"),
    ("es", "es"),
    ("it", "it"),
    ("pt", "pt-br"),
    ("nl", "nl"),
    ("sv", "sv"),
    ("da", "da"),
    ("nb", "nb"),
    ("fi", "fi"),
    ("pl", "pl"),
    ("cs", "cs"),
    ("hu", "hu"),
    ("ro", "ro"),
    ("tr", "tr"),
    ("ja", "ja"),
    ("ko", "ko"),
    ("ru", "ru"),
    ("uk", "uk"),
    ("el", "el"),
    ("ar", "ar"),
    ("he", "he"),
    ("hi", "hi"),
];

fn voice_of(language: Language) -> Option<&'static str> {
    LANGUAGES.iter().find(|(code, _)| *code == language.code()).map(|(_, voice)| *voice)
}

/// A profile's voice in a language: its variant (`+f3`) stays, and a voice that speaks the language already is kept.
fn in_language(voice: &str, language: Language) -> String {
    let (own, variant) = voice.split_once('+').map_or((voice, ""), |(own, variant)| (own, variant));
    let base = own.split('-').next().unwrap_or(own);
    // What is no language's voice was chosen by somebody, and is not corrected for what it would speak anyway.
    let is_other = LANGUAGES.iter().any(|(code, _)| *code == base) || !language.is_english();
    match voice_of(language).filter(|_| base != language.code() && is_other) {
        None => voice.to_owned(),
        Some(spoken) if variant.is_empty() => spoken.to_owned(),
        Some(spoken) => format!("{spoken}+{variant}"),
    }
}

fn failed(error: impl std::fmt::Display) -> EngineError {
    EngineError::Failed { engine: EngineName::Espeak, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speech::profiles::Profiles;

    #[tokio::test]
    async fn profiles_sound_different_and_a_tone_changes_them() {
        let (espeak, profiles) = (Espeak::default(), Profiles::default());
        assert!(espeak.is_there().await, "the tests need espeak-ng");
        let mut heard: Vec<(u64, Vec<f32>)> = Vec::new();
        for profile in profiles.iter() {
            let sound = espeak.say("A home is where the kettle knows your name.", profile, &Manner::default()).await;
            let sound = sound.expect("spoken");
            assert!(sound.peak() > 0.05 && sound.duration_ms() > 1000, "{}", profile.name);
            assert!(heard.iter().all(|(_, other)| *other != sound.samples), "{}", profile.name);
            heard.push((sound.duration_ms(), sound.samples));
        }
        let sad = Manner::of_tone(Some("grieving"));
        let sound = espeak.say("A home is where the kettle knows your name.", profiles.choose(None, 0), &sad).await;
        assert!(sound.expect("spoken").duration_ms() > heard[0].0);
    }

    #[tokio::test]
    async fn what_goes_wrong_is_said() {
        let profiles = Profiles::default();
        let missing = Espeak::new("no-such-program").say("Hello.", profiles.choose(None, 0), &Manner::default()).await;
        assert!(matches!(missing, Err(EngineError::Unavailable(_))), "{missing:?}");
        let mut profile = profiles.choose(None, 0).clone();
        profile.espeak.voice = "zz-nobody".to_owned();
        let unknown = Espeak::default().say("Hello.", &profile, &Manner::default()).await;
        assert!(matches!(unknown, Err(EngineError::Failed { .. })), "{unknown:?}");
    }
}
