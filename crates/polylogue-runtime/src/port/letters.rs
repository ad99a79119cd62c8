//! What somebody wants of a session that another process runs, kept until its owner has taken it up.
//!
//! A letter is in the store and not in a signal, because it must not be lost. It belongs to the session and not to a
//! node: when the owner is gone, the next one finds it.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use polylogue_core::id::SessionId;
use serde::{Deserialize, Serialize};

use super::{JournalError, NodeId};

/// The name of a letter, which no other letter has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LetterId([u8; 16]);

impl LetterId {
    pub fn random() -> LetterId {
        LetterId(fastrand::u128(..).to_be_bytes())
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> LetterId {
        LetterId(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A letter to whoever owns a session. What is in it is the hub's matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub id: LetterId,
    pub session: SessionId,
    pub content: Arc<str>,
}

/// A letter as the owner of its session finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    pub letter: Letter,
    /// Who owned the session when the letter was posted. If that is another node, it may have taken the letter up
    /// before it was gone.
    pub to: NodeId,
}

/// What has become of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Unanswered,
    Answered(Arc<str>),
    /// It was withdrawn, its time is up, or its session was deleted.
    Gone,
}

/// The letters of a store.
#[async_trait]
pub trait Letters: Send + Sync {
    /// Leaves a letter for so long, and tells who owns its session. Where nobody who is alive does, nothing is left.
    /// Letters whose time is up are removed.
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError>;

    /// The letters to sessions that this node owns which nobody has answered, the oldest first, at most `limit`.
    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError>;

    /// Answers a letter. Only the first answer counts, and one to a letter that is gone counts for nothing. What was in
    /// the letter is not kept.
    async fn answer(&self, letter: LetterId, answer: &str) -> Result<(), JournalError>;

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError>;

    /// Removes a letter, answered or not. An owner who has read it may still act on it.
    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError>;
}
