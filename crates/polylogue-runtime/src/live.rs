//! What is happening now, for those who watch: records after they are on disk, and text as it arrives.

use std::{collections::VecDeque, sync::Arc};

use polylogue_core::{
    Record,
    id::{AskId, Seq, SessionId},
};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::{
    port::{Journal, JournalError},
    room::Bell,
};

/// Something to show.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    Record(Arc<Record>),
    /// Text of a reply that is still arriving. Not recorded: a watcher that missed it gets the whole line later.
    Delta {
        ask: AskId,
        text: Arc<str>,
    },
    /// What an ask waits for while no model works on it, a place or the end of a pause; nothing when that is over.
    /// Not recorded either.
    Waiting {
        ask: AskId,
        what: Option<Arc<str>>,
    },
}

/// How far a watcher may fall behind before it has to read the journal again.
const BACKLOG: usize = 16;

/// The sending side, held by the drive loop.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    sender: broadcast::Sender<Published>,
    /// Where the session answers in a room: those who listen there are told that there is more.
    bell: Option<Bell>,
}

impl Publisher {
    pub(crate) fn new(bell: Option<Bell>) -> Publisher {
        Publisher { sender: broadcast::Sender::new(BACKLOG), bell }
    }

    pub(crate) fn records(&self, records: Vec<Arc<Record>>) {
        for record in records {
            self.publish(|| Published::Record(record));
        }
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }

    pub(crate) fn delta(&self, ask: &AskId, text: &str) {
        self.publish(|| Published::Delta { ask: ask.clone(), text: text.into() });
    }

    pub(crate) fn waiting(&self, ask: &AskId, what: Option<&str>) {
        self.publish(|| Published::Waiting { ask: ask.clone(), what: what.map(Into::into) });
    }

    fn publish(&self, published: impl FnOnce() -> Published) {
        if self.sender.receiver_count() > 0 {
            // The last watcher may have left in between.
            let _ = self.sender.send(published());
        }
    }

    pub(crate) fn watch(&self) -> Watch {
        self.sender.subscribe()
    }
}

pub(crate) type Watch = broadcast::Receiver<Published>;

/// A session from any place of its journal on: first what is recorded, then what happens, without a gap and
/// without anything twice.
pub struct Subscription {
    journal: Arc<dyn Journal>,
    session: SessionId,
    after: Seq,
    /// `None` when the session is not running here: then the journal is all there is.
    watch: Option<Watch>,
    read: VecDeque<Arc<Record>>,
    is_caught_up: bool,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("session", &self.session)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

/// Records that a subscription reads at a time.
const PAGE: usize = 256;

impl Subscription {
    /// `watch` must have begun before this is called, so that nothing falls between journal and watch.
    pub(crate) fn new(journal: Arc<dyn Journal>, session: SessionId, after: Seq, watch: Option<Watch>) -> Self {
        Subscription { journal, session, after, watch, read: VecDeque::new(), is_caught_up: false }
    }

    /// What comes next; `None` after the last of a session that is not running any more.
    pub async fn next(&mut self) -> Result<Option<Published>, JournalError> {
        loop {
            if let Some(record) = self.read.pop_front() {
                self.after = record.seq;
                return Ok(Some(Published::Record(record)));
            }
            if !self.is_caught_up {
                self.read.extend(self.journal.read(self.session, self.after, PAGE).await?);
                self.is_caught_up = self.read.is_empty();
                if !self.is_caught_up {
                    continue;
                }
            }
            let Some(watch) = &mut self.watch else { return Ok(None) };
            match watch.recv().await {
                Ok(Published::Record(record)) if record.seq <= self.after => {}
                Ok(Published::Record(record)) if record.seq == self.after.next() => {
                    self.after = record.seq;
                    return Ok(Some(Published::Record(record)));
                }
                Ok(Published::Record(_)) | Err(RecvError::Lagged(_)) => self.is_caught_up = false,
                Ok(passing @ (Published::Delta { .. } | Published::Waiting { .. })) => return Ok(Some(passing)),
                Err(RecvError::Closed) => {
                    self.watch = None;
                    self.is_caught_up = false;
                }
            }
        }
    }
}
