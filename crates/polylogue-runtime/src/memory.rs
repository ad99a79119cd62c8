//! A journal in memory, for tests, trials and benchmarks.

mod quotas;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Reason, Record, Timestamp,
    event::Awaits,
    id::{AgentId, Seq, SessionId},
    memory::{Memory, memories},
    projection::Status,
    room::{RoomId, RoomPlace},
};
use tokio::time::Instant;

use crate::port::{
    Fate, Journal, JournalError, Letter, LetterId, Letters, Living, MAX_TAKEOVERS, Memories, NodeId, Nodes, Owned,
    Posted, RoomListPlace, RoomRecord, RoomSummary, Rooms, Search, Summary,
};

/// Journals that end with the process.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: BTreeMap<SessionId, Session>,
    rooms: BTreeMap<RoomId, Room>,
    forgotten: BTreeSet<(SessionId, Seq)>,
    /// Until when each node is alive, if it says nothing before.
    nodes: BTreeMap<NodeId, Instant>,
    /// How many sessions each would take.
    rooms_of_nodes: BTreeMap<NodeId, u32>,
    /// The oldest first.
    letters: Vec<KeptLetter>,
    quotas: quotas::Kept,
}

#[derive(Debug)]
struct KeptLetter {
    posted: Posted,
    answer: Option<Arc<str>>,
    until: Instant,
}

/// What was said in a room, in its order. Places are not given twice, also when a session was deleted.
#[derive(Debug, Default)]
struct Room {
    head: u64,
    started_at: Timestamp,
    last_at: Timestamp,
    log: Vec<RoomRecord>,
}

#[derive(Debug, Default)]
struct Session {
    records: Vec<Arc<Record>>,
    owner: Option<NodeId>,
    takeovers: u32,
    is_to_stop: bool,
    has_ended: bool,
    is_waiting: bool,
    /// When those who are waited for are waited for no more.
    due: Option<Instant>,
}

impl MemoryJournal {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        let mut kept = self.lock();
        let Kept { sessions, rooms, nodes, .. } = &mut *kept;
        let known = sessions.get(&session);
        let mut after = known.and_then(|known| known.records.last()).map_or(Seq::START, |last| last.seq);
        for record in &records {
            if record.seq != after.next() {
                return Err(JournalError::Fenced { after });
            }
            if after == Seq::START && !is_start(record, session) {
                return Err(JournalError::Failed("a journal begins with the start of its own session".to_owned()));
            }
            after = record.seq;
        }
        if known.is_some_and(|known| {
            !known.has_ended && known.owner.is_some_and(|owner| owner != node && is_alive(nodes, owner))
        }) {
            return Err(JournalError::Owned);
        }
        if records.is_empty() {
            return Ok(());
        }
        let kept = sessions.entry(session).or_default();
        records.iter().for_each(|record| kept.note(&record.event));
        kept.owner = (kept.has_ended || !kept.is_waiting).then_some(node);
        kept.records.extend(records.iter().cloned());
        if let Some(room) = room_of(&kept.records) {
            rooms.entry(room).or_default().add(session, records);
        }
        Ok(())
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        let kept = self.lock();
        let records = kept.sessions.get(&session).into_iter().flat_map(|session| &session.records);
        Ok(records.skip(usize::try_from(after.0).unwrap_or(usize::MAX)).take(limit).cloned().collect())
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        let mut summaries = self.lock().summaries();
        let is_later = |summary: &Summary| search.before.is_none_or(|before| summary.place() < before);
        summaries.retain(|summary| is_later(summary) && search.finds(summary));
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.place()));
        summaries.truncate(search.limit);
        Ok(summaries)
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        let (kept, prefix) = (self.lock(), id_prefix.to_ascii_lowercase());
        Ok(kept.sessions.keys().filter(|id| id.to_string().starts_with(&prefix)).take(limit).copied().collect())
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        let mut kept = self.lock();
        let Kept { sessions, rooms, forgotten, nodes, letters, .. } = &mut *kept;
        let Some(known) = sessions.get(&session) else { return Ok(false) };
        if known.owner.is_some_and(|owner| is_alive(nodes, owner)) {
            return Err(JournalError::Owned);
        }
        sessions.remove(&session);
        forgotten.retain(|(whose, _)| *whose != session);
        letters.retain(|letter| letter.posted.letter.session != session);
        rooms.values_mut().for_each(|room| room.log.retain(|entry| entry.session != session));
        Ok(true)
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        let is_fork = |record: &Arc<Record>| matches!(&record.event, Event::Forked { from, .. } if of.contains(from));
        let kept = self.lock();
        let forks = kept.sessions.iter().filter(|(_, session)| session.records.iter().any(is_fork));
        Ok(forks.map(|(id, _)| *id).collect())
    }
}

#[async_trait]
impl Nodes for MemoryJournal {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError> {
        let now = Instant::now();
        let before = self.lock().nodes.insert(node, now + lease);
        Ok(before.is_some_and(|until| until <= now))
    }

    async fn depart(&self, node: NodeId) -> Result<(), JournalError> {
        let mut kept = self.lock();
        kept.nodes.remove(&node);
        kept.rooms_of_nodes.remove(&node);
        for session in kept.sessions.values_mut().filter(|session| session.owner == Some(node)) {
            session.takeovers = 0;
            // One that has ended keeps the owner who is gone until somebody has seen to its files.
            session.owner = session.owner.filter(|_| session.has_ended);
        }
        Ok(())
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError> {
        let mut kept = self.lock();
        let now = Instant::now();
        if !is_alive(&kept.nodes, node) {
            return Ok(Vec::new());
        }
        let left = kept.summaries().into_iter().filter(|summary| {
            let is_unsettled = || {
                let session = &kept.sessions[&summary.id];
                session.has_ended && session.owner.is_some() && !summary.is_owned
            };
            let is_due = || {
                let due = kept.sessions[&summary.id].due;
                summary.status() == Status::Waiting && !summary.is_owned && due.is_some_and(|due| due <= now)
            };
            summary.takeovers < MAX_TAKEOVERS && (summary.status() == Status::Left || is_due() || is_unsettled())
        });
        let mut left: Vec<(Timestamp, SessionId)> = left.map(|summary| (summary.started_at, summary.id)).collect();
        left.sort();
        left.truncate(limit);
        let mut taken = Vec::new();
        for (_, id) in left {
            let Some(session) = kept.sessions.get_mut(&id) else { continue };
            session.owner = Some(node);
            session.takeovers += 1;
            taken.push(session.owned(id));
        }
        Ok(taken)
    }

    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError> {
        let kept = self.lock();
        let owned = kept.sessions.iter().filter(|(_, session)| session.owner == Some(node));
        Ok(owned.map(|(id, session)| session.owned(*id)).collect())
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError> {
        let mut kept = self.lock();
        if let Some(session) = kept.sessions.get_mut(&session).filter(|session| session.owner == Some(node))
            && session.records.last().is_some_and(|last| last.seq == head)
        {
            session.owner = None;
        }
        Ok(())
    }

    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError> {
        let mut kept = self.lock();
        let Some(session) = kept.sessions.get_mut(&session) else { return Ok(None) };
        session.is_to_stop |= session.owner.is_some();
        Ok(session.owner)
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError> {
        self.lock().rooms_of_nodes.insert(node, room);
        Ok(())
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError> {
        let mut kept = self.lock();
        let Kept { nodes, rooms_of_nodes, .. } = &mut *kept;
        let others = rooms_of_nodes.iter_mut().filter(|(node, _)| **node != other_than && is_alive(nodes, **node));
        let roomiest = others.filter(|(_, room)| **room >= sessions).max_by_key(|(_, room)| **room);
        Ok(roomiest.map(|(node, room)| {
            *room -= sessions;
            *node
        }))
    }

    async fn living(&self) -> Result<Vec<Living>, JournalError> {
        let kept = self.lock();
        let living = kept.nodes.keys().filter(|node| is_alive(&kept.nodes, **node)).map(|node| Living {
            node: *node,
            room: kept.rooms_of_nodes.get(node).copied().unwrap_or_default(),
            sessions: kept.sessions.values().filter(|session| session.owner == Some(*node)).count() as u64,
        });
        Ok(living.collect())
    }

    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError> {
        let kept = self.lock();
        let owner = kept.sessions.get(&session).and_then(|session| session.owner);
        Ok(owner.is_some_and(|owner| is_alive(&kept.nodes, owner)))
    }
}

#[async_trait]
impl Letters for MemoryJournal {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError> {
        let (mut kept, now) = (self.lock(), Instant::now());
        kept.letters.retain(|letter| letter.until > now);
        let owner = kept.sessions.get(&letter.session).and_then(|session| session.owner);
        let Some(to) = owner.filter(|owner| is_alive(&kept.nodes, *owner)) else { return Ok(None) };
        kept.letters.push(KeptLetter { posted: Posted { letter, to }, answer: None, until: now + lifetime });
        Ok(Some(to))
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError> {
        let (kept, now) = (self.lock(), Instant::now());
        let is_theirs = |letter: &&KeptLetter| {
            let session = kept.sessions.get(&letter.posted.letter.session);
            letter.answer.is_none() && letter.until > now && session.is_some_and(|session| session.owner == Some(node))
        };
        Ok(kept.letters.iter().filter(is_theirs).take(limit).map(|letter| letter.posted.clone()).collect())
    }

    async fn answer(&self, letter: LetterId, answer: &str) -> Result<(), JournalError> {
        let mut kept = self.lock();
        let kept = kept.letters.iter_mut().find(|kept| kept.posted.letter.id == letter);
        if let Some(letter) = kept.filter(|letter| letter.answer.is_none()) {
            letter.answer = Some(answer.into());
        }
        Ok(())
    }

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError> {
        let kept = self.lock();
        let kept = kept.letters.iter().find(|kept| kept.posted.letter.id == letter);
        Ok(match kept.filter(|letter| letter.until > Instant::now()) {
            None => Fate::Gone,
            Some(KeptLetter { answer: None, .. }) => Fate::Unanswered,
            Some(KeptLetter { answer: Some(answer), .. }) => Fate::Answered(answer.clone()),
        })
    }

    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError> {
        self.lock().letters.retain(|kept| kept.posted.letter.id != letter);
        Ok(())
    }
}

impl Room {
    fn add(&mut self, session: SessionId, records: Vec<Arc<Record>>) {
        for record in records {
            self.head += 1;
            if self.head == 1 {
                self.started_at = record.at;
            }
            self.last_at = record.at;
            self.log.push(RoomRecord { place: RoomPlace(self.head), session, record });
        }
    }
}

impl Kept {
    fn summaries(&self) -> Vec<Summary> {
        self.sessions.values().filter_map(|session| session.summary(&self.nodes)).collect()
    }
}

impl Session {
    /// Keeps what an event says of where the session stands.
    fn note(&mut self, event: &Event) {
        if let Some(awaits) = event.awaits_person() {
            self.is_waiting = awaits != Awaits::Nobody;
            // Counted from now: the clock of whoever records may be another.
            let patience = awaits.until(Timestamp(0)).map(|until| Duration::from_millis(until.0));
            self.due = patience.and_then(|patience| Instant::now().checked_add(patience));
        }
        if let Some(reason) = ended(event) {
            self.has_ended = reason.is_some();
            self.is_to_stop = false;
        }
        if event.is_progress() {
            self.takeovers = 0;
        }
    }

    fn owned(&self, session: SessionId) -> Owned {
        let head = self.records.last().map_or(Seq::START, |last| last.seq);
        Owned { session, head, is_to_stop: self.is_to_stop }
    }

    fn summary(&self, nodes: &BTreeMap<NodeId, Instant>) -> Option<Summary> {
        let journal = &self.records;
        let (first, last) = (journal.first()?, journal.last()?);
        let Event::Started { setup, .. } = &first.event else { return None };
        let forked = journal.iter().rfind(|record| matches!(record.event, Event::Forked { .. }));
        Some(Summary {
            id: setup.id,
            format: setup.format.name().to_owned(),
            title: Summary::title_of(setup),
            cast: (&setup.cast).into(),
            room: room_of(journal),
            tenant: setup.tenant.clone(),
            started_at: forked.unwrap_or(first).at,
            last_at: last.at,
            head: last.seq,
            reason: journal.iter().rev().find_map(|record| ended(&record.event)).flatten(),
            is_waiting: self.is_waiting,
            is_owned: self.owner.is_some_and(|owner| is_alive(nodes, owner)),
            takeovers: self.takeovers,
        })
    }
}

fn is_alive(nodes: &BTreeMap<NodeId, Instant>, node: NodeId) -> bool {
    nodes.get(&node).is_some_and(|until| *until > Instant::now())
}

#[async_trait]
impl Memories for MemoryJournal {
    async fn memories(
        &self,
        agent: Option<&AgentId>,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError> {
        let kept = self.lock();
        let mut found: Vec<Memory> = kept.sessions.values().flat_map(|session| memories(&session.records)).collect();
        found.retain(|memory| {
            let is_theirs =
                agent.is_none_or(|agent| memory.agent == *agent) && story.is_none_or(|story| *memory.story == *story);
            is_theirs && !kept.forgotten.contains(&(memory.session, memory.seq))
        });
        found.sort_by_key(|memory| (memory.at, memory.session, memory.seq));
        Ok(found.split_off(found.len().saturating_sub(limit)))
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        self.lock().forgotten.extend(places);
        Ok(())
    }
}

#[async_trait]
impl Rooms for MemoryJournal {
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError> {
        let kept = self.lock();
        let log = kept.rooms.get(room).into_iter().flat_map(|room| &room.log);
        Ok(log.filter(|entry| entry.place > after).take(limit).cloned().collect())
    }

    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError> {
        Ok(RoomPlace(self.lock().rooms.get(room).map_or(0, |room| room.head)))
    }

    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        let kept = self.lock();
        let rooms = kept.rooms.iter().filter(|(_, room)| !room.log.is_empty());
        let rooms = rooms.map(|(name, Room { head, started_at, last_at, .. })| RoomSummary {
            room: name.clone(),
            started_at: *started_at,
            last_at: *last_at,
            head: RoomPlace(*head),
        });
        let mut rooms: Vec<RoomSummary> =
            rooms.filter(|room| before.is_none_or(|before| room.place() < *before)).collect();
        rooms.sort_by_key(|room| std::cmp::Reverse(room.place()));
        rooms.truncate(limit);
        Ok(rooms)
    }
}

fn room_of(journal: &[Arc<Record>]) -> Option<RoomId> {
    match &journal.first()?.event {
        Event::Started { setup, .. } => setup.room.as_ref().map(|call| call.room.clone()),
        _ => None,
    }
}

fn is_start(record: &Record, session: SessionId) -> bool {
    matches!(&record.event, Event::Started { setup, .. } if setup.id == session)
}

/// What an event says about whether the session has ended, if it says anything.
fn ended(event: &Event) -> Option<Option<Reason>> {
    match event {
        Event::Ended { reason, .. } => Some(Some(*reason)),
        Event::Started { .. } | Event::Resumed { .. } | Event::Forked { .. } => Some(None),
        _ => None,
    }
}
