//! Where it is kept what agents remember.

use async_trait::async_trait;
use polylogue_core::{
    id::{AgentId, Seq, SessionId},
    memory::Memory,
};

use super::JournalError;

/// The memories in a store of journals. They follow from the journals as [`polylogue_core::memory::memories`]
/// says, but for what was forgotten.
#[async_trait]
pub trait Memories: Send + Sync {
    /// What an agent remembers, or everybody, of one story or of all: the newest at most `limit`, in the order in
    /// which it was put down.
    async fn memories(
        &self,
        agent: Option<&AgentId>,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError>;

    /// Forgets what was put down at these places, for good. The journal keeps it, and nobody is reminded of it any
    /// more. Other places mean nothing.
    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError>;
}
