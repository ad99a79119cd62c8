//! Where the one order of each room's records is kept.

use std::sync::Arc;

use async_trait::async_trait;
use polylogue_core::{
    Record, Timestamp,
    id::SessionId,
    room::{RoomId, RoomPlace},
};

use super::JournalError;

/// The rooms of a store of journals. A record is in its room's order when its append returns.
#[async_trait]
pub trait Rooms: Send + Sync {
    /// At most `limit` records of the sessions that answer in a room, after `after`, in the order in which they
    /// were appended. Places have no gaps. An unknown room has no records.
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError>;

    /// The last place of a room; the one before the first when nothing was said there.
    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError>;

    /// The rooms, the newest first.
    async fn rooms(&self, limit: usize) -> Result<Vec<RoomSummary>, JournalError>;
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
