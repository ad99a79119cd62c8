//! A journal in memory, for tests, trials and benchmarks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Reason, Record,
    id::{Seq, SessionId},
};

use crate::port::{Journal, JournalError, Summary};

/// Journals that end with the process.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    sessions: Mutex<BTreeMap<SessionId, Vec<Arc<Record>>>>,
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
        let journal = sessions.entry(session).or_default();
        let mut after = journal.last().map_or(Seq::START, |record| record.seq);
        for record in &records {
            if record.seq != after.next() {
                return Err(JournalError::Fenced { after });
            }
            after = record.seq;
        }
        journal.extend(records);
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
        let sessions = self.lock();
        Ok(sessions.keys().filter(|id| id.to_string().starts_with(id_prefix)).take(limit).copied().collect())
    }

    async fn unfinished(&self) -> Result<Vec<SessionId>, JournalError> {
        let mut open: Vec<Summary> = self.lock().values().filter_map(|journal| summarize(journal)).collect();
        open.retain(|summary| summary.reason.is_none());
        open.sort_by_key(|summary| (summary.started_at, summary.id));
        Ok(open.into_iter().map(|summary| summary.id).collect())
    }
}

fn summarize(journal: &[Arc<Record>]) -> Option<Summary> {
    let (first, last) = (journal.first()?, journal.last()?);
    let Event::Started { setup, .. } = &first.event else { return None };
    Some(Summary {
        id: setup.id,
        format: setup.format.name().to_owned(),
        title: setup.format.title().to_owned(),
        started_at: first.at,
        last_at: last.at,
        head: last.seq,
        reason: ended(&last.event),
    })
}

/// An end is always the last record, until the session is resumed.
fn ended(last: &Event) -> Option<Reason> {
    match last {
        Event::Ended { reason, .. } => Some(*reason),
        _ => None,
    }
}
