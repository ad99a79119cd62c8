//! What a chorus is set up with: the message, the slots, the voices to choose from.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    id::AgentId,
    setup::{BadSetup, Cast},
};

/// What a chorus is set up with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// What the person says first.
    pub message: Arc<str>,
    pub slots: Vec<Slot>,
    /// The voice profiles that the agents choose from. One with a voice of its own keeps to that.
    pub voices: Vec<VoiceProfile>,
}

/// A numbered place, and the agent in it as the caller named it. The same agent may sit in several: within
/// the session a slot's agent is called by its slot ([`SlotId::agent`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    pub slot_id: SlotId,
    pub agent_id: AgentId,
}

/// The number of a slot, from 1 to [`SlotId::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub struct SlotId(pub(super) u8);

/// A way of speaking, as agents are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
            Err(BadSetup::Slots(format!("there is no slot {number}")))
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

    pub(crate) fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let chars = self.message.chars().count();
        if self.message.trim().is_empty() {
            return Err(BadSetup::EmptyMessage);
        }
        if chars > Self::MAX_MESSAGE_CHARS {
            return Err(BadSetup::TooLong(chars, Self::MAX_MESSAGE_CHARS));
        }
        let mut numbers: Vec<SlotId> = self.slots.iter().map(|slot| slot.slot_id).collect();
        numbers.sort_unstable();
        if numbers.is_empty() {
            return Err(BadSetup::Slots("there is none".to_owned()));
        }
        if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(BadSetup::Slots(format!("slot {} is there twice", twice[0])));
        }
        if let Some(slot) = numbers.iter().find(|slot| cast.agent(&slot.agent()).is_none()) {
            return Err(BadSetup::Slots(format!("nobody sits in slot {slot}")));
        }
        if cast.agents().len() != numbers.len() {
            return Err(BadSetup::Slots(format!("{} agents for {} slots", cast.agents().len(), numbers.len())));
        }
        self.check_voices()
    }

    /// The names become parts of file names and of schemas.
    fn check_voices(&self) -> Result<(), BadSetup> {
        let is_good = |name: &str| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        if self.voices.is_empty() || self.voices.len() > Self::MAX_VOICES {
            return Err(BadSetup::Voices(format!("there are {}", self.voices.len())));
        }
        match self.voices.iter().find(|voice| !is_good(&voice.name)) {
            Some(voice) => Err(BadSetup::Voices(format!("`{}`", voice.name))),
            None => Ok(()),
        }
    }
}
