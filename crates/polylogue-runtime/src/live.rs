//! What is happening now, for those who watch: records after they are on disk, and words as they arrive.
//!
//! Records are sent, and read again from the journal by whoever falls behind. Words are not sent: they are kept while
//! they arrive (`arriving.rs`), and every watcher takes what it has not been told yet. A session that another process
//! runs is watched in the same way: signals bring its words here (`forwarding.rs` there, `listening.rs` here).

mod arriving;
mod forwarding;
mod listening;

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use polylogue_core::{
    Event, Record,
    format::Hearing,
    id::{AskId, Seq, SessionId},
    room::{RoomCall, RoomId},
};
use tokio::{
    sync::{
        Notify,
        broadcast::{
            self,
            error::{RecvError, TryRecvError},
        },
        watch,
    },
    time::sleep,
};

pub(crate) use self::{arriving::Ear, listening::Task};
use self::{
    arriving::{Arriving, closed_by},
    forwarding::Wanted,
};
use crate::{
    port::{Deltas, Journal, JournalError, Signal, Signals, Topic},
    room::Bell,
};

/// Something to show.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    Record(Arc<Record>),
    /// Words of a reply that is still arriving. Not recorded: a watcher that missed them gets the whole line later.
    Delta {
        ask: AskId,
        text: Arc<str>,
        /// Whether what was told of this ask is void and `text` begins it anew: it is tried again, or the watcher
        /// comes in the middle.
        is_restart: bool,
    },
    /// What an ask waits for while no model works on it, a place or the end of a pause; nothing when that is over.
    /// Not recorded either.
    Waiting {
        ask: AskId,
        what: Option<Arc<str>>,
    },
}

/// How many records a watcher may fall behind before it has to read the journal again.
const BACKLOG: usize = 16;

/// How often a watcher looks into the journal of a session that nobody runs here: another process may write it, and
/// the signal that it does may be lost.
const LOOK: Duration = Duration::from_millis(500);

/// The channels of the sessions that are run or watched here.
pub(crate) struct Channels {
    channels: Mutex<BTreeMap<SessionId, Weak<Channel>>>,
    signals: Arc<dyn Signals>,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").field("channels", &self.lock().len()).finish_non_exhaustive()
    }
}

/// What those who run a session tell those who watch it. It lasts for as long as anybody does either, so that who
/// watches a session that waits hears it when it goes on.
#[derive(Debug)]
struct Channel {
    channels: Arc<Channels>,
    session: SessionId,
    sender: broadcast::Sender<Arc<Record>>,
    publishers: AtomicUsize,
    open: Mutex<Open>,
    /// Says that something has changed in what is open.
    stirred: Arc<watch::Sender<()>>,
    /// How far the journal has come, as another process says that runs the session.
    news: watch::Sender<Seq>,
    /// How many want to hear the words.
    ears: AtomicUsize,
    /// Says that somebody does who has come first.
    first_ear: Arc<Notify>,
    /// Hears what another process says of the session.
    listening: Mutex<Option<Task>>,
    /// Set while the words are wanted in another process.
    wanted: Mutex<Option<Wanted>>,
    /// The call in a room that the session answers.
    call: OnceLock<RoomCall>,
}

/// What is being written.
#[derive(Debug, Default)]
struct Open {
    asks: BTreeMap<AskId, Arriving>,
    /// The last record that was published here: asks that are over by then are not among these.
    head: Seq,
    /// The last record that closed an ask, as far as anybody here has heard.
    closed: Seq,
    /// Where the asks are another process's: the last record that it had published when it sent them.
    heard_at: Seq,
}

impl Channel {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listening(&self) -> MutexGuard<'_, Option<Task>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wanted(&self) -> MutexGuard<'_, Option<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_ears(&self) -> bool {
        self.ears.load(Ordering::SeqCst) > 0
    }

    fn is_run(&self) -> bool {
        self.publishers.load(Ordering::SeqCst) > 0
    }
}

impl Channels {
    pub(crate) fn new(signals: Arc<dyn Signals>) -> Channels {
        Channels { channels: Mutex::default(), signals }
    }

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
            open: Mutex::default(),
            stirred: Arc::default(),
            news: watch::Sender::new(Seq::START),
            ears: AtomicUsize::new(0),
            first_ear: Arc::default(),
            listening: Mutex::default(),
            wanted: Mutex::default(),
            call: OnceLock::new(),
        });
        channels.insert(session, Arc::downgrade(&channel));
        channel
    }

    /// An ear at a session, wherever it runs.
    pub(crate) fn ear(self: &Arc<Self>, session: SessionId) -> Ear {
        Ear::new(self.of(session))
    }

    /// An ear at each session that is run here and answers in this room, with the call that it answers.
    pub(crate) fn in_room(&self, room: &RoomId) -> Vec<(SessionId, RoomCall, Ear)> {
        let channels: Vec<Arc<Channel>> = self.lock().values().filter_map(Weak::upgrade).collect();
        let answers = |channel: Arc<Channel>| {
            let call = channel.call.get().filter(|call| call.room == *room && channel.is_run())?.clone();
            Some((channel.session, call, Ear::new(channel)))
        };
        channels.into_iter().filter_map(answers).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Weak<Channel>>> {
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
        if self.channel.publishers.fetch_sub(1, Ordering::SeqCst) > 1 {
            return;
        }
        // Nothing arrives here any more. Somebody may have begun anew since.
        let mut open = self.channel.open();
        if !self.channel.is_run() {
            open.asks.clear();
        }
    }
}

impl Publisher {
    pub(crate) fn new(channels: &Arc<Channels>, session: SessionId, room: Option<(&RoomCall, Bell)>) -> Publisher {
        let channel = channels.of(session);
        if let Some((call, _)) = &room {
            channel.call.get_or_init(|| (*call).clone());
        }
        Publisher::of(channel, room.map(|(_, bell)| bell))
    }

    fn of(channel: Arc<Channel>, bell: Option<Bell>) -> Publisher {
        if channel.publishers.fetch_add(1, Ordering::SeqCst) == 0 {
            // What another process was writing is void.
            channel.open().asks.retain(|_, arriving| arriving.is_here());
        }
        Publisher { channel, bell }
    }

    pub(crate) fn records(&self, records: Vec<Arc<Record>>) {
        let Some(head) = records.last().map(|last| last.seq) else { return };
        let mut open = self.channel.open();
        for ask in records.iter().filter_map(|record| closed_by(&record.event)) {
            open.asks.remove(ask);
        }
        open.head = head;
        drop(open);
        for record in records {
            // Nobody may be watching.
            let _ = self.channel.sender.send(record);
        }
        let signals = &self.channel.channels.signals;
        signals.send(&Topic::Session(self.channel.session), Signal::News { head });
        if let Some(bell) = &self.bell {
            bell.ring();
            signals.send(&Topic::Room(bell.room().clone()), Signal::Look);
        }
    }

    /// Where the text of an ask goes, from which those who watch hear the words.
    pub(crate) fn arriving(&self, ask: &AskId, hearing: Option<Hearing>) -> Deltas {
        let stirred = self.channel.stirred.clone();
        let deltas = Deltas::new(move |_| stirred.send_modify(|()| {}));
        self.channel.open().asks.insert(ask.clone(), Arriving::new(deltas.clone(), hearing));
        deltas
    }

    pub(crate) fn waiting(&self, ask: &AskId, what: Option<&str>) {
        if let Some(arriving) = self.channel.open().asks.get_mut(ask) {
            arriving.waits_for = what.map(Into::into);
        }
        self.channel.stirred.send_modify(|()| {});
    }
}

/// A session from any place of its journal on: first what is recorded, then what happens, without a gap and
/// without anything twice. It goes on while a person is waited for, and when another process runs the session.
pub struct Subscription {
    journal: Arc<dyn Journal>,
    channel: Arc<Channel>,
    watch: broadcast::Receiver<Arc<Record>>,
    news: watch::Receiver<Seq>,
    /// `None` for one who wants the records only.
    ear: Option<Ear>,
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
        let (watch, news) = (channel.sender.subscribe(), channel.news.subscribe());
        let ear = Some(Ear::new(channel.clone()).after(after));
        let (read, is_caught_up, has_ended) = (VecDeque::new(), false, None);
        Subscription { journal, channel, watch, news, ear, after, read, is_caught_up, has_ended }
    }

    /// The same without what passes and is not recorded.
    pub fn of_records(mut self) -> Subscription {
        self.ear = None;
        self
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
            self.channel.listen_elsewhere();
            // What is recorded goes before what is being written.
            let record = match self.watch.try_recv() {
                Err(TryRecvError::Empty) => {
                    if let Some(passing) = self.ear.as_mut().and_then(Ear::next) {
                        return Ok(Some(passing));
                    }
                    tokio::select! {
                        biased;
                        record = self.watch.recv() => record.map_err(missed),
                        // The channel is held here, so its sender is there.
                        _ = self.news.changed() => {
                            self.is_caught_up = *self.news.borrow_and_update() <= self.after;
                            continue;
                        }
                        () = stirred(&mut self.ear) => continue,
                        () = sleep(LOOK) => {
                            self.is_caught_up = self.channel.is_run();
                            continue;
                        }
                    }
                }
                record => record,
            };
            match record {
                Ok(record) if record.seq <= self.after => {}
                Ok(record) if record.seq == self.after.next() => return Ok(Some(self.heard(record))),
                Ok(_) | Err(TryRecvError::Lagged(_) | TryRecvError::Empty) => self.is_caught_up = false,
                // The channel is held here, so its sender is there.
                Err(TryRecvError::Closed) => return Ok(None),
            }
        }
    }

    fn heard(&mut self, record: Arc<Record>) -> Published {
        self.after = record.seq;
        self.has_ended = Some(is_end(&record));
        if let Some(ear) = &mut self.ear {
            ear.on(&record);
        }
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

/// Waits for something new at this ear; without one for ever.
async fn stirred(ear: &mut Option<Ear>) {
    match ear {
        Some(ear) => ear.stirred().await,
        None => pending().await,
    }
}

fn missed(error: RecvError) -> TryRecvError {
    match error {
        RecvError::Closed => TryRecvError::Closed,
        RecvError::Lagged(records) => TryRecvError::Lagged(records),
    }
}

fn is_end(record: &Record) -> bool {
    matches!(record.event, Event::Ended { .. })
}
