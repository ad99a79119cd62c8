//! Letters to the owners of sessions.

use std::time::Duration;

use polylogue_core::id::SessionId;
use polylogue_runtime::port::{Fate, Letter, LetterId, NodeId, Posted};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{
    locks::Locks,
    nodes::{self, NOW},
};
use crate::list::rows;

pub(super) fn post(
    connection: &mut Connection,
    locks: &Locks,
    letter: &Letter,
    lifetime: Duration,
) -> rusqlite::Result<Option<NodeId>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.prepare_cached(&format!("DELETE FROM letters WHERE until <= {NOW}"))?.execute([])?;
    let owner = {
        let mut select = transaction.prepare_cached("SELECT owner FROM sessions WHERE id = ?1")?;
        let owner = select.query_row([letter.session.as_bytes()], |row| row.get::<_, Option<[u8; 16]>>(0));
        owner.optional()?.flatten().map(NodeId::from_bytes)
    };
    let to = match owner {
        Some(owner) if nodes::is_alive(&transaction, locks, owner)? => Some(owner),
        _ => None,
    };
    if let Some(to) = to {
        let sql =
            format!("INSERT INTO letters (id, session, owner, content, until) VALUES (?1, ?2, ?3, ?4, {NOW} + ?5)");
        let lifetime = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX / 4);
        let Letter { id, session, content } = letter;
        let values = params![id.as_bytes(), session.as_bytes(), to.as_bytes(), &**content, lifetime];
        transaction.prepare_cached(&sql)?.execute(values)?;
    }
    transaction.commit()?;
    Ok(to)
}

pub(super) fn to(connection: &Connection, node: NodeId, limit: usize) -> rusqlite::Result<Vec<Posted>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT letters.id, session, content, letters.owner FROM letters JOIN sessions ON sessions.id = session
         WHERE sessions.owner = ?1 AND answer IS NULL AND until > {NOW} ORDER BY n LIMIT ?2"
    ))?;
    let posted = select.query_map(params![node.as_bytes(), rows(limit)], |row| {
        let content: String = row.get(2)?;
        let (id, session) = (LetterId::from_bytes(row.get(0)?), SessionId::from_bytes(row.get(1)?));
        Ok(Posted { letter: Letter { id, session, content: content.into() }, to: NodeId::from_bytes(row.get(3)?) })
    })?;
    posted.collect()
}

pub(super) fn answer(connection: &mut Connection, letter: LetterId, answer: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE letters SET answer = ?2, content = '' WHERE id = ?1 AND answer IS NULL";
    connection.prepare_cached(sql)?.execute(params![letter.as_bytes(), answer])?;
    Ok(())
}

pub(super) fn fate(connection: &Connection, letter: LetterId) -> rusqlite::Result<Fate> {
    let sql = format!("SELECT answer FROM letters WHERE id = ?1 AND until > {NOW}");
    let mut select = connection.prepare_cached(&sql)?;
    let found: Option<Option<String>> = select.query_row([letter.as_bytes()], |row| row.get(0)).optional()?;
    Ok(match found {
        None => Fate::Gone,
        Some(None) => Fate::Unanswered,
        Some(Some(answer)) => Fate::Answered(answer.into()),
    })
}

pub(super) fn withdraw(connection: &mut Connection, letter: LetterId) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM letters WHERE id = ?1")?.execute([letter.as_bytes()])?;
    Ok(())
}
