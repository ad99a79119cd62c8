//! Where journals are kept: append-only, atomic, fenced.

use std::sync::Arc;

use async_trait::async_trait;
use polylogue_core::{
    Reason, Record, Setup, Tenant, Timestamp,
    event::Unreadable,
    id::{Seq, SessionId},
    projection::Status,
    room::RoomId,
    setup::Cast,
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

    /// The sessions that are looked for, the newest first.
    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError>;

    /// The newest sessions first.
    async fn sessions(&self, limit: usize) -> Result<Vec<Summary>, JournalError> {
        self.search(&Search { limit, ..Search::default() }).await
    }

    /// Sessions whose id as it is displayed begins so, in small letters or capitals, at most `limit`.
    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError>;

    /// Removes a session and all that is kept of it, and tells whether it was there. While a node that is alive owns
    /// it, nothing is removed ([`JournalError::Owned`]). What was forked from it stays as it is.
    async fn delete(&self, session: SessionId) -> Result<bool, JournalError>;

    /// The sessions that are there and were forked from one of these, at whatever remove.
    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError>;

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

/// Which sessions are looked for. What is left out does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    pub format: Option<String>,
    pub status: Option<Status>,
    /// Only those that answer in this room.
    pub room: Option<RoomId>,
    /// Only those that belong to this tenant.
    pub tenant: Option<Tenant>,
    /// Words that the title has in it, in small letters or capitals.
    pub text: Option<String>,
    /// Only what comes in the list after the session that is here.
    pub before: Option<ListPlace>,
    pub limit: usize,
}

impl Search {
    /// Whether a session is looked for, wherever in the list it stands.
    pub fn finds(&self, summary: &Summary) -> bool {
        self.format.as_ref().is_none_or(|format| *format == summary.format)
            && self.status.is_none_or(|status| status == summary.status())
            && (self.room.is_none() || self.room == summary.room)
            && (self.tenant.is_none() || self.tenant == summary.tenant)
            && self.text.as_ref().is_none_or(|text| summary.title.to_lowercase().contains(&text.trim().to_lowercase()))
    }
}

/// Where in the list a session stands: the newest is first, and of two of the same time the one with the higher id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListPlace {
    pub last_at: Timestamp,
    pub id: SessionId,
}

impl std::fmt::Display for ListPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.last_at.0, self.id)
    }
}

impl std::str::FromStr for ListPlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<ListPlace, NoPlace> {
        let (at, id) = text.split_once('.').ok_or(NoPlace)?;
        let last_at = at.parse().ok().filter(|at| i64::try_from(*at).is_ok()).map(Timestamp).ok_or(NoPlace)?;
        Ok(ListPlace { last_at, id: id.parse().map_err(|_| NoPlace)? })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no place in a list: send back what the page before named as `next`")]
pub struct NoPlace;

/// A session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub id: SessionId,
    pub format: String,
    /// At most [`Summary::MAX_TITLE_CHARS`] of it.
    pub title: String,
    pub cast: CastNames,
    /// Where it answers in a room.
    pub room: Option<RoomId>,
    /// Who it belongs to, where that is not the operator.
    pub tenant: Option<Tenant>,
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

    /// A session's title as a list shows it.
    pub fn title_of(setup: &Setup) -> String {
        setup.format.title().chars().take(Summary::MAX_TITLE_CHARS).collect()
    }

    pub fn place(&self) -> ListPlace {
        ListPlace { last_at: self.last_at, id: self.id }
    }

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

/// Who takes part in a session, as it was set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CastNames {
    pub agents: Vec<String>,
    pub people: Vec<String>,
}

impl From<&Cast> for CastNames {
    fn from(cast: &Cast) -> CastNames {
        CastNames {
            agents: cast.agents().iter().map(|agent| agent.name.to_string()).collect(),
            people: cast.people().iter().map(ToString::to_string).collect(),
        }
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
