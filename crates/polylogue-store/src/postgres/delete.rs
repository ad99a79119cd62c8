//! Takes a session out of the store, with all that follows from its journal.

use deadpool_postgres::Object;
use polylogue_core::id::SessionId;
use polylogue_runtime::port::JournalError;

use super::{problem::Problem, value, views};

/// Deletes a session that nobody runs, and tells whether it was there. Who appends meanwhile is fenced off.
pub(super) async fn delete(connection: &mut Object, session: SessionId) -> Result<bool, Problem> {
    let transaction = connection.transaction().await?;
    let id = value::session(session);
    let look = "SELECT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = owner AND alive_until > clock_timestamp())
                FROM sessions WHERE id = $1 FOR UPDATE OF sessions";
    let Some(row) = transaction.query_opt(look, &[&id]).await? else { return Ok(false) };
    if row.get(0) {
        return Err(JournalError::Owned.into());
    }
    // Rows go before those that they refer to.
    views::remove(&transaction, session).await?;
    for table in ["room_log", "forks", "letters", "journal"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE session_id = $1"), &[&id]).await?;
    }
    transaction.execute("DELETE FROM sessions WHERE id = $1", &[&id]).await?;
    transaction.commit().await?;
    Ok(true)
}
