//! One append in the form in which every backend writes it: made by the caller, so that the writer only writes.

use std::sync::Arc;

use polylogue_core::{
    Event, Reason, Record, Tenant, Timestamp,
    event::Awaits,
    id::{Seq, SessionId},
    room::RoomId,
};
use polylogue_runtime::port::{CastNames, JournalError, NodeId, Summary};

use crate::{list, views::Views};

/// Records that follow each other, and what they change in the list of sessions.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) session: SessionId,
    /// Who appends, and owns the session from then on.
    pub(crate) node: NodeId,
    /// The place before the first record.
    pub(crate) after: Seq,
    pub(crate) head: Seq,
    pub(crate) last_at: i64,
    /// Set when the session begins with this append.
    pub(crate) start: Option<Start>,
    /// Set when this append ends the session or opens it again.
    pub(crate) close: Option<Close>,
    /// Set when this append says whether it is a person's turn.
    pub(crate) waiting: Option<Waiting>,
    /// Whether something has come of running the session.
    pub(crate) is_progress: bool,
    pub(crate) rows: Vec<Row>,
    pub(crate) views: Views,
}

/// Whether a session waits for people, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) is_waiting: bool,
    pub(crate) due: Option<i64>,
}

impl Waiting {
    fn new(awaits: Awaits, since: Timestamp) -> Result<Waiting, JournalError> {
        let due = awaits.until(since).map(millis).transpose()?;
        Ok(Waiting { is_waiting: awaits != Awaits::Nobody, due })
    }
}

#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) format: String,
    pub(crate) title: String,
    /// Who takes part, as JSON.
    pub(crate) cast: String,
    /// The sessions that it was forked from, at whatever remove.
    pub(crate) origins: Vec<SessionId>,
    pub(crate) started_at: i64,
    pub(crate) version: u32,
    /// Where it answers in a room.
    pub(crate) room: Option<RoomId>,
    /// Who it belongs to.
    pub(crate) tenant: Option<Tenant>,
    /// The story that its memories belong to.
    pub(crate) story: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Close {
    Ended(Reason),
    Reopened { version: u32 },
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) at: i64,
    pub(crate) event: String,
}

impl Batch {
    /// The batch of these records, or nothing when there are none.
    pub(crate) fn new(
        session: SessionId,
        records: &[Arc<Record>],
        node: NodeId,
    ) -> Result<Option<Batch>, JournalError> {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(None) };
        let Some(after) = first.seq.0.checked_sub(1).map(Seq) else {
            return Err(JournalError::Fenced { after: Seq::START });
        };
        if let Some(pair) = records.windows(2).find(|pair| pair[1].seq != pair[0].seq.next()) {
            return Err(JournalError::Fenced { after: pair[0].seq });
        }
        let mut rows = Vec::with_capacity(records.len());
        let (mut close, mut waiting) = (None, None);
        for record in records {
            if let Some(awaits) = record.event.awaits_person() {
                waiting = Some(Waiting::new(awaits, record.at)?);
            }
            rows.push(Row { at: millis(record.at)?, event: record.event.encode() });
            match &record.event {
                Event::Ended { reason, .. } => close = Some(Close::Ended(*reason)),
                Event::Resumed { version, .. } | Event::Forked { version, .. } => {
                    close = Some(Close::Reopened { version: *version });
                }
                _ => {}
            }
        }
        let start = Start::of(session, records)?;
        let is_progress = records.iter().any(|record| record.event.is_progress());
        let (head, last_at, views) = (last.seq, millis(last.at)?, Views::of(session, records));
        Ok(Some(Batch { session, node, after, head, last_at, start, close, waiting, is_progress, rows, views }))
    }
}

impl Start {
    /// A fork brings a copied journal: the session itself begins where the copy ends.
    fn of(session: SessionId, records: &[Arc<Record>]) -> Result<Option<Start>, JournalError> {
        let first = &records[0];
        let Event::Started { version, setup } = &first.event else { return Ok(None) };
        if first.seq != Seq::START.next() || setup.id != session {
            return Ok(None);
        }
        let forked = records.iter().rfind(|record| matches!(record.event, Event::Forked { .. }));
        let origins = records.iter().filter_map(|record| match &record.event {
            Event::Forked { from, .. } => Some(*from),
            _ => None,
        });
        Ok(Some(Start {
            format: setup.format.name().to_owned(),
            title: Summary::title_of(setup),
            cast: list::encode_cast(&CastNames::from(&setup.cast)),
            origins: origins.collect(),
            started_at: millis(forked.unwrap_or(first).at)?,
            version: *version,
            room: setup.room.as_ref().map(|call| call.room.clone()),
            tenant: setup.tenant.clone(),
            story: setup.format.story().map(str::to_owned),
        }))
    }
}

fn millis(at: Timestamp) -> Result<i64, JournalError> {
    i64::try_from(at.0).map_err(|_| JournalError::Failed(format!("the time {at} is beyond what it can hold")))
}
