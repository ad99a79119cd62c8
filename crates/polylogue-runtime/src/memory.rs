//! A journal in memory, for tests, trials and benchmarks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Reason, Record,
    id::{AgentId, Seq, SessionId},
    memory::{Memory, memories},
    room::{RoomId, RoomPlace},
};

use crate::port::{Journal, JournalError, Memories, RoomRecord, RoomSummary, Rooms, Summary};

/// Journals that end with the process.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: BTreeMap<SessionId, Vec<Arc<Record>>>,
    rooms: BTreeMap<RoomId, Vec<(SessionId, Arc<Record>)>>,
    forgotten: BTreeSet<(SessionId, Seq)>,
}

impl MemoryJournal {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>) -> Result<(), JournalError> {
        let mut kept = self.lock();
        let Kept { sessions, rooms, .. } = &mut *kept;
        let mut after = sessions.get(&session).and_then(|journal| journal.last()).map_or(Seq::START, |last| last.seq);
        for record in &records {
            if record.seq != after.next() {
                return Err(JournalError::Fenced { after });
            }
            if after == Seq::START && !is_start(record, session) {
                return Err(JournalError::Failed("a journal begins with the start of its own session".to_owned()));
            }
            after = record.seq;
        }
        if records.is_empty() {
            return Ok(());
        }
        let journal = sessions.entry(session).or_default();
        journal.extend(records.iter().cloned());
        if let Some(room) = room_of(journal) {
            rooms.entry(room).or_default().extend(records.into_iter().map(|record| (session, record)));
        }
        Ok(())
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        let kept = self.lock();
        let records = kept.sessions.get(&session).into_iter().flatten();
        Ok(records.skip(usize::try_from(after.0).unwrap_or(usize::MAX)).take(limit).cloned().collect())
    }

    async fn sessions(&self, limit: usize) -> Result<Vec<Summary>, JournalError> {
        let mut summaries: Vec<Summary> =
            self.lock().sessions.values().filter_map(|journal| summarize(journal)).collect();
        summaries.sort_by_key(|summary| std::cmp::Reverse((summary.last_at, summary.id)));
        summaries.truncate(limit);
        Ok(summaries)
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        let (kept, prefix) = (self.lock(), id_prefix.to_ascii_lowercase());
        Ok(kept.sessions.keys().filter(|id| id.to_string().starts_with(&prefix)).take(limit).copied().collect())
    }

    async fn unfinished(&self) -> Result<Vec<SessionId>, JournalError> {
        let mut open: Vec<Summary> = self.lock().sessions.values().filter_map(|journal| summarize(journal)).collect();
        open.retain(|summary| summary.reason.is_none() && !summary.is_waiting);
        open.sort_by_key(|summary| (summary.started_at, summary.id));
        Ok(open.into_iter().map(|summary| summary.id).collect())
    }
}

#[async_trait]
impl Memories for MemoryJournal {
    async fn memories(&self, agent: &AgentId, story: Option<&str>, limit: usize) -> Result<Vec<Memory>, JournalError> {
        let kept = self.lock();
        let mut found: Vec<Memory> = kept.sessions.values().flat_map(|journal| memories(journal)).collect();
        found.retain(|memory| {
            let is_theirs = memory.agent == *agent && story.is_none_or(|story| *memory.story == *story);
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
        let log = kept.rooms.get(room).into_iter().flatten().zip(1..);
        let log = log.skip(usize::try_from(after.0).unwrap_or(usize::MAX)).take(limit);
        let records = log.map(|((session, record), place)| RoomRecord {
            place: RoomPlace(place),
            session: *session,
            record: record.clone(),
        });
        Ok(records.collect())
    }

    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError> {
        Ok(RoomPlace(self.lock().rooms.get(room).map_or(0, Vec::len) as u64))
    }

    async fn rooms(&self, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        let summary = |(room, log): (&RoomId, &Vec<(SessionId, Arc<Record>)>)| {
            let (started_at, last_at) = (log.first()?.1.at, log.last()?.1.at);
            Some(RoomSummary { room: room.clone(), started_at, last_at, head: RoomPlace(log.len() as u64) })
        };
        let mut rooms: Vec<RoomSummary> = self.lock().rooms.iter().filter_map(summary).collect();
        rooms.sort_by(|a, b| (b.last_at, &b.room).cmp(&(a.last_at, &a.room)));
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

fn summarize(journal: &[Arc<Record>]) -> Option<Summary> {
    let (first, last) = (journal.first()?, journal.last()?);
    let Event::Started { setup, .. } = &first.event else { return None };
    let forked = journal.iter().rfind(|record| matches!(record.event, Event::Forked { .. }));
    Some(Summary {
        id: setup.id,
        format: setup.format.name().to_owned(),
        title: setup.format.title().chars().take(Summary::MAX_TITLE_CHARS).collect(),
        started_at: forked.unwrap_or(first).at,
        last_at: last.at,
        head: last.seq,
        reason: journal.iter().rev().find_map(|record| ended(&record.event)).flatten(),
        is_waiting: journal.iter().rev().find_map(|record| record.event.awaits_person()).unwrap_or_default(),
    })
}

/// What an event says about whether the session has ended, if it says anything.
fn ended(event: &Event) -> Option<Option<Reason>> {
    match event {
        Event::Ended { reason, .. } => Some(Some(*reason)),
        Event::Started { .. } | Event::Resumed { .. } | Event::Forked { .. } => Some(None),
        _ => None,
    }
}
