//! Where journals are kept: append-only, atomic, fenced.

use std::sync::Arc;

use async_trait::async_trait;
use polylogue_core::{
    Reason, Record, Timestamp,
    event::Unreadable,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
    room::{RoomId, RoomPlace},
};

/// A store of journals. An append is on disk when it returns, whole or not at all.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Adds records to the end of a session's journal. They follow each other, and the first follows the
    /// journal's last: when it does not, somebody else has written, and nothing is added
    /// ([`JournalError::Fenced`]). The first record of all is the start of this very session.
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>) -> Result<(), JournalError>;

    /// At most `limit` records after `after`, in order. An unknown session has none.
    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError>;

    /// The newest sessions first.
    async fn sessions(&self, limit: usize) -> Result<Vec<Summary>, JournalError>;

    /// Sessions whose id as it is displayed begins so, in small letters or capitals, at most `limit`.
    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError>;

    /// Sessions that have begun, have not ended and wait for nobody, oldest first.
    async fn unfinished(&self) -> Result<Vec<SessionId>, JournalError>;

    /// What a character remembers, of one story or of all: the newest at most `limit`, in the order in which it was
    /// put down. It follows from the journals as [`polylogue_core::projection::memories`] says, but for what was
    /// forgotten.
    async fn memories(
        &self,
        character: &AgentId,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError>;

    /// Forgets what was put down at these places, for good: the journal keeps it, and nobody is reminded of it any
    /// more. Other places mean nothing.
    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError>;

    /// At most `limit` records of the sessions that answer in a room, after `after`, in the order in which they
    /// were appended: an append is in its room's order when it returns, and places have no gaps. An unknown room
    /// has none.
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError>;

    /// The last place of a room; that before the first when nothing was said there.
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

/// A session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub id: SessionId,
    pub format: String,
    /// At most [`Summary::MAX_TITLE_CHARS`] of it.
    pub title: String,
    /// When it began; for a fork, when it was forked.
    pub started_at: Timestamp,
    pub last_at: Timestamp,
    pub head: Seq,
    /// `None` while it has not ended.
    pub reason: Option<Reason>,
    /// Whether it is a person's turn, so that nobody has to run it.
    pub is_waiting: bool,
}

impl Summary {
    pub const MAX_TITLE_CHARS: usize = 200;

    /// What its status is called.
    pub fn status(&self) -> &'static str {
        match (self.reason, self.is_waiting) {
            (Some(_), _) => "ended",
            (None, true) => "waiting",
            (None, false) => "running",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("another process has gone on with the session after record {after}")]
    Fenced { after: Seq },
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("the store failed: {0}")]
    Failed(String),
}

/// How many records are read at a time.
const PAGE: usize = 1_000;

impl dyn Journal + '_ {
    /// All records of a session from the first.
    pub async fn read_all(&self, session: SessionId) -> Result<Vec<Arc<Record>>, JournalError> {
        let mut records: Vec<Arc<Record>> = Vec::new();
        loop {
            let after = records.last().map_or(Seq::START, |record| record.seq);
            let page = self.read(session, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            records.extend(page);
            if is_last {
                return Ok(records);
            }
        }
    }
}
