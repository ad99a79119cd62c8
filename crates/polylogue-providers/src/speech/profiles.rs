//! Voice profiles: names for ways of speaking, and what each engine makes of them.
//!
//! The built-in ones are listed in `profiles/builtin.rs`. A configuration adds profiles and changes built-in
//! ones; what it leaves out of a profile is filled in, so that every profile can be spoken by every engine.

mod builtin;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

pub(super) use builtin::BUILT_IN;

use super::casting::Portrait;

/// A way of speaking, for every engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub name: Arc<str>,
    /// What an agent that chooses a profile is told about it.
    pub description: Arc<str>,
    pub elevenlabs: ElevenLabsVoice,
    pub openai: OpenAiVoice,
    pub kokoro: KokoroVoice,
    pub espeak: EspeakVoice,
}

/// `[voices.NAME]` of the configuration. An engine's entry is a voice's name, or a table with its settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSettings {
    pub description: Option<Arc<str>>,
    pub elevenlabs: Option<Named<ElevenLabsVoice>>,
    pub openai: Option<Named<OpenAiVoice>>,
    pub kokoro: Option<Named<KokoroVoice>>,
    pub espeak: Option<Named<EspeakVoice>>,
}

/// A voice by its name alone, or with settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Named<T> {
    Name(String),
    Full(T),
}

impl<T: From<String>> Named<T> {
    fn voice(self) -> T {
        match self {
            Named::Name(name) => name.into(),
            Named::Full(voice) => voice,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElevenLabsVoice {
    /// The id of the voice, from the vendor's page.
    pub voice: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// From 0 (varied) to 1 (even).
    #[serde(default = "half")]
    pub stability: f32,
    #[serde(default = "three_quarters")]
    pub similarity_boost: f32,
    /// From 0 (plain) to 1 (exaggerated).
    #[serde(default)]
    pub style: f32,
    #[serde(default = "one")]
    pub speed: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiVoice {
    pub voice: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default = "one")]
    pub speed: f32,
    /// How to speak, in words, for models that take such directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KokoroVoice {
    /// `af_heart` and its like; two joined by `+` are blended.
    pub voice: String,
    #[serde(default = "one")]
    pub speed: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EspeakVoice {
    pub voice: String,
    /// From 0 to 99.
    #[serde(default = "fifty")]
    pub pitch: u32,
    /// Words per minute.
    #[serde(default = "usual_rate")]
    pub rate: u32,
}

fn half() -> f32 {
    0.5
}
fn three_quarters() -> f32 {
    0.75
}
fn one() -> f32 {
    1.0
}
fn fifty() -> u32 {
    50
}
fn usual_rate() -> u32 {
    165
}

impl From<String> for ElevenLabsVoice {
    fn from(voice: String) -> Self {
        let (stability, similarity_boost) = (half(), three_quarters());
        ElevenLabsVoice { voice, model: None, stability, similarity_boost, style: 0.0, speed: one() }
    }
}

impl From<String> for OpenAiVoice {
    fn from(voice: String) -> Self {
        OpenAiVoice { voice, model: None, speed: one(), instructions: None }
    }
}

impl From<String> for KokoroVoice {
    fn from(voice: String) -> Self {
        KokoroVoice { voice, speed: one() }
    }
}

impl From<String> for EspeakVoice {
    fn from(voice: String) -> Self {
        EspeakVoice { voice, pitch: fifty(), rate: usual_rate() }
    }
}

/// All profiles that can be chosen: the built-in ones in their order, then the configuration's by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiles {
    profiles: Vec<Profile>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no voice profile `{name}`: the profiles are {known}")]
pub struct UnknownVoice {
    name: String,
    known: String,
}

impl Default for Profiles {
    fn default() -> Self {
        Profiles { profiles: BUILT_IN.iter().map(builtin::BuiltIn::profile).collect() }
    }
}

impl Profiles {
    /// The built-in profiles with those of a configuration.
    pub fn with(settings: BTreeMap<String, ProfileSettings>) -> Self {
        let mut all = Profiles::default();
        for (name, settings) in settings {
            let at = all.profiles.iter().position(|profile| *profile.name == *name);
            let base = at.unwrap_or_else(|| base(&name, settings.description.as_deref()));
            let changed = all.profiles[base].clone().changed(&name, settings);
            match at {
                Some(at) => all.profiles[at] = changed,
                None => all.profiles.push(changed),
            }
        }
        all
    }

    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.iter()
    }

    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.profiles.iter().map(|profile| &profile.name)
    }

    pub fn get(&self, name: &str) -> Result<&Profile, UnknownVoice> {
        self.profiles.iter().find(|profile| *profile.name == *name).ok_or_else(|| UnknownVoice {
            name: name.to_owned(),
            known: self.names().map(|name| &**name).collect::<Vec<_>>().join(", "),
        })
    }

    /// The profile of a line: the one that was chosen, if there is one of that name, else one by the
    /// speaker's seat.
    pub fn choose(&self, chosen: Option<&str>, seat: usize) -> &Profile {
        let named = chosen.and_then(|name| self.get(name.trim()).ok());
        named.unwrap_or_else(|| &self.profiles[seat % self.profiles.len()])
    }

    /// The table that prompts show to agents who choose a profile for each line.
    pub fn table(&self) -> String {
        let rows = self.profiles.iter().map(|profile| format!("| {} | {} |\n", profile.name, profile.description));
        format!("| voice_profile | sounds |\n| --- | --- |\n{}", rows.collect::<String>())
    }
}

/// The built-in profile that a new one takes what it does not say from: one of the same sex, where its description
/// tells that, and always the same for its name.
fn base(name: &str, description: Option<&str>) -> usize {
    let wanted = Portrait::of("", description).sex;
    let fits = |at: &usize| wanted.is_none() || Portrait::of_profile(&BUILT_IN[*at].profile()).sex == wanted;
    let fitting: Vec<usize> = (0..BUILT_IN.len()).filter(fits).collect();
    let mixed = |sum: usize, byte: u8| sum.wrapping_mul(31).wrapping_add(usize::from(byte));
    fitting[name.bytes().fold(7, mixed) % fitting.len()]
}

impl Profile {
    fn changed(self, name: &str, settings: ProfileSettings) -> Profile {
        Profile {
            name: name.into(),
            description: settings.description.unwrap_or(self.description),
            elevenlabs: settings.elevenlabs.map_or(self.elevenlabs, Named::voice),
            openai: settings.openai.map_or(self.openai, Named::voice),
            kokoro: settings.kokoro.map_or(self.kokoro, Named::voice),
            espeak: settings.espeak.map_or(self.espeak, Named::voice),
        }
    }
}

#[cfg(test)]
mod tests;
