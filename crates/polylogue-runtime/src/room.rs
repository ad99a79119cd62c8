//! A room while it goes on: its events from any one of them, first what is recorded, then what happens.
//!
//! A listener reads the room's order from the store and nothing else; a bell only says that there is more. So all
//! hear the same in the same order, and nobody misses anything or hears it twice. Who wants to also hears the words
//! that are being written, here or in another process.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::select_all;
use polylogue_core::{
    Event, Record,
    format::collaboration::{RoomEvent, RoomStream},
    id::{Seq, SessionId},
    room::{CallId, RoomId, RoomPlace},
};
use tokio::{sync::watch, time::sleep};

use crate::{
    live::{Channels, Ear, Published},
    port::{Journal, JournalError, Ports, RoomRecord, Rooms, Signalled, Topic},
};

/// The bells of the rooms that somebody listens to.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    bells: Mutex<HashMap<RoomId, watch::Sender<()>>>,
}

impl Bells {
    fn listen(&self, room: &RoomId) -> watch::Receiver<()> {
        let mut bells = self.lock();
        // Those that nobody listens to any more go when somebody comes.
        bells.retain(|_, bell| bell.receiver_count() > 0);
        bells.entry(room.clone()).or_default().subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RoomId, watch::Sender<()>>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a session rings when its room has more to tell.
#[derive(Clone, Debug)]
pub(crate) struct Bell {
    bells: Arc<Bells>,
    room: RoomId,
}

impl Bell {
    pub(crate) fn new(bells: Arc<Bells>, room: RoomId) -> Bell {
        Bell { bells, room }
    }

    pub(crate) fn room(&self) -> &RoomId {
        &self.room
    }

    pub(crate) fn ring(&self) {
        if let Some(bell) = self.bells.lock().get(&self.room) {
            bell.send_replace(());
        }
    }
}

/// How long a listener waits for the bell before it looks for itself.
const LOOK: Duration = Duration::from_secs(1);

/// Records of a room that are read at a time.
const PAGE: usize = 256;

/// What a listener of a room hears.
#[derive(Clone, Debug, PartialEq)]
pub enum RoomHeard {
    /// An event, with its number.
    Event(u64, RoomEvent),
    /// Something that passes and is not recorded, of a session that answers this call.
    Passing { session: SessionId, call: CallId, what: Published },
}

/// The ears of a listener at the sessions that answer in its room.
struct Ears {
    channels: Arc<Channels>,
    room: RoomId,
    ears: BTreeMap<SessionId, (CallId, Ear)>,
    /// Those of them that others run: they were met in the room and are not over.
    elsewhere: BTreeSet<SessionId>,
}

impl Ears {
    /// Has an ear at every session that runs here or was met in the room, and none at the others.
    fn gather(&mut self) {
        self.ears.retain(|session, (_, ear)| ear.is_run() || self.elsewhere.contains(session));
        for (session, call, ear) in self.channels.in_room(&self.room) {
            self.ears.entry(session).or_insert((call.call_id, ear));
        }
        for (_, ear) in self.elsewhere.iter().filter_map(|session| self.ears.get(session)) {
            ear.listen_elsewhere();
        }
    }

    fn on(&mut self, session: SessionId, call: CallId, record: &Record) {
        if matches!(record.event, Event::Asked { .. }) && !self.ears.contains_key(&session) {
            self.gather();
            if !self.ears.contains_key(&session) {
                self.elsewhere.insert(session);
                self.ears.insert(session, (call, self.channels.ear(session)));
            }
        }
        if let Some((_, ear)) = self.ears.get_mut(&session) {
            ear.on(record);
        }
        if matches!(record.event, Event::Ended { .. }) {
            self.elsewhere.remove(&session);
        }
    }

    fn next(&mut self) -> Option<RoomHeard> {
        self.gather();
        self.ears.iter_mut().find_map(|(session, (call, ear))| {
            let (session, call) = (*session, *call);
            ear.next().map(|what| RoomHeard::Passing { session, call, what })
        })
    }

    async fn stirred(&mut self) {
        let ears: Vec<_> = self.ears.values_mut().map(|(_, ear)| Box::pin(ear.stirred())).collect();
        if ears.is_empty() {
            return pending().await;
        }
        select_all(ears).await;
    }
}

/// Reads a room in its order, and folds each of its sessions.
pub(crate) struct RoomReader {
    journal: Arc<dyn Journal>,
    rooms: Arc<dyn Rooms>,
    room: RoomId,
    after: RoomPlace,
    /// The sessions that have been met and are not over.
    streams: BTreeMap<SessionId, RoomStream>,
    /// `None` for one who wants what is recorded only.
    ears: Option<Ears>,
}

impl RoomReader {
    pub(crate) fn new(ports: &Ports, room: RoomId, after: RoomPlace) -> RoomReader {
        let (journal, rooms) = (ports.journal.clone(), ports.rooms.clone());
        RoomReader { journal, rooms, room, after, streams: BTreeMap::new(), ears: None }
    }

    /// The events of the next records, with their numbers; `None` when there are no more records.
    pub(crate) async fn page(&mut self) -> Result<Option<Vec<(u64, RoomEvent)>>, JournalError> {
        let records = self.rooms.read_room(&self.room, self.after, PAGE).await?;
        let Some(last) = records.last() else { return Ok(None) };
        self.after = last.place;
        let mut numbered = Vec::new();
        for record in &records {
            let events = self.events(record).await?;
            let numbers = (0..).map(|nth| RoomEvent::number(record.place, nth));
            numbered.extend(numbers.zip(events));
        }
        Ok(Some(numbered))
    }

    async fn events(&mut self, entry: &RoomRecord) -> Result<Vec<RoomEvent>, JournalError> {
        let RoomRecord { session, record, .. } = entry;
        if let Some((stream, events)) = RoomStream::begin(record) {
            self.streams.insert(*session, stream);
            return Ok(events);
        }
        let mut stream = match self.streams.remove(session) {
            Some(stream) => stream,
            None => match self.meet(*session, record.seq).await? {
                Some(stream) => stream,
                None => return Ok(Vec::new()),
            },
        };
        if let Some(ears) = &mut self.ears {
            ears.on(*session, stream.session().call_id, record);
        }
        let events = stream.on(record);
        // Should one that is over be resumed, it is met again.
        if !stream.session().is_over {
            self.streams.insert(*session, stream);
        }
        Ok(events)
    }

    /// A session as it was before this record of it.
    async fn meet(&self, session: SessionId, at: Seq) -> Result<Option<RoomStream>, JournalError> {
        let (mut stream, mut after) = (None, Seq::START);
        while after.next() < at {
            let before = (at.0 - after.0 - 1).min(PAGE as u64);
            let records = self.journal.read(session, after, before as usize).await?;
            let Some(last) = records.last() else { break };
            after = last.seq;
            for record in &records {
                match &mut stream {
                    None => stream = RoomStream::begin(record).map(|(stream, _)| stream),
                    Some(stream) => drop(stream.on(record)),
                }
            }
        }
        Ok(stream)
    }
}

/// A room from any of its events on.
pub struct RoomSubscription {
    reader: RoomReader,
    channels: Arc<Channels>,
    bell: watch::Receiver<()>,
    /// The bell of the same room in other processes.
    signalled: Signalled,
    /// The number of the last event that was heard.
    heard: u64,
    read: VecDeque<(u64, RoomEvent)>,
    /// Whether all that is recorded has been read, but for what is rung for.
    is_caught_up: bool,
}

impl std::fmt::Debug for RoomSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoomSubscription")
            .field("room", &self.reader.room)
            .field("heard", &self.heard)
            .finish_non_exhaustive()
    }
}

impl RoomSubscription {
    pub(crate) fn new(
        ports: &Ports,
        bells: &Bells,
        channels: &Arc<Channels>,
        room: RoomId,
        heard: u64,
    ) -> RoomSubscription {
        let (bell, signalled) = (bells.listen(&room), ports.signals.listen(Topic::Room(room.clone())));
        let reader = RoomReader::new(ports, room, RoomEvent::place_before(heard));
        let (channels, read, is_caught_up) = (channels.clone(), VecDeque::new(), false);
        RoomSubscription { reader, channels, bell, signalled, heard, read, is_caught_up }
    }

    /// The next event and its number. A room does not end: this waits for as long as it takes.
    pub async fn next(&mut self) -> Result<(u64, RoomEvent), JournalError> {
        self.reader.ears = None;
        loop {
            if let RoomHeard::Event(number, event) = self.hear().await? {
                return Ok((number, event));
            }
        }
    }

    /// The next event, or what passes while there is none.
    pub async fn next_live(&mut self) -> Result<RoomHeard, JournalError> {
        if self.reader.ears.is_none() {
            let (channels, room) = (self.channels.clone(), self.reader.room.clone());
            self.reader.ears = Some(Ears { channels, room, ears: BTreeMap::new(), elsewhere: BTreeSet::new() });
        }
        self.hear().await
    }

    async fn hear(&mut self) -> Result<RoomHeard, JournalError> {
        loop {
            while let Some((number, event)) = self.read.pop_front() {
                // The record of the last event may hold one more after it.
                if number > self.heard {
                    self.heard = number;
                    return Ok(RoomHeard::Event(number, event));
                }
            }
            if !self.is_caught_up || self.bell.has_changed().unwrap_or(true) {
                // Whatever is written after this is rung for, so nothing falls between the journal and the bell.
                self.bell.mark_unchanged();
                let page = self.reader.page().await?;
                self.is_caught_up = page.is_none();
                self.read.extend(page.into_iter().flatten());
                continue;
            }
            if let Some(passing) = self.reader.ears.as_mut().and_then(Ears::next) {
                return Ok(passing);
            }
            tokio::select! {
                biased;
                rung = self.bell.changed() => {
                    if rung.is_err() {
                        // Nobody here rings it any more.
                        sleep(LOOK).await;
                    }
                    self.is_caught_up = false;
                }
                _ = self.signalled.next() => self.is_caught_up = false,
                () = stirred(&mut self.reader.ears) => {}
                // The bell of another process may not be heard here, so the journal is looked into from time to time.
                () = sleep(LOOK) => self.is_caught_up = false,
            }
        }
    }
}

/// Waits for something new at these ears; without any for ever.
async fn stirred(ears: &mut Option<Ears>) {
    match ears {
        Some(ears) => ears.stirred().await,
        None => pending().await,
    }
}
