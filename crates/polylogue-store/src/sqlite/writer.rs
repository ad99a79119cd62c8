//! The one thread that writes. It takes whatever is waiting, commits it in one transaction, and only then
//! answers: the sync to disk is what an append costs, and all that wait share it.

use std::{convert::Infallible, sync::mpsc as thread_mpsc};

use polylogue_core::{Tenant, id::Seq};
use polylogue_runtime::port::{JournalError, NodeId};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use super::{failed, locks::Locks, nodes, room, views};
use crate::batch::{Batch, Close, Start, Waiting};

/// How many appends are committed together at most.
const MAX_GROUP: usize = 4_096;

/// Bits of a row's place that are the record's number; the session's key is above them.
pub(super) const SEQ_BITS: u32 = 32;

/// The largest number of a record that a place can hold.
pub(super) const MAX_SEQ: u64 = (1 << SEQ_BITS) - 1;

pub(super) enum Command {
    Append(Box<Append>),
    /// Something else that is written.
    Do(Box<dyn FnOnce(&mut Connection) + Send>),
    /// What was asked before is done, what was asked after is not.
    Close,
}

#[derive(Debug)]
pub(super) struct Append {
    pub(super) batch: Batch,
    pub(super) answer: oneshot::Sender<Result<(), JournalError>>,
}

/// Writes until the journal is closed or dropped, then closes the file.
pub(super) fn run(
    mut connection: Connection,
    locks: &Locks,
    mut commands: mpsc::Receiver<Command>,
    readers_gone: &thread_mpsc::Receiver<Infallible>,
) {
    let mut waiting = Vec::new();
    let mut is_open = true;
    while is_open && commands.blocking_recv_many(&mut waiting, MAX_GROUP) > 0 {
        let mut group = Vec::with_capacity(waiting.len());
        for command in waiting.drain(..) {
            match command {
                Command::Append(append) if is_open => group.push(*append),
                Command::Do(work) if is_open => {
                    // What was asked before is done before.
                    commit(&mut connection, locks, std::mem::take(&mut group));
                    work(&mut connection);
                }
                Command::Append(_) | Command::Do(_) => {}
                Command::Close => is_open = false,
            }
        }
        commit(&mut connection, locks, group);
    }
    // The last connection to a file moves its log into it, and one that only reads cannot. So this one goes last.
    let _ = readers_gone.recv();
    drop(connection);
    // The end of the queue is what `close` waits for.
    drop(commands);
}

fn commit(connection: &mut Connection, locks: &Locks, group: Vec<Append>) {
    if group.is_empty() {
        return;
    }
    match write(connection, locks, &group) {
        Ok(verdicts) => {
            for (append, verdict) in group.into_iter().zip(verdicts) {
                answer(append, verdict);
            }
        }
        // What cannot be written must not take the others with it, so each gets a transaction of its own. A store that
        // is locked is that for all.
        Err(error) if group.len() > 1 && !is_busy(&error) => {
            for append in group {
                commit(connection, locks, vec![append]);
            }
        }
        Err(error) => {
            let error = failed(error);
            for append in group {
                answer(append, Err(error.clone()));
            }
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A caller that no longer waits has its records all the same: an append cannot be taken back.
fn answer(append: Append, verdict: Result<(), JournalError>) {
    let _ = append.answer.send(verdict);
}

type Verdicts = Vec<Result<(), JournalError>>;

/// On an error nothing is written.
fn write(connection: &mut Connection, locks: &Locks, group: &[Append]) -> rusqlite::Result<Verdicts> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let verdicts: Verdicts =
        group.iter().map(|append| add(&transaction, locks, &append.batch)).collect::<rusqlite::Result<_>>()?;
    transaction.commit()?;
    Ok(verdicts)
}

/// Writes a batch, or nothing of it when it does not follow.
fn add(transaction: &Transaction<'_>, locks: &Locks, batch: &Batch) -> rusqlite::Result<Result<(), JournalError>> {
    if batch.head.0 > MAX_SEQ {
        return Ok(Err(JournalError::Failed(format!("a journal has at most {MAX_SEQ} records"))));
    }
    let key = match advance(transaction, batch)? {
        Some(key) => key,
        None => match refusal(transaction, locks, batch)? {
            Some(refusal) => return Ok(Err(refusal)),
            // Its owner is gone, and so it is this node's now.
            None => match advance(transaction, batch)? {
                Some(key) => key,
                None => return Ok(Err(JournalError::Fenced { after: batch.after })),
            },
        },
    };
    let first = (key << SEQ_BITS) + batch.after.0 as i64 + 1;
    let mut insert = transaction.prepare_cached("INSERT INTO journal (place, at, event) VALUES (?1, ?2, ?3)")?;
    for (place, row) in (first..).zip(&batch.rows) {
        insert.execute(params![place, row.at, row.event])?;
    }
    for origin in batch.start.iter().flat_map(|start| &start.origins) {
        let mut fork = transaction.prepare_cached("INSERT OR IGNORE INTO forks (session, origin) VALUES (?1, ?2)")?;
        fork.execute(params![key, origin.as_bytes()])?;
    }
    room::log(transaction, key, batch)?;
    match batch.close {
        None => {}
        Some(Close::Ended(reason)) => {
            let mut end = transaction.prepare_cached("UPDATE sessions SET reason = ?2, stop = 0 WHERE key = ?1")?;
            end.execute(params![key, reason.as_str()])?;
        }
        Some(Close::Reopened { version }) => {
            let mut reopen = transaction.prepare_cached(
                "UPDATE sessions SET reason = NULL, stop = 0, version = max(version, ?2) WHERE key = ?1",
            )?;
            reopen.execute(params![key, version])?;
        }
    }
    if let Some(Waiting { is_waiting, due }) = batch.waiting {
        let mut wait = transaction.prepare_cached(
            "UPDATE sessions SET waiting = ?2, due = ?3 WHERE key = ?1 AND (waiting <> ?2 OR due IS NOT ?3)",
        )?;
        wait.execute(params![key, is_waiting, due])?;
    }
    if batch.close.is_some() || batch.waiting.is_some() {
        // Nobody has to run what waits for a person. What has ended is owned until its files are made.
        let mut own = transaction
            .prepare_cached("UPDATE sessions SET owner = iif(waiting AND reason IS NULL, NULL, ?2) WHERE key = ?1")?;
        own.execute(params![key, batch.node.as_bytes()])?;
    }
    views::write(transaction, &batch.views, batch.session, key)?;
    Ok(Ok(()))
}

/// Moves the session's head to the end of the batch, makes its node the owner and tells its key; `None` when the batch
/// does not follow the head, or another node owns the session. The condition is the fence: between it and the commit
/// nobody else can write.
fn advance(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<Option<i64>> {
    let (id, node) = (batch.session.as_bytes(), batch.node.as_bytes());
    let head = batch.head.0 as i64;
    if let Some(start) = &batch.start {
        let mut begin = transaction.prepare_cached(
            "INSERT INTO sessions (id, format, title, started_at, last_at, head, version, owner, cast_names, tenant)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (id) DO NOTHING RETURNING key",
        )?;
        let Start { format, title, cast, started_at, version, .. } = start;
        let tenant = start.tenant.as_ref().map(Tenant::as_str);
        let values = params![id, format, title, started_at, batch.last_at, head, version, node, cast, tenant];
        begin.query_row(values, |row| row.get(0)).optional()
    } else {
        let mut advance = transaction.prepare_cached(
            "UPDATE sessions SET head = ?3, last_at = ?4, takeovers = iif(?6, 0, takeovers),
                 owner = iif(waiting AND reason IS NULL, NULL, ?5)
             WHERE id = ?1 AND head = ?2 AND (owner = ?5 OR owner IS NULL OR reason IS NOT NULL) RETURNING key",
        )?;
        let values = params![id, batch.after.0 as i64, head, batch.last_at, node, batch.is_progress];
        advance.query_row(values, |row| row.get(0)).optional()
    }
}

/// Why a batch cannot be added; `None` when only an owner who is gone was in its way, and is not any more.
fn refusal(transaction: &Transaction<'_>, locks: &Locks, batch: &Batch) -> rusqlite::Result<Option<JournalError>> {
    let mut select = transaction.prepare_cached("SELECT head, owner FROM sessions WHERE id = ?1")?;
    let found: Option<(i64, Option<[u8; 16]>)> =
        select.query_row([batch.session.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (head, owner) = found.unwrap_or_default();
    let after = Seq(head.unsigned_abs());
    if after == Seq::START && batch.after == Seq::START {
        return Ok(Some(JournalError::Failed("a journal begins with the start of its own session".to_owned())));
    }
    match owner.map(NodeId::from_bytes) {
        Some(owner) if after == batch.after && batch.start.is_none() => {
            if nodes::is_alive(transaction, locks, owner)? {
                return Ok(Some(JournalError::Owned));
            }
            let mut disown = transaction.prepare_cached("UPDATE sessions SET owner = NULL WHERE id = ?1")?;
            disown.execute([batch.session.as_bytes()])?;
            Ok(None)
        }
        _ => Ok(Some(JournalError::Fenced { after })),
    }
}
