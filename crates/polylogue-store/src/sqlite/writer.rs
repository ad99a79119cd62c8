//! The one thread that writes. It takes whatever is waiting, commits it in one transaction, and only then
//! answers: the sync to disk is what an append costs, and all that wait share it.

use std::{convert::Infallible, sync::mpsc as thread_mpsc};

use polylogue_core::id::{Seq, SessionId};
use polylogue_runtime::port::JournalError;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use super::{
    batch::{Batch, Close},
    failed, memories, room,
};

/// How many appends are committed together at most.
const MAX_GROUP: usize = 4_096;

/// Bits of a row's place that are the record's number; the session's key is above them.
pub(super) const SEQ_BITS: u32 = 32;

/// The largest number of a record that a place can hold.
pub(super) const MAX_SEQ: u64 = (1 << SEQ_BITS) - 1;

#[derive(Debug)]
pub(super) enum Command {
    Append(Box<Append>),
    Forget(Forget),
    /// What was asked before is done, what was asked after is not.
    Close,
}

#[derive(Debug)]
pub(super) struct Append {
    pub(super) batch: Batch,
    pub(super) answer: oneshot::Sender<Result<(), JournalError>>,
}

#[derive(Debug)]
pub(super) struct Forget {
    pub(super) places: Vec<(SessionId, Seq)>,
    pub(super) answer: oneshot::Sender<Result<(), JournalError>>,
}

/// Writes until the journal is closed or dropped, then closes the file.
pub(super) fn run(
    mut connection: Connection,
    mut commands: mpsc::Receiver<Command>,
    readers_gone: &thread_mpsc::Receiver<Infallible>,
) {
    let mut waiting = Vec::new();
    let mut is_open = true;
    while is_open && commands.blocking_recv_many(&mut waiting, MAX_GROUP) > 0 {
        let mut group = Vec::with_capacity(waiting.len());
        let mut forgets = Vec::new();
        for command in waiting.drain(..) {
            match command {
                Command::Append(append) if is_open => group.push(*append),
                Command::Forget(forget) if is_open => forgets.push(forget),
                Command::Append(_) | Command::Forget(_) => {}
                Command::Close => is_open = false,
            }
        }
        commit(&mut connection, group);
        for Forget { places, answer } in forgets {
            // The caller may have left; it is forgotten all the same.
            let _ = answer.send(memories::forget(&mut connection, &places).map_err(failed));
        }
    }
    // The last connection to a file moves its log into it, and one that only reads cannot. So this one goes last.
    let _ = readers_gone.recv();
    drop(connection);
    // The end of the queue is what `close` waits for.
    drop(commands);
}

fn commit(connection: &mut Connection, group: Vec<Append>) {
    match write(connection, &group) {
        Ok(verdicts) => {
            for (append, verdict) in group.into_iter().zip(verdicts) {
                answer(append, verdict);
            }
        }
        // One that cannot be written must not take the others with it, so each gets a transaction of its own.
        Err(WriteError::Append(_)) if group.len() > 1 => {
            for append in group {
                commit(connection, vec![append]);
            }
        }
        Err(WriteError::Append(error) | WriteError::Transaction(error)) => {
            let error = failed(error);
            for append in group {
                answer(append, Err(error.clone()));
            }
        }
    }
}

/// A caller that no longer waits has its records all the same: an append cannot be taken back.
fn answer(append: Append, verdict: Result<(), JournalError>) {
    let _ = append.answer.send(verdict);
}

/// Whom an error concerns.
enum WriteError {
    /// The one append that was being written.
    Append(rusqlite::Error),
    /// All of the group.
    Transaction(rusqlite::Error),
}

type Verdicts = Vec<Result<(), JournalError>>;

/// On an error nothing is written.
fn write(connection: &mut Connection, group: &[Append]) -> Result<Verdicts, WriteError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(WriteError::Transaction)?;
    let verdicts: rusqlite::Result<Verdicts> = group.iter().map(|append| add(&transaction, &append.batch)).collect();
    let verdicts = verdicts.map_err(WriteError::Append)?;
    transaction.commit().map_err(WriteError::Transaction)?;
    Ok(verdicts)
}

/// Writes a batch, or nothing of it when it does not follow.
fn add(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<Result<(), JournalError>> {
    if batch.head.0 > MAX_SEQ {
        return Ok(Err(JournalError::Failed(format!("a journal has at most {MAX_SEQ} records"))));
    }
    let Some(key) = advance(transaction, batch)? else { return refusal(transaction, batch).map(Err) };
    let first = (key << SEQ_BITS) + batch.after.0 as i64 + 1;
    let mut insert = transaction.prepare_cached("INSERT INTO journal (place, at, event) VALUES (?1, ?2, ?3)")?;
    for (place, row) in (first..).zip(&batch.rows) {
        insert.execute(params![place, row.at, row.event])?;
    }
    room::log(transaction, key, batch)?;
    match batch.close {
        None => {}
        Some(Close::Ended(reason)) => {
            let mut end = transaction.prepare_cached("UPDATE sessions SET reason = ?2 WHERE key = ?1")?;
            end.execute(params![key, reason.as_str()])?;
        }
        Some(Close::Reopened { version }) => {
            let mut reopen = transaction
                .prepare_cached("UPDATE sessions SET reason = NULL, version = max(version, ?2) WHERE key = ?1")?;
            reopen.execute(params![key, version])?;
        }
    }
    if let Some(waiting) = batch.waiting {
        let mut wait =
            transaction.prepare_cached("UPDATE sessions SET waiting = ?2 WHERE key = ?1 AND waiting <> ?2")?;
        wait.execute(params![key, waiting])?;
    }
    batch.views.write(transaction, batch.session, key)?;
    Ok(Ok(()))
}

/// Moves the session's head to the end of the batch and tells its key; `None` when the batch does not follow
/// the head. The condition is the fence: between it and the commit nobody else can write.
fn advance(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<Option<i64>> {
    let id = batch.session.as_bytes();
    let head = batch.head.0 as i64;
    if let Some(start) = &batch.start {
        let mut begin = transaction.prepare_cached(
            "INSERT INTO sessions (id, format, title, started_at, last_at, head, version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING RETURNING key",
        )?;
        let values = params![id, start.format, start.title, start.started_at, batch.last_at, head, start.version];
        begin.query_row(values, |row| row.get(0)).optional()
    } else {
        let mut advance = transaction
            .prepare_cached("UPDATE sessions SET head = ?3, last_at = ?4 WHERE id = ?1 AND head = ?2 RETURNING key")?;
        let values = params![id, batch.after.0 as i64, head, batch.last_at];
        advance.query_row(values, |row| row.get(0)).optional()
    }
}

/// Why a batch does not follow.
fn refusal(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<JournalError> {
    let mut head = transaction.prepare_cached("SELECT head FROM sessions WHERE id = ?1")?;
    let head: Option<i64> = head.query_row([batch.session.as_bytes()], |row| row.get(0)).optional()?;
    let after = Seq(head.unwrap_or_default().unsigned_abs());
    if after == Seq::START && batch.after == Seq::START {
        return Ok(JournalError::Failed("a journal begins with the start of its own session".to_owned()));
    }
    Ok(JournalError::Fenced { after })
}
