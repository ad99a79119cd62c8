//! The tables that are kept beside the journal: made of the records by the caller, and written in their
//! transaction. A format that has tables of its own has a line here.

use std::sync::Arc;

use polylogue_core::{
    Record,
    format::discussion::{DiscussionChange, discussion_changes},
    id::{AgentId, Seq, SessionId},
    memory::remembered,
};
use rusqlite::Transaction;

use super::{discussion, memories};

/// What an append changes in the tables beside the journal.
#[derive(Debug)]
pub(super) struct Views {
    discussion: Vec<DiscussionChange>,
    /// Where somebody put down a memory, and who.
    remembered: Vec<(Seq, AgentId)>,
}

impl Views {
    pub(super) fn of(session: SessionId, records: &[Arc<Record>]) -> Views {
        let remembered = remembered(records).map(|(record, who, _)| (record.seq, who.clone())).collect();
        Views { discussion: discussion_changes(session, records), remembered }
    }

    /// Writes it beside the records of the session with this key.
    pub(super) fn write(&self, transaction: &Transaction<'_>, session: SessionId, key: i64) -> rusqlite::Result<()> {
        discussion::write(transaction, session, &self.discussion)?;
        memories::write(transaction, key, &self.remembered)
    }

    /// Takes out what was written beside the records of a session, whose places are these.
    pub(super) fn remove(
        transaction: &Transaction<'_>,
        session: SessionId,
        first: i64,
        last: i64,
    ) -> rusqlite::Result<()> {
        discussion::remove(transaction, session)?;
        memories::remove(transaction, first, last)
    }
}
