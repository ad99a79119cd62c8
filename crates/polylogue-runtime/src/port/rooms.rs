//! Where the one order of each room's records is kept.

use std::sync::Arc;

use async_trait::async_trait;
use polylogue_core::{
    Record, Timestamp,
    id::SessionId,
    room::{RoomId, RoomPlace},
};

use super::{JournalError, journal::NoPlace};

/// The rooms of a store of journals. A record is in its room's order when its append returns.
#[async_trait]
pub trait Rooms: Send + Sync {
    /// At most `limit` records of the sessions that answer in a room, after `after`, in the order in which they
    /// were appended. Places have no gaps, but for sessions that were deleted. An unknown room has no records.
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError>;

    /// The last place of a room; the one before the first when nothing was said there.
    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError>;

    /// The rooms that something is recorded of, the newest first, after the one that is here.
    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Result<Vec<RoomSummary>, JournalError>;
}

/// A record in its place in a room.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomRecord {
    pub place: RoomPlace,
    pub session: SessionId,
    pub record: Arc<Record>,
}

/// A room in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomSummary {
    pub room: RoomId,
    pub started_at: Timestamp,
    pub last_at: Timestamp,
    pub head: RoomPlace,
}

impl RoomSummary {
    pub fn place(&self) -> RoomListPlace {
        RoomListPlace { last_at: self.last_at, room: self.room.clone() }
    }
}

/// Where in the list a room stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoomListPlace {
    pub last_at: Timestamp,
    pub room: RoomId,
}

impl std::fmt::Display for RoomListPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.last_at.0, self.room)
    }
}

impl std::str::FromStr for RoomListPlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<RoomListPlace, NoPlace> {
        let (at, room) = text.split_once('.').ok_or(NoPlace)?;
        let last_at = at.parse().ok().filter(|at| i64::try_from(*at).is_ok()).map(Timestamp).ok_or(NoPlace)?;
        Ok(RoomListPlace { last_at, room: room.parse().map_err(|_| NoPlace)? })
    }
}
