//! Who runs what. A process that runs sessions is a node, and a session has at most one node as its owner.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use polylogue_core::id::{Seq, SessionId};

use super::JournalError;

/// A process that runs sessions, from its first session to its end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId([u8; 16]);

impl NodeId {
    /// A node that nobody else is.
    pub fn random() -> NodeId {
        NodeId(fastrand::u128(..).to_be_bytes())
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> NodeId {
        NodeId(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A session that a node owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    pub session: SessionId,
    /// The last record of its journal.
    pub head: Seq,
    /// Whether somebody wants it to be stopped.
    pub is_to_stop: bool,
}

/// A node that is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Living {
    pub node: NodeId,
    /// How many sessions it would take beside those that it owns.
    pub room: u32,
    /// How many it owns.
    pub sessions: u64,
}

/// The nodes of a store, and what they own.
///
/// Every append makes its node the owner of the session (see [`super::Journal::append`]). An append after which a
/// person is waited for leaves it without one. One that ends it does not: what follows from its journal, such as its
/// files, has to be made first, and the owner gives it up after that. So a session that has ended and has an owner
/// who is gone may lack its files.
#[async_trait]
pub trait Nodes: Send + Sync {
    /// Says that a node is alive, for so long from now. The first time makes it known. Tells whether it counted as
    /// gone before that: its time was up, because it could not write, or the machine slept, or the clock was set.
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError>;

    /// A node ends in good order: from now on nobody owns what it owned.
    async fn depart(&self, node: NodeId) -> Result<(), JournalError>;

    /// Makes the node the owner of sessions that were left, the oldest first: those that have not ended and wait for
    /// nobody but have no owner who is alive, those that have waited for people until their time was up, and those that
    /// have ended and whose owner is gone.
    ///
    /// A node that is not alive itself takes over nothing: the others may only seem to be gone as it does.
    ///
    /// A session that was taken over [`MAX_TAKEOVERS`] times without anything having come of it is left alone: it may
    /// be what ended those who took it over.
    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError>;

    /// What the node owns.
    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError>;

    /// Gives up a session that the node owns, if nothing was recorded after `head`.
    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError>;

    /// Leaves word with the owner of a session that it is to be stopped, and tells who that is. Nothing happens where
    /// nobody owns it.
    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError>;

    /// Tells how many more sessions the node would take. Before that it would take none.
    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError>;

    /// Takes places for so many sessions at another node that is alive, that which has most of them. They are the
    /// caller's until that node tells its room anew: whoever books them makes that node the owner of what it begins.
    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError>;

    /// The nodes that are alive, in the order of their ids.
    async fn living(&self) -> Result<Vec<Living>, JournalError>;

    /// Whether a node that is alive owns the session.
    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError>;
}

/// How often a session is taken over without anything having come of it. Whoever is killed takes along sessions that it
/// has only just taken over, and those are not to blame: with three servers of which one was killed every three seconds,
/// every sixth session met that twice in a row. A session that does end its processes has ended so many.
pub const MAX_TAKEOVERS: u32 = 6;
