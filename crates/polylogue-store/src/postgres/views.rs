//! The tables that are kept beside the journal, in PostgreSQL. Memories are written by `group.rs`, all of a group at once.

use deadpool_postgres::Transaction;
use polylogue_core::id::SessionId;
use tokio_postgres::Error;

use super::{
    discussion,
    value::{self, Sent},
};
use crate::views::Views;

/// A statement and its values.
pub(super) struct Write {
    pub(super) sql: &'static str,
    pub(super) values: Vec<Sent>,
}

/// What an append changes beside the records of its session.
pub(super) fn writes(session: SessionId, views: &Views) -> Vec<Write> {
    discussion::writes(session, &views.discussion)
}

/// Takes out what was written beside the records of a session.
pub(super) async fn remove(transaction: &Transaction<'_>, session: SessionId) -> Result<(), Error> {
    discussion::remove(transaction, session).await?;
    for table in ["memories", "forgotten"] {
        let remove = format!("DELETE FROM {table} WHERE session_id = $1");
        transaction.execute(&remove, &[&value::session(session)]).await?;
    }
    Ok(())
}
