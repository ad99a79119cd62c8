//! Writes a chorus's `session.json` when it ends: after its last record is on disk, and before anybody is told.

use std::{io, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{
    Event, Record,
    format::chorus::{Manifest, Settings},
    id::SessionId,
};
use polylogue_runtime::{Listener, port::Journal};

use crate::{format::is_of, whole};

/// Leaves a manifest behind for every chorus.
pub(crate) struct Manifests {
    journal: Arc<dyn Journal>,
    artifacts: PathBuf,
}

impl Manifests {
    pub(crate) fn new(journal: Arc<dyn Journal>, artifacts: PathBuf) -> Manifests {
        Manifests { journal, artifacts }
    }

    /// A manifest that cannot be written is no reason to lose the session: it is a view, and can be made again.
    async fn leave(&self, session: SessionId) {
        let records = match self.journal.read_all(session).await {
            Ok(records) => records,
            Err(error) => return tracing::warn!(%session, %error, "there is no manifest"),
        };
        let records: Vec<Record> = records.into_iter().map(Arc::unwrap_or_clone).collect();
        let Some(manifest) = Manifest::of(&records) else { return };
        let text = serde_json::to_string_pretty(&manifest).expect("a manifest has string keys");
        let path = self.artifacts.join(Manifest::path(session));
        let written = tokio::task::spawn_blocking(move || whole::write(&path, &text)).await;
        if let Err(error) = written.map_err(io::Error::other).flatten() {
            tracing::warn!(%session, %error, "the manifest cannot be written");
        }
    }
}

#[async_trait]
impl Listener for Manifests {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        let has_ended = records.iter().any(|record| matches!(record.event, Event::Ended { .. }));
        if has_ended && is_of::<Settings>(&*self.journal, session).await {
            self.leave(session).await;
        }
    }

    async fn settle(&self, session: SessionId) {
        if is_of::<Settings>(&*self.journal, session).await {
            self.leave(session).await;
        }
    }
}
