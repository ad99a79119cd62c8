//! A room while it goes on: its events from any one of them, first what is recorded, then what happens.
//!
//! A listener reads the room's order from the store and nothing else; a bell only says that there is more. So all
//! hear the same in the same order, and nobody misses anything or hears it twice.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use polylogue_core::{
    format::collaboration::{RoomEvent, RoomStream},
    id::{Seq, SessionId},
    room::{RoomId, RoomPlace},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use crate::port::{Journal, JournalError, Ports, RoomRecord, Rooms};

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

/// Reads a room in its order, and folds each of its sessions.
pub(crate) struct RoomReader {
    journal: Arc<dyn Journal>,
    rooms: Arc<dyn Rooms>,
    room: RoomId,
    after: RoomPlace,
    /// The sessions that have been met and are not over.
    streams: BTreeMap<SessionId, RoomStream>,
}

impl RoomReader {
    pub(crate) fn new(ports: &Ports, room: RoomId, after: RoomPlace) -> RoomReader {
        let (journal, rooms) = (ports.journal.clone(), ports.rooms.clone());
        RoomReader { journal, rooms, room, after, streams: BTreeMap::new() }
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
    bell: watch::Receiver<()>,
    /// The number of the last event that was heard.
    heard: u64,
    read: VecDeque<(u64, RoomEvent)>,
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
    pub(crate) fn new(ports: &Ports, bells: &Bells, room: RoomId, heard: u64) -> RoomSubscription {
        let bell = bells.listen(&room);
        let reader = RoomReader::new(ports, room, RoomEvent::place_before(heard));
        RoomSubscription { reader, bell, heard, read: VecDeque::new() }
    }

    /// The next event and its number. A room does not end: this waits for as long as it takes.
    pub async fn next(&mut self) -> Result<(u64, RoomEvent), JournalError> {
        loop {
            while let Some((number, event)) = self.read.pop_front() {
                // The record of the last event may hold one more after it.
                if number > self.heard {
                    self.heard = number;
                    return Ok((number, event));
                }
            }
            // Whatever is written after this is rung for, so nothing falls between the journal and the bell.
            self.bell.mark_unchanged();
            match self.reader.page().await? {
                Some(events) => self.read.extend(events),
                None => {
                    // Another process rings no bell here, so the journal is looked into from time to time.
                    if let Ok(Err(_)) = timeout(LOOK, self.bell.changed()).await {
                        // Nobody here rings it any more.
                        sleep(LOOK).await;
                    }
                }
            }
        }
    }
}
