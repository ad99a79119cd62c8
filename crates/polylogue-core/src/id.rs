//! The names of things: sessions, agents, people, asks, lines, places in a journal.
//!
//! Ids come from position, not from counters or chance: the ask of an agent in a turn is the same
//! id in every run of the same journal. Only a session's own id is random, and it is given from outside.

use std::{fmt, str::FromStr, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use crate::purpose::Purpose;

/// One recorded conversation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SessionId(Uuid);

impl SessionId {
    /// Comes before every other.
    pub const LOWEST: SessionId = SessionId(Uuid::nil());

    /// An id from sixteen random bytes, which the caller draws.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The id that a key of the caller's own always leads to.
    pub fn of_key(key: &str) -> Self {
        Self(named(&[b"session", key.as_bytes()]))
    }

    /// The id of something that belongs to this session, by its place in it.
    pub fn part(&self, place: &str) -> PartId {
        PartId(named(&[self.as_bytes(), place.as_bytes()]))
    }
}

/// Something that belongs to a session and is known outside by an id of its own. The same place of the same
/// session is always the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PartId(Uuid);

impl PartId {
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartId({self})")
    }
}

/// An id made of names (128-bit FNV-1a and a mixing step, as a UUID of version 8). It keeps names apart and no
/// secrets. Rows rely on it: it does not change.
fn named(names: &[&[u8]]) -> Uuid {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for name in names {
        let length = (name.len() as u64).to_be_bytes();
        for byte in length.iter().chain(*name) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    // FNV leaves names that differ in their last letter side by side.
    hash = (hash ^ (hash >> 67)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    hash ^= hash >> 64;
    uuid::Builder::from_custom_bytes(hash.to_be_bytes()).into_uuid()
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({self})")
    }
}

impl FromStr for SessionId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        Uuid::parse_str(text).map(Self).map_err(|_| BadId::Session(text.to_owned()))
    }
}

/// The place of a record in its journal. The first record is 1; 0 is the place before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    pub const START: Seq = Seq(0);

    #[must_use]
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of a line in its transcript, counted from 1 as people count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LineId(pub u32);

impl fmt::Display for LineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident, $error:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            pub const MAX_CHARS: usize = 64;

            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub(crate) fn shared(&self) -> Arc<str> {
                self.0.clone()
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                let name = text.trim();
                let fits = !name.is_empty()
                    && name.chars().count() <= Self::MAX_CHARS
                    && !name.chars().any(char::is_control);
                if fits { Ok(Self(name.into())) } else { Err(BadId::$error(text.to_owned())) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

name_id!(
    /// A participant that a model plays, by its name.
    AgentId,
    Agent
);
name_id!(
    /// A participant who is a person, by their name.
    PersonId,
    Person
);

/// One request to a model, named by its place in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AskId {
    pub purpose: Purpose,
    /// The round, turn or beat that the ask belongs to, as its format numbers them. Shared code compares it and
    /// never counts with it.
    pub turn: u32,
    pub agent: AgentId,
    /// 1 for the first try; a re-ask, or an ask again after a stop or a failure, counts up.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
}

fn first() -> u32 {
    1
}

fn is_first(attempt: &u32) -> bool {
    *attempt == 1
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.purpose, self.turn, self.agent)?;
        if self.attempt > 1 {
            write!(f, ", attempt {}", self.attempt)?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    #[error("`{0}` is not a session id")]
    Session(String),
    #[error("`{0}` cannot be an agent's name: use 1 to 64 characters on one line")]
    Agent(String),
    #[error("`{0}` cannot be a person's name: use 1 to 64 characters on one line")]
    Person(String),
}
