//! Where journals are kept: append-only, atomic, fenced.

use std::sync::Arc;

use async_trait::async_trait;
use polylogue_core::{
    Reason, Record, Timestamp,
    event::Unreadable,
    id::{Seq, SessionId},
};

/// How many records are read at a time.
const PAGE: usize = 1_000;

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

    /// All records of a session from the first.
    async fn read_all(&self, session: SessionId) -> Result<Vec<Arc<Record>>, JournalError> {
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
