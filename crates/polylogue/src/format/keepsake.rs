//! Files that a session leaves behind when it ends: written after its last record is on disk, and before anybody is
//! told. They follow from the journal, so whoever takes over from a process that died in between writes them.

use std::{
    io,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use polylogue_core::{Event, Record, format::Format, id::SessionId};
use polylogue_runtime::{Listener, port::Journal};

use super::{begins, is_of};

/// What a session of one format leaves behind.
pub(super) trait Keepsake: Send + Sized + 'static {
    /// The settings of the format.
    type Of: Format;

    /// What follows from a whole journal; `None` where that is not one of the format.
    fn of(records: &[Record]) -> Option<Self>;

    /// Writes it below this folder.
    fn write(&self, folder: &Path) -> io::Result<()>;

    /// Removes what the session of this journal has left below this folder.
    fn remove(records: &[Arc<Record>], folder: &Path) -> io::Result<()>;
}

/// Leaves keepsakes of all sessions of a format in a folder.
pub(super) struct Keepsakes<K> {
    journal: Arc<dyn Journal>,
    folder: PathBuf,
    kind: PhantomData<fn() -> K>,
}

impl<K: Keepsake> Keepsakes<K> {
    pub(super) fn new(journal: Arc<dyn Journal>, folder: PathBuf) -> Keepsakes<K> {
        Keepsakes { journal, folder, kind: PhantomData }
    }

    /// Files that cannot be written are no reason to lose the session: they are views, and can be made again.
    async fn leave(&self, session: SessionId) {
        if !is_of::<K::Of>(&*self.journal, session).await {
            return;
        }
        let records = match self.journal.read_all(session).await {
            Ok(records) => records,
            Err(error) => return tracing::error!(%session, %error, "the session's files cannot be made"),
        };
        let records: Vec<Record> = records.into_iter().map(Arc::unwrap_or_clone).collect();
        let Some(keepsake) = K::of(&records) else { return };
        let folder = self.folder.clone();
        let written = tokio::task::spawn_blocking(move || keepsake.write(&folder)).await;
        if let Err(error) = written.map_err(io::Error::other).flatten() {
            tracing::error!(%session, %error, "the session's files cannot be written");
        }
    }
}

#[async_trait]
impl<K: Keepsake> Listener for Keepsakes<K> {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        if records.iter().any(|record| matches!(record.event, Event::Ended { .. })) {
            self.leave(session).await;
        }
    }

    async fn settle(&self, session: SessionId) {
        self.leave(session).await;
    }

    async fn deleted(&self, session: SessionId, records: &[Arc<Record>]) {
        if !records.first().is_some_and(|first| begins::<K::Of>(first)) {
            return;
        }
        let (records, folder) = (records.to_vec(), self.folder.clone());
        let removed = tokio::task::spawn_blocking(move || K::remove(&records, &folder)).await;
        if let Err(error) = removed.map_err(io::Error::other).flatten() {
            tracing::error!(%session, %error, "the session's files cannot be removed");
        }
    }
}
