//! Rooms: places where a person speaks to agents by name. What is said there begins sessions, and each session
//! knows in its setup which message of which room it answers.

mod address;

use std::{fmt, str::FromStr, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use address::{Addressed, BadAddress, Mention, addressed};

use crate::{
    Tenant,
    id::{AgentId, BadId},
};

/// The message of a room that a session answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomCall {
    pub room: RoomId,
    pub call_id: CallId,
    /// Whom the person spoke to.
    pub target: Target,
    /// Another session of the same call opens with the message, and this one does not say it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_repeat: bool,
}

/// A room by its name, which a tenant's own may stand before.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct RoomId(Arc<str>);

impl RoomId {
    pub const MAX_CHARS: usize = 64;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a room's name has 1 to {} letters, digits, `-` and `_`", RoomId::MAX_CHARS)]
pub struct BadRoom;

impl FromStr for RoomId {
    type Err = BadRoom;
    fn from_str(name: &str) -> Result<Self, BadRoom> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let (_, own) = Tenant::split(name);
        let fits = (1..=Self::MAX_CHARS).contains(&own.len()) && own.bytes().all(is_good);
        if fits { Ok(RoomId(name.into())) } else { Err(BadRoom) }
    }
}

impl TryFrom<String> for RoomId {
    type Error = BadRoom;
    fn try_from(name: String) -> Result<Self, BadRoom> {
        name.parse()
    }
}

impl fmt::Display for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// One message to a room, and everything that follows from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallId(Uuid);

impl CallId {
    /// An id from sixteen random bytes, which the caller draws.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({self})")
    }
}

/// Whom something in a room is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// The room itself, which passes it on.
    Router,
    All,
    Agent(AgentId),
}

impl Target {
    pub fn as_str(&self) -> &str {
        match self {
            Target::Router => "router",
            Target::All => "all",
            Target::Agent(agent) => agent.as_str(),
        }
    }
}

impl FromStr for Target {
    type Err = BadId;
    fn from_str(name: &str) -> Result<Self, BadId> {
        match name.trim() {
            name if name.eq_ignore_ascii_case("router") => Ok(Target::Router),
            name if name.eq_ignore_ascii_case("all") => Ok(Target::All),
            name => name.parse().map(Target::Agent),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = BadId;
    fn try_from(name: String) -> Result<Self, BadId> {
        name.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> String {
        target.as_str().to_owned()
    }
}

/// A place in a room: the room's records are counted from 1 in the order in which they were written, whatever
/// sessions they belong to. 0 is the place before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct RoomPlace(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_s_name_can_stand_in_an_address() {
        let long = "x".repeat(65);
        for (name, is_good) in [
            ("lobby", true),
            ("Room_7-b", true),
            (&long[..64], true),
            (&long, false),
            ("", false),
            ("a b", false),
            (" lobby", false),
            ("a/b", false),
            ("..", false),
            ("größe", false),
        ] {
            assert_eq!(name.parse::<RoomId>().is_ok(), is_good, "{name}");
        }
    }
}
