//! The tables that are kept beside the journal, in SQLite.

use polylogue_core::id::SessionId;
use rusqlite::Transaction;

use super::{discussion, memories};
use crate::views::Views;

/// Writes what an append changes beside the records of the session with this key.
pub(super) fn write(
    transaction: &Transaction<'_>,
    views: &Views,
    session: SessionId,
    key: i64,
) -> rusqlite::Result<()> {
    discussion::write(transaction, session, &views.discussion)?;
    memories::write(transaction, key, &views.remembered)
}

/// Takes out what was written beside the records of a session, whose places are these.
pub(super) fn remove(transaction: &Transaction<'_>, session: SessionId, first: i64, last: i64) -> rusqlite::Result<()> {
    discussion::remove(transaction, session)?;
    memories::remove(transaction, first, last)
}
