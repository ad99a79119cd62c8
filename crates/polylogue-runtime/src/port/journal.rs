//! Where journals are kept: append-only, atomic, fenced.

use std::sync::Arc;

use async_trait::async_trait;
use polylogue_core::{
    Reason, Record, Timestamp,
    event::Unreadable,
    id::{Seq, SessionId},
    projection::Status,
};

use super::nodes::{MAX_TAKEOVERS, NodeId};

/// How many records are read at a time.
const PAGE: usize = 1_000;

/// A store of journals. An append is on disk when it returns, whole or not at all.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Adds records to the end of a session's journal. They follow each other, and the first follows the
    /// journal's last: when it does not, somebody else has written, and nothing is added
    /// ([`JournalError::Fenced`]). The first record of all is the start of this very session.
    ///
    /// The node that appends owns the session from then on, unless a person is waited for. While another node that is
    /// alive owns it and it has not ended, nothing is added ([`JournalError::Owned`]).
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError>;

    /// At most `limit` records after `after`, in order. An unknown session has none.
    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError>;

    /// The newest sessions first.
    async fn sessions(&self, limit: usize) -> Result<Vec<Summary>, JournalError>;

    /// Sessions whose id as it is displayed begins so, in small letters or capitals, at most `limit`.
    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError>;

    /// Makes again what is made of a journal beside it when its session ends: the process that ended it may have died
    /// before that. A store by itself makes nothing.
    async fn settle(&self, _session: SessionId) {}

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
    /// Whether a node that is alive owns it.
    pub is_owned: bool,
    /// How often it was taken over without anything having come of it.
    pub takeovers: u32,
}

impl Summary {
    pub const MAX_TITLE_CHARS: usize = 200;

    pub fn status(&self) -> Status {
        match (self.reason, self.is_waiting, self.is_owned) {
            (Some(_), ..) => Status::Ended,
            (None, true, _) => Status::Waiting,
            (None, false, true) => Status::Running,
            (None, false, false) => Status::Left,
        }
    }

    /// Whether nobody takes it over any more: those who did were gone before anything came of it.
    pub fn is_left_alone(&self) -> bool {
        self.status() == Status::Left && self.takeovers >= MAX_TAKEOVERS
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("another process has gone on with the session after record {after}")]
    Fenced { after: Seq },
    #[error("another process runs the session")]
    Owned,
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It is locked, busy or full: the same may well work later.
    #[error("the store cannot be used at the moment: {0}")]
    Unavailable(String),
    #[error("the store failed: {0}")]
    Failed(String),
}
