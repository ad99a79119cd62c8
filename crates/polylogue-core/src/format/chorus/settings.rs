//! What a chorus is set up with: the message, the slots, the voices to choose from.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Manifest;
use crate::{
    Conversation,
    format::Described,
    id::AgentId,
    setup::{BadSetup, Cast},
};

/// What a chorus is set up with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChorusSettings")]
pub struct Settings {
    /// What the person says first.
    pub message: Arc<str>,
    pub slots: Vec<Slot>,
    /// The voice profiles that the agents choose from. One with a voice of its own keeps to that.
    pub voices: Vec<VoiceProfile>,
}

/// A numbered place, and the agent in it as the caller named it. The same agent may sit in several: within
/// the session a slot's agent is called by its slot ([`SlotId::agent`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    pub slot_id: SlotId,
    pub agent_id: AgentId,
    /// What the others call it; without one, by its slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
}

/// The number of a slot, from 1 to [`SlotId::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8")]
pub struct SlotId(pub(super) u8);

/// A way of speaking, as agents are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VoiceProfile {
    pub name: Arc<str>,
    pub description: Arc<str>,
}

impl SlotId {
    pub const MAX: u8 = 6;

    pub fn number(self) -> u8 {
        self.0
    }

    /// What the slot's agent is called in the cast.
    pub fn agent(self) -> AgentId {
        format!("slot-{self}").parse().expect("a good name")
    }
}

impl TryFrom<u8> for SlotId {
    type Error = BadSetup;
    fn try_from(number: u8) -> Result<Self, BadSetup> {
        if (1..=Self::MAX).contains(&number) {
            Ok(SlotId(number))
        } else {
            Err(bad_slots(&format!("there is no slot {number}")))
        }
    }
}

impl fmt::Display for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Settings {
    pub const MAX_MESSAGE_CHARS: usize = 20_000;
    pub const MAX_VOICES: usize = 64;
    pub const MAX_NAME_CHARS: usize = 40;

    fn check_slots(&self, cast: &Cast) -> Result<(), BadSetup> {
        let wrong = |problem: String| Err(bad_slots(&problem));
        let mut numbers: Vec<SlotId> = self.slots.iter().map(|slot| slot.slot_id).collect();
        numbers.sort_unstable();
        if numbers.is_empty() {
            return wrong("there is none".to_owned());
        }
        if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(format!("slot {} is there twice", twice[0]));
        }
        if let Some(slot) = numbers.iter().find(|slot| cast.agent(&slot.agent()).is_none()) {
            return wrong(format!("nobody sits in slot {slot}"));
        }
        if cast.agents().len() != numbers.len() {
            return wrong(format!("{} agents for {} slots", cast.agents().len(), numbers.len()));
        }
        Ok(())
    }

    /// A name stands before a line in prompts, and one name is one voice.
    fn check_names(&self) -> Result<(), BadSetup> {
        let most = Self::MAX_NAME_CHARS;
        let is_good = |name: &str| {
            let chars = name.chars().count();
            (1..=most).contains(&chars) && name.trim() == name && !name.chars().any(|c| c.is_control() || c == ':')
        };
        let mut seen: Vec<String> = self.slots.iter().map(|slot| format!("slot {}", slot.slot_id)).collect();
        for name in self.slots.iter().filter_map(|slot| slot.name.as_deref()) {
            if !is_good(name) {
                let rule = format!("the name of a slot has 1 to {most} characters in one line, none of them a colon");
                return Err(BadSetup::settings(format!("{rule}: `{name}`")));
            }
            let plain = name.to_lowercase();
            if seen.contains(&plain) {
                return Err(BadSetup::Twice(name.to_owned()));
            }
            seen.push(plain);
        }
        Ok(())
    }

    /// The names become parts of file names and of schemas.
    fn check_voices(&self) -> Result<(), BadSetup> {
        let wrong = |problem: String| {
            let rule = "a chorus needs voice profiles to choose from, each of 1 to 64 letters, digits, `_` and `-`";
            Err(BadSetup::settings(format!("{rule}: {problem}")))
        };
        let is_good = |name: &str| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        if self.voices.is_empty() || self.voices.len() > Self::MAX_VOICES {
            return wrong(format!("there are {}", self.voices.len()));
        }
        match self.voices.iter().find(|voice| !is_good(&voice.name)) {
            Some(voice) => wrong(format!("`{}`", voice.name)),
            None => Ok(()),
        }
    }
}

fn bad_slots(problem: &str) -> BadSetup {
    BadSetup::settings(format!("a chorus has 1 to {} slots, each number once: {problem}", SlotId::MAX))
}

impl Described for Settings {
    fn title(&self) -> &str {
        &self.message
    }

    fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let chars = self.message.chars().count();
        if self.message.trim().is_empty() {
            return Err(BadSetup::settings("the message is empty: say something that the voices can answer"));
        }
        if chars > Self::MAX_MESSAGE_CHARS {
            return Err(BadSetup::TooLong(chars, Self::MAX_MESSAGE_CHARS));
        }
        self.check_slots(cast)?;
        self.check_names()?;
        self.check_voices()
    }

    fn called(&self, agent: &AgentId) -> Option<&str> {
        self.slots.iter().find(|slot| slot.slot_id.agent() == *agent)?.name.as_deref()
    }

    fn artifacts(&self, conversation: &Conversation) -> Vec<String> {
        vec![Manifest::path(conversation.stage().setup().id)]
    }
}
