//! What is kept beside the journal for others to read: made of the records by the caller, and written in their
//! transaction.

use std::sync::Arc;

use polylogue_core::{
    Record,
    id::SessionId,
    projection::{DiscussionChange, discussion_changes},
};
use rusqlite::Transaction;

use super::discussion;

/// What an append changes in the tables beside the journal.
#[derive(Debug)]
pub(super) struct Views {
    discussion: Vec<DiscussionChange>,
}

impl Views {
    pub(super) fn of(session: SessionId, records: &[Arc<Record>]) -> Views {
        Views { discussion: discussion_changes(session, records) }
    }

    pub(super) fn write(&self, transaction: &Transaction<'_>, session: SessionId) -> rusqlite::Result<()> {
        discussion::write(transaction, session, &self.discussion)
    }
}
