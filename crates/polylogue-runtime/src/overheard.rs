//! A journal with listeners: they hear what was appended once it is on disk, and before anybody who watches is
//! told. For views that are kept outside the journal: a file, a datagram.

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_trait::async_trait;
use futures_util::FutureExt;
use polylogue_core::{
    Record,
    id::{Seq, SessionId},
};

use crate::port::{Journal, JournalError, NodeId, Search, Summary};

/// Makes something of what is recorded. It cannot fail: what is recorded is recorded.
#[async_trait]
pub trait Listener: Send + Sync {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]);

    /// A session has ended, and who ended it may have died before this listener heard: makes again what lasts.
    async fn settle(&self, _session: SessionId) {}

    /// A session was deleted, and this was its journal: what was made of it goes as well.
    async fn deleted(&self, _session: SessionId, _records: &[Arc<Record>]) {}
}

pub struct Overheard {
    journal: Arc<dyn Journal>,
    listeners: Vec<Arc<dyn Listener>>,
}

impl std::fmt::Debug for Overheard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overheard").field("listeners", &self.listeners.len()).finish_non_exhaustive()
    }
}

impl Overheard {
    pub fn new(journal: Arc<dyn Journal>, listeners: Vec<Arc<dyn Listener>>) -> Overheard {
        Overheard { journal, listeners }
    }
}

#[async_trait]
impl Journal for Overheard {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        self.journal.append(session, records.clone(), node).await?;
        for listener in &self.listeners {
            unbroken(session, listener.heard(session, &records)).await;
        }
        Ok(())
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.journal.read(session, after, limit).await
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        self.journal.search(search).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        self.journal.find(id_prefix, limit).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        // What was made of the records can only be found by them.
        let records = self.journal.read_all(session).await?;
        let was_there = self.journal.delete(session).await?;
        if was_there {
            for listener in &self.listeners {
                unbroken(session, listener.deleted(session, &records)).await;
            }
        }
        Ok(was_there)
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        self.journal.forks(of).await
    }

    async fn settle(&self, session: SessionId) {
        for listener in &self.listeners {
            unbroken(session, listener.settle(session)).await;
        }
    }
}

/// A listener that breaks must not take the session with it.
async fn unbroken(session: SessionId, work: impl Future<Output = ()>) {
    if AssertUnwindSafe(work).catch_unwind().await.is_err() {
        tracing::error!(%session, "what is made of the session's records broke, which is a bug");
    }
}
