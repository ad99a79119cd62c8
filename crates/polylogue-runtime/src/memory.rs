//! A journal in memory, for tests, trials and benchmarks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Reason, Record,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
    projection,
};

use crate::port::{Journal, JournalError, Summary};

/// Journals that end with the process.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    sessions: Mutex<BTreeMap<SessionId, Vec<Arc<Record>>>>,
    forgotten: Mutex<BTreeSet<(SessionId, Seq)>>,
}

impl MemoryJournal {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Vec<Arc<Record>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>) -> Result<(), JournalError> {
        let mut sessions = self.lock();
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
        if !records.is_empty() {
            sessions.entry(session).or_default().extend(records);
        }
        Ok(())
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        let sessions = self.lock();
        let records = sessions.get(&session).into_iter().flatten();
        Ok(records.skip(usize::try_from(after.0).unwrap_or(usize::MAX)).take(limit).cloned().collect())
    }

    async fn sessions(&self, limit: usize) -> Result<Vec<Summary>, JournalError> {
        let mut summaries: Vec<Summary> = self.lock().values().filter_map(|journal| summarize(journal)).collect();
        summaries.sort_by_key(|summary| std::cmp::Reverse((summary.last_at, summary.id)));
        summaries.truncate(limit);
        Ok(summaries)
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        let (sessions, prefix) = (self.lock(), id_prefix.to_ascii_lowercase());
        Ok(sessions.keys().filter(|id| id.to_string().starts_with(&prefix)).take(limit).copied().collect())
    }

    async fn unfinished(&self) -> Result<Vec<SessionId>, JournalError> {
        let mut open: Vec<Summary> = self.lock().values().filter_map(|journal| summarize(journal)).collect();
        open.retain(|summary| summary.reason.is_none());
        open.sort_by_key(|summary| (summary.started_at, summary.id));
        Ok(open.into_iter().map(|summary| summary.id).collect())
    }

    async fn memories(
        &self,
        character: &AgentId,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError> {
        let mut found: Vec<Memory> = self.lock().values().flat_map(|journal| projection::memories(journal)).collect();
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|memory| {
            let is_theirs = memory.character == *character && story.is_none_or(|story| *memory.story == *story);
            is_theirs && !forgotten.contains(&(memory.session, memory.seq))
        });
        found.sort_by_key(|memory| (memory.at, memory.session, memory.seq));
        Ok(found.split_off(found.len().saturating_sub(limit)))
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).extend(places);
        Ok(())
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
