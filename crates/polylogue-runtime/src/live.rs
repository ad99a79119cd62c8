//! What is happening now, for those who watch: records after they are on disk, and text as it arrives.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use polylogue_core::{
    Event, Record,
    id::{AskId, Seq, SessionId},
};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::sleep,
};

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

/// How often a watcher looks into the journal of a session that nobody runs here: another process may write it.
const LOOK: Duration = Duration::from_millis(500);

/// The channels of the sessions that are run or watched here.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    channels: Mutex<HashMap<SessionId, Weak<Channel>>>,
}

/// What those who run a session tell those who watch it. It lasts for as long as anybody does either, so that who
/// watches a session that waits hears it when it goes on.
#[derive(Debug)]
struct Channel {
    channels: Arc<Channels>,
    session: SessionId,
    sender: broadcast::Sender<Published>,
    publishers: AtomicUsize,
}

impl Channels {
    fn of(self: &Arc<Self>, session: SessionId) -> Arc<Channel> {
        let mut channels = self.lock();
        if let Some(channel) = channels.get(&session).and_then(Weak::upgrade) {
            return channel;
        }
        let channel = Arc::new(Channel {
            channels: self.clone(),
            session,
            sender: broadcast::Sender::new(BACKLOG),
            publishers: AtomicUsize::new(0),
        });
        channels.insert(session, Arc::downgrade(&channel));
        channel
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Channel>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        let mut channels = self.channels.lock();
        // Somebody may have made a new one since the last handle on this one was let go.
        if channels.get(&self.session).is_some_and(|channel| channel.strong_count() == 0) {
            channels.remove(&self.session);
        }
    }
}

/// The sending side, held by whoever writes the session here.
#[derive(Debug)]
pub(crate) struct Publisher {
    channel: Arc<Channel>,
    /// Where the session answers in a room: those who listen there are told that there is more.
    bell: Option<Bell>,
}

impl Clone for Publisher {
    fn clone(&self) -> Publisher {
        Publisher::of(self.channel.clone(), self.bell.clone())
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.channel.publishers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Publisher {
    pub(crate) fn new(channels: &Arc<Channels>, session: SessionId, bell: Option<Bell>) -> Publisher {
        Publisher::of(channels.of(session), bell)
    }

    fn of(channel: Arc<Channel>, bell: Option<Bell>) -> Publisher {
        channel.publishers.fetch_add(1, Ordering::SeqCst);
        Publisher { channel, bell }
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
        if self.channel.sender.receiver_count() > 0 {
            // The last watcher may have left in between.
            let _ = self.channel.sender.send(published());
        }
    }
}

/// A session from any place of its journal on: first what is recorded, then what happens, without a gap and
/// without anything twice. It goes on while a person is waited for, and when another process runs the session.
pub struct Subscription {
    journal: Arc<dyn Journal>,
    channel: Arc<Channel>,
    watch: broadcast::Receiver<Published>,
    after: Seq,
    read: VecDeque<Arc<Record>>,
    is_caught_up: bool,
    /// Whether what was heard last ends the session; `None` while nothing was heard.
    has_ended: Option<bool>,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("session", &self.channel.session)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

/// Records that a subscription reads at a time.
const PAGE: usize = 256;

impl Subscription {
    pub(crate) fn new(journal: Arc<dyn Journal>, channels: &Arc<Channels>, session: SessionId, after: Seq) -> Self {
        // The watch begins before the journal is read, so that nothing falls between them.
        let channel = channels.of(session);
        let watch = channel.sender.subscribe();
        let (read, is_caught_up, has_ended) = (VecDeque::new(), false, None);
        Subscription { journal, channel, watch, after, read, is_caught_up, has_ended }
    }

    /// What comes next; `None` after the session's last event.
    pub async fn next(&mut self) -> Result<Option<Published>, JournalError> {
        loop {
            if let Some(record) = self.read.pop_front() {
                return Ok(Some(self.heard(record)));
            }
            if !self.is_caught_up {
                self.read_on().await?;
                if !self.read.is_empty() {
                    continue;
                }
            }
            if self.has_ended == Some(true) {
                return Ok(None);
            }
            let published = tokio::select! {
                published = self.watch.recv() => published,
                () = sleep(LOOK) => {
                    self.is_caught_up = self.channel.publishers.load(Ordering::SeqCst) > 0;
                    continue;
                }
            };
            match published {
                Ok(Published::Record(record)) if record.seq <= self.after => {}
                Ok(Published::Record(record)) if record.seq == self.after.next() => {
                    return Ok(Some(self.heard(record)));
                }
                Ok(Published::Record(_)) | Err(RecvError::Lagged(_)) => self.is_caught_up = false,
                Ok(passing @ (Published::Delta { .. } | Published::Waiting { .. })) => return Ok(Some(passing)),
                // The channel is held here, so its sender is there.
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }

    fn heard(&mut self, record: Arc<Record>) -> Published {
        self.after = record.seq;
        self.has_ended = Some(is_end(&record));
        Published::Record(record)
    }

    /// Reads what is recorded after the last that was heard.
    async fn read_on(&mut self) -> Result<(), JournalError> {
        let session = self.channel.session;
        let records = self.journal.read(session, self.after, PAGE).await?;
        self.is_caught_up = records.is_empty();
        self.read.extend(records);
        // Somebody who has heard it all elsewhere wants to know that there is no more.
        if self.is_caught_up && self.has_ended.is_none() {
            let before = Seq(self.after.0.saturating_sub(1));
            let last = match self.journal.read(session, before, 1).await?.pop() {
                None => self.journal.read_all(session).await?.pop(),
                last => last,
            };
            self.has_ended = Some(last.is_some_and(|last| is_end(&last)));
        }
        Ok(())
    }
}

fn is_end(record: &Record) -> bool {
    matches!(record.event, Event::Ended { .. })
}
