//! Writes a chorus's `session.json` when it ends: after its last record is on disk, and before anybody is told.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use polylogue_core::{Event, Record, id::SessionId, projection::Manifest};
use polylogue_runtime::{Listener, port::Journal};

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
        let written = tokio::task::spawn_blocking(move || write(&path, &text)).await;
        if let Err(error) = written.map_err(io::Error::other).flatten() {
            tracing::warn!(%session, %error, "the manifest cannot be written");
        }
    }
}

/// Whole or not at all: somebody may be reading the one before.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)?;
    let mut part = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut part, text.as_bytes())?;
    part.persist(path).map(|_| ()).map_err(|error| error.error)
}

#[async_trait]
impl Listener for Manifests {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        if records.iter().any(|record| matches!(record.event, Event::Ended { .. })) {
            self.leave(session).await;
        }
    }
}
