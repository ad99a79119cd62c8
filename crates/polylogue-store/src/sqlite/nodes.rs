//! Nodes and what they own. A node is alive while its time is not up and, where the file system has locks, its process
//! holds its lock: so the end of a process is noticed at once, and that of one that hangs after a while.

use std::time::Duration;

use polylogue_core::id::{Seq, SessionId};
use polylogue_runtime::port::{JournalError, Living, MAX_TAKEOVERS, NodeId, Owned};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, named_params, params};

use super::{failed, locks::Locks};
use crate::list::rows;

/// The moment by the database's clock, in milliseconds.
pub(super) const NOW: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// Sessions that nobody runs, those that have waited for people long enough, and those that have ended and whose owner is gone before it gave them up; each part has
/// its index. Whether an owner is alive is asked of the table alone: whoever uses this has buried those without a lock.
const LEFT: &str = "SELECT key, started_at, id FROM sessions
     WHERE reason IS NULL AND waiting = 0 AND takeovers < :most
         AND (owner IS NULL OR owner NOT IN (SELECT id FROM nodes WHERE alive_until > :now))
     UNION ALL SELECT key, started_at, id FROM sessions
     WHERE due <= :now AND reason IS NULL AND waiting = 1 AND takeovers < :most
         AND (owner IS NULL OR owner NOT IN (SELECT id FROM nodes WHERE alive_until > :now))
     UNION ALL SELECT key, started_at, id FROM sessions
     WHERE owner IS NOT NULL AND reason IS NOT NULL AND takeovers < :most
         AND owner NOT IN (SELECT id FROM nodes WHERE alive_until > :now)";

pub(super) fn keep_alive(
    connection: &mut Connection,
    locks: &Locks,
    node: NodeId,
    lease: Duration,
) -> Result<bool, JournalError> {
    let problem =
        |error: std::io::Error| JournalError::Unavailable(format!("its lock cannot be made: {}", error.kind()));
    let is_new = !locks.holds(node);
    let has_lock = locks.hold(node).map_err(problem)?;
    if is_new {
        clear_away(connection, locks).map_err(failed)?;
    }
    let had_lapsed = had_lapsed(connection, node).map_err(failed)?;
    let mut renew = connection
        .prepare_cached(&format!(
            "INSERT INTO nodes (id, alive_until, locks) VALUES (?1, {NOW} + ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until, locks = excluded.locks"
        ))
        .map_err(failed)?;
    let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX / 4);
    renew.execute(params![node.as_bytes(), lease, has_lock]).map_err(failed)?;
    Ok(had_lapsed)
}

/// Whether a node was known and its time is up.
fn had_lapsed(connection: &Connection, node: NodeId) -> rusqlite::Result<bool> {
    let mut select = connection.prepare_cached(&format!("SELECT alive_until <= {NOW} FROM nodes WHERE id = ?1"))?;
    Ok(select.query_row([node.as_bytes()], |row| row.get(0)).optional()?.unwrap_or(false))
}

pub(super) fn depart(connection: &mut Connection, locks: &Locks, node: NodeId) -> Result<(), JournalError> {
    let depart = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // One that has ended keeps the owner who is gone until somebody has seen to its files.
        transaction.execute(
            "UPDATE sessions SET takeovers = 0, owner = iif(reason IS NULL, NULL, owner) WHERE owner = ?1",
            [node.as_bytes()],
        )?;
        transaction.execute("DELETE FROM nodes WHERE id = ?1", [node.as_bytes()])?;
        transaction.commit()
    };
    depart(connection).map_err(failed)?;
    locks.let_go(node);
    Ok(())
}

/// Forgets the nodes whose process is gone.
fn clear_away(connection: &Connection, locks: &Locks) -> rusqlite::Result<()> {
    let mut select = connection.prepare_cached("SELECT id FROM nodes WHERE locks")?;
    let nodes = select.query_map([], node)?.collect::<rusqlite::Result<Vec<NodeId>>>()?;
    for gone in nodes.into_iter().filter(|node| !locks.is_held(*node)) {
        bury(connection, gone)?;
        locks.remove(gone);
    }
    let mut forget = connection.prepare_cached(&format!("DELETE FROM nodes WHERE alive_until < {NOW} - ?1"))?;
    forget.execute([FORGOTTEN_AFTER_MS])?;
    Ok(())
}

/// How long a node without a lock is remembered when its time is up.
const FORGOTTEN_AFTER_MS: i64 = 24 * 3_600 * 1_000;

fn bury(connection: &Connection, node: NodeId) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM nodes WHERE id = ?1")?.execute([node.as_bytes()])?;
    Ok(())
}

/// The moment, and the nodes that say that they are alive but whose process is gone.
fn gone(connection: &Connection, locks: &Locks) -> rusqlite::Result<(i64, Vec<NodeId>)> {
    let now = connection.prepare_cached(&format!("SELECT {NOW}"))?.query_row([], |row| row.get(0))?;
    let mut select = connection.prepare_cached("SELECT id FROM nodes WHERE alive_until > ?1 AND locks")?;
    let nodes = select.query_map([now], node)?.collect::<rusqlite::Result<Vec<NodeId>>>()?;
    Ok((now, nodes.into_iter().filter(|node| !locks.is_held(*node)).collect()))
}

/// Whether there is anything to take over. Reads only, so that it can be asked every second.
pub(super) fn is_any_left(connection: &Connection, locks: &Locks) -> Result<bool, JournalError> {
    let look = || {
        let (now, gone) = gone(connection, locks)?;
        let sql = format!("SELECT EXISTS ({LEFT})");
        let mut select = connection.prepare_cached(&sql)?;
        let is_left = select.query_row(named_params! {":most": MAX_TAKEOVERS, ":now": now}, |row| row.get(0))?;
        let mut owns = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE owner = ?1)")?;
        let mut owns = |node: &NodeId| owns.query_row([node.as_bytes()], |row| row.get(0));
        gone.iter().try_fold(is_left, |any, node| Ok(any || owns(node)?))
    };
    look().map_err(failed)
}

pub(super) fn take_over(
    connection: &mut Connection,
    locks: &Locks,
    node: NodeId,
    limit: usize,
) -> Result<Vec<Owned>, JournalError> {
    let take = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if had_lapsed(&transaction, node)? {
            return Ok(Vec::new());
        }
        let (now, gone) = gone(&transaction, locks)?;
        gone.iter().try_for_each(|gone| bury(&transaction, *gone))?;
        let taken = {
            let sql = format!(
                "UPDATE sessions SET owner = :node, takeovers = takeovers + 1 WHERE key IN
                 (SELECT key FROM ({LEFT}) ORDER BY started_at, id LIMIT :limit)
                 RETURNING id, head, stop"
            );
            let mut take = transaction.prepare_cached(&sql)?;
            let values = named_params! {
                ":node": node.as_bytes(), ":most": MAX_TAKEOVERS, ":now": now, ":limit": rows(limit)
            };
            take.query_map(values, owned_in)?.collect::<rusqlite::Result<_>>()?
        };
        transaction.commit()?;
        gone.into_iter().for_each(|gone| locks.remove(gone));
        Ok(taken)
    };
    take(connection).map_err(failed)
}

pub(super) fn owned(connection: &Connection, node: NodeId) -> Result<Vec<Owned>, JournalError> {
    let mut select =
        connection.prepare_cached("SELECT id, head, stop FROM sessions WHERE owner = ?1").map_err(failed)?;
    let found = select.query_map([node.as_bytes()], owned_in).map_err(failed)?;
    found.collect::<rusqlite::Result<_>>().map_err(failed)
}

pub(super) fn give_up(
    connection: &mut Connection,
    node: NodeId,
    session: SessionId,
    head: Seq,
) -> Result<(), JournalError> {
    let mut give_up = connection
        .prepare_cached("UPDATE sessions SET owner = NULL WHERE id = ?1 AND owner = ?2 AND head = ?3")
        .map_err(failed)?;
    give_up.execute(params![session.as_bytes(), node.as_bytes(), head.0 as i64]).map_err(failed)?;
    Ok(())
}

pub(super) fn ask_to_stop(connection: &mut Connection, session: SessionId) -> Result<Option<NodeId>, JournalError> {
    let mut ask = connection
        .prepare_cached("UPDATE sessions SET stop = 1 WHERE id = ?1 AND owner IS NOT NULL RETURNING owner")
        .map_err(failed)?;
    ask.query_row([session.as_bytes()], node).optional().map_err(failed)
}

pub(super) fn tell_room(connection: &mut Connection, node: NodeId, room: u32) -> Result<(), JournalError> {
    let mut tell = connection.prepare_cached("UPDATE nodes SET room = ?2 WHERE id = ?1").map_err(failed)?;
    tell.execute(params![node.as_bytes(), room]).map_err(failed)?;
    Ok(())
}

pub(super) fn book(
    connection: &mut Connection,
    locks: &Locks,
    sessions: u32,
    other_than: NodeId,
) -> Result<Option<NodeId>, JournalError> {
    let book = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let others = alive(&transaction, locks)?.into_iter().filter(|node| *node != other_than);
        let others = others.map(|node| Ok((room_of(&transaction, node)?, node)));
        let roomiest = others.collect::<rusqlite::Result<Vec<(u32, NodeId)>>>()?.into_iter().max();
        let booked = roomiest.filter(|(room, _)| *room >= sessions).map(|(_, node)| node);
        if let Some(node) = booked {
            let take = "UPDATE nodes SET room = room - ?2 WHERE id = ?1";
            transaction.execute(take, params![node.as_bytes(), sessions])?;
        }
        transaction.commit()?;
        Ok(booked)
    };
    book(connection).map_err(failed)
}

fn room_of(connection: &Connection, node: NodeId) -> rusqlite::Result<u32> {
    let mut select = connection.prepare_cached("SELECT room FROM nodes WHERE id = ?1")?;
    select.query_row([node.as_bytes()], |row| row.get(0))
}

pub(super) fn living(connection: &Connection, locks: &Locks) -> Result<Vec<Living>, JournalError> {
    let look = || {
        let mut owned = connection.prepare_cached("SELECT count(*) FROM sessions WHERE owner = ?1")?;
        let mut living = alive(connection, locks)?
            .into_iter()
            .map(|node| {
                let sessions: i64 = owned.query_row([node.as_bytes()], |row| row.get(0))?;
                Ok(Living { node, room: room_of(connection, node)?, sessions: sessions.unsigned_abs() })
            })
            .collect::<rusqlite::Result<Vec<Living>>>()?;
        living.sort_by_key(|living| living.node);
        Ok(living)
    };
    look().map_err(failed)
}

pub(super) fn is_owned(connection: &Connection, locks: &Locks, session: SessionId) -> Result<bool, JournalError> {
    let look = || {
        let mut select = connection.prepare_cached("SELECT owner FROM sessions WHERE id = ?1 AND owner IS NOT NULL")?;
        let owner = select.query_row([session.as_bytes()], node).optional()?;
        owner.map_or(Ok(false), |owner| is_alive(connection, locks, owner))
    };
    look().map_err(failed)
}

/// Whether a node is there.
pub(super) fn is_alive(connection: &Connection, locks: &Locks, node: NodeId) -> rusqlite::Result<bool> {
    let mut select =
        connection.prepare_cached(&format!("SELECT locks FROM nodes WHERE id = ?1 AND alive_until > {NOW}"))?;
    let has_lock: Option<bool> = select.query_row([node.as_bytes()], |row| row.get(0)).optional()?;
    Ok(has_lock.is_some_and(|has_lock| !has_lock || locks.is_held(node)))
}

/// The nodes that are there, for a list of sessions.
pub(super) fn alive(connection: &Connection, locks: &Locks) -> rusqlite::Result<Vec<NodeId>> {
    let mut select = connection.prepare_cached(&format!("SELECT id, locks FROM nodes WHERE alive_until > {NOW}"))?;
    let nodes = select.query_map([], |row| Ok((node(row)?, row.get(1)?)))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let is_there = |(node, has_lock): &(NodeId, bool)| !has_lock || locks.is_held(*node);
    Ok(nodes.into_iter().filter(is_there).map(|(node, _)| node).collect())
}

/// The node in the first column.
fn node(row: &Row<'_>) -> rusqlite::Result<NodeId> {
    row.get(0).map(NodeId::from_bytes)
}

fn owned_in(row: &Row<'_>) -> rusqlite::Result<Owned> {
    Ok(Owned {
        session: SessionId::from_bytes(row.get(0)?),
        head: Seq(row.get::<_, i64>(1)?.unsigned_abs()),
        is_to_stop: row.get(2)?,
    })
}
