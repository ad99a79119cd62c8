//! Takes a session out of the store, with all that follows from its journal.

use polylogue_core::id::SessionId;
use polylogue_runtime::port::{JournalError, NodeId};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{
    failed,
    locks::Locks,
    nodes, views,
    writer::{MAX_SEQ, SEQ_BITS},
};

/// Deletes a session that nobody runs, and tells whether it was there. Who appends meanwhile is fenced off.
pub(super) fn delete(connection: &mut Connection, locks: &Locks, session: SessionId) -> Result<bool, JournalError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let Some((key, owner)) = find(&transaction, session).map_err(failed)? else { return Ok(false) };
    if let Some(owner) = owner
        && nodes::is_alive(&transaction, locks, owner).map_err(failed)?
    {
        return Err(JournalError::Owned);
    }
    remove(&transaction, session, key).and_then(|()| transaction.commit()).map_err(failed)?;
    Ok(true)
}

fn find(transaction: &Transaction<'_>, session: SessionId) -> rusqlite::Result<Option<(i64, Option<NodeId>)>> {
    let mut select = transaction.prepare_cached("SELECT key, owner FROM sessions WHERE id = ?1")?;
    let found = select.query_row([session.as_bytes()], |row| {
        let owner: Option<[u8; 16]> = row.get(1)?;
        Ok((row.get(0)?, owner.map(NodeId::from_bytes)))
    });
    found.optional()
}

/// Rows go before those that they refer to.
fn remove(transaction: &Transaction<'_>, session: SessionId, key: i64) -> rusqlite::Result<()> {
    let (first, last) = (key << SEQ_BITS, (key << SEQ_BITS) + MAX_SEQ as i64);
    views::remove(transaction, session, first, last)?;
    transaction.execute("DELETE FROM room_log WHERE record BETWEEN ?1 AND ?2", params![first, last])?;
    transaction.execute("DELETE FROM room_sessions WHERE session = ?1", [key])?;
    transaction.execute("DELETE FROM forks WHERE session = ?1", [key])?;
    transaction.execute("DELETE FROM letters WHERE session = ?1", [session.as_bytes()])?;
    transaction.execute("DELETE FROM journal WHERE place BETWEEN ?1 AND ?2", params![first, last])?;
    transaction.execute("DELETE FROM sessions WHERE key = ?1", [key])?;
    Ok(())
}
