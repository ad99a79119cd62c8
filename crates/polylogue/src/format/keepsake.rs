//! Files that a session leaves behind when it ends: written after its last record is on disk, and before anybody is
//! told. They follow from the journal, so whoever takes over from a process that died in between writes them.

use std::{io, marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{Event, Record, format::Format, id::SessionId};
use polylogue_runtime::{Listener, port::Journal};

use super::{begins, is_of};

/// What a session of one format leaves behind.
#[async_trait]
pub(super) trait Keepsake: Send + Sized + 'static {
    /// The settings of the format.
    type Of: Format;

    /// Where it is left: a folder, or the artifacts.
    type Place: Send + Sync;

    /// What follows from a whole journal; `None` where that is not one of the format.
    fn of(records: &[Record]) -> Option<Self>;

    /// Writes it there.
    async fn write(self, place: &Self::Place) -> io::Result<()>;

    /// Removes what the session of this journal has left there.
    async fn remove(records: &[Arc<Record>], place: &Self::Place) -> io::Result<()>;
}

/// Leaves keepsakes of all sessions of a format in one place.
pub(super) struct Keepsakes<K: Keepsake> {
    journal: Arc<dyn Journal>,
    place: K::Place,
    kind: PhantomData<fn() -> K>,
}

impl<K: Keepsake> Keepsakes<K> {
    pub(super) fn new(journal: Arc<dyn Journal>, place: K::Place) -> Keepsakes<K> {
        Keepsakes { journal, place, kind: PhantomData }
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
        if let Err(error) = keepsake.write(&self.place).await {
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
        if let Err(error) = K::remove(records, &self.place).await {
            tracing::error!(%session, %error, "the session's files cannot be removed");
        }
    }
}
