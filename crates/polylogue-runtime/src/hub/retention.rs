//! How long sessions are kept: those that are over, and to which nothing was added for so long, go with everything that
//! was made of them. One that runs or waits for a person stays, however old it is.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use polylogue_core::{Timestamp, id::SessionId, projection::Status};
use tokio::time::sleep;

use super::{Hub, HubError, to_its_end};
use crate::port::{JournalError, ListPlace, Search, Summary, Wish};

/// How often it is looked whether something is too old.
const ROUND: Duration = Duration::from_secs(3_600);

/// What the processes of a store ask each other for, so that one of them removes what is too old. No provider is called
/// so: their names have no blanks.
const DUTY: &str = "what is too old";

/// How long the duty is that of a process which has not given it back.
const DUTY_LASTS: Duration = Duration::from_secs(600);

/// Sessions that are looked through at a time.
const PAGE: usize = 500;

impl Hub {
    /// From now on removes once an hour what is older than this ([`Hub::stale`]). Of several processes that do so, one
    /// does it at a time.
    pub fn keep_for(&self, age: Duration) {
        let hub = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            loop {
                let Some(inner) = hub.upgrade() else { return };
                if inner.is_leaving.load(Ordering::SeqCst) {
                    return;
                }
                match (Hub { inner }).sweep(age).await {
                    Ok(0) => {}
                    Ok(sessions) => tracing::info!(sessions, "sessions that were too old are removed"),
                    Err(error) => tracing::warn!(%error, "what is too old is removed later"),
                }
                sleep(ROUND).await;
            }
        });
    }

    /// The sessions that nothing was added to for so long, the newest first. Those that run are none of them.
    pub async fn untouched_for(&self, age: Duration) -> Result<Vec<Summary>, HubError> {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let since = Timestamp(self.inner.ports.clock.now().0.saturating_sub(age));
        let mut before = Some(ListPlace { last_at: since, id: SessionId::LOWEST });
        let mut found = Vec::new();
        loop {
            let page = self.inner.ports.journal.search(&Search { before, limit: PAGE, ..Search::default() }).await?;
            let is_last = page.len() < PAGE;
            before = page.last().map(Summary::place);
            found.extend(page.into_iter().filter(|summary| summary.status() != Status::Running));
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Those of them that nobody waits for either.
    pub async fn stale(&self, age: Duration) -> Result<Vec<Summary>, HubError> {
        let mut found = self.untouched_for(age).await?;
        found.retain(|summary| summary.status() != Status::Waiting);
        Ok(found)
    }

    /// Removes a session that was found so, unless somebody has gone on with it since. Tells whether it did.
    pub async fn prune(&self, found: &Summary) -> Result<bool, HubError> {
        let Ok(claim) = self.inner.claims.claim(found.id, None) else { return Ok(false) };
        let (hub, head) = (self.clone(), found.head);
        to_its_end(async move {
            let journal = &hub.inner.ports.journal;
            if !journal.read(claim.session, head, 1).await?.is_empty() {
                return Ok(false);
            }
            hub.inner.kept.take(claim.session);
            match journal.delete(claim.session).await {
                Err(JournalError::Owned) => Ok(false),
                deleted => Ok(deleted?),
            }
        })
        .await
    }

    /// Removes what is too old, unless another process does, and tells how much that was.
    async fn sweep(&self, age: Duration) -> Result<usize, HubError> {
        self.be_known().await?;
        let removed = match self.has_duty(true).await? {
            true => self.prune_all(age).await,
            false => Ok(0),
        };
        self.has_duty(false).await?;
        removed
    }

    async fn prune_all(&self, age: Duration) -> Result<usize, HubError> {
        let mut removed = 0;
        for session in self.stale(age).await? {
            removed += usize::from(self.prune(&session).await?);
        }
        Ok(removed)
    }

    /// Takes the duty where it is free, or gives it back.
    async fn has_duty(&self, wants: bool) -> Result<bool, HubError> {
        let wish = Wish { provider: DUTY.into(), of: 1, keeps: 0, wants: u32::from(wants) };
        Ok(self.inner.ports.quotas.hold(self.inner.node, wish, DUTY_LASTS).await?.held > 0)
    }
}
