//! Reading: a few connections that cannot write, each lent to one blocking task at a time.

use std::{
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
};

use polylogue_core::{
    Event, Record, Tenant, Timestamp,
    id::{Seq, SessionId},
};
use polylogue_runtime::port::{JournalError, NodeId, Search, Summary};
use rusqlite::{Connection, Row, params};
use tokio::sync::Semaphore;

use super::{
    closed, failed,
    locks::Locks,
    nodes, open,
    writer::{MAX_SEQ, SEQ_BITS},
};
use crate::{
    OpenError,
    list::{self, IdRange, damaged, rows},
};

/// How many reads go on at once; others wait for their turn.
const READERS: usize = 2;

#[derive(Debug)]
pub(super) struct Readers {
    idle: Mutex<Vec<Reader>>,
    turns: Arc<Semaphore>,
}

#[derive(Debug)]
struct Reader {
    connection: Connection,
    /// Dropped after the connection: when the last is gone, the writer knows that no reader has the file open.
    _open: mpsc::Sender<Infallible>,
}

impl Readers {
    /// The readers, and a channel that ends with the last of them.
    pub(super) fn open(path: &Path) -> Result<(Arc<Readers>, mpsc::Receiver<Infallible>), OpenError> {
        let (open, gone) = mpsc::channel();
        let mut idle = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            idle.push(Reader { connection: open::for_reading(path)?, _open: open.clone() });
        }
        Ok((Arc::new(Readers { idle: Mutex::new(idle), turns: Arc::new(Semaphore::new(READERS)) }), gone))
    }

    /// Runs a query on a thread that may block.
    pub(super) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| closed())?;
        let readers = Arc::clone(self);
        let task = tokio::task::spawn_blocking(move || {
            let reader = readers.idle().pop().ok_or_else(closed)?;
            let result = query(&reader.connection);
            readers.give_back(reader);
            drop(turn);
            result
        });
        task.await.map_err(|error| JournalError::Failed(error.to_string()))?
    }

    /// No query begins after this; those under way close their connections when they are done.
    pub(super) fn close(&self) {
        self.turns.close();
        self.idle().clear();
    }

    fn give_back(&self, reader: Reader) {
        let mut idle = self.idle();
        if !self.turns.is_closed() {
            idle.push(reader);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn records(
    connection: &Connection,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Arc<Record>>, JournalError> {
    let mut select = connection
        .prepare_cached(
            "SELECT journal.place, journal.at, journal.event FROM sessions
             JOIN journal ON journal.place BETWEEN (sessions.key << ?4) + ?2 + 1 AND (sessions.key << ?4) + ?5
             WHERE sessions.id = ?1 ORDER BY journal.place LIMIT ?3",
        )
        .map_err(failed)?;
    let after = after.0.min(MAX_SEQ) as i64;
    let values = params![session.as_bytes(), after, rows(limit), SEQ_BITS, MAX_SEQ as i64];
    let mut found = select.query(values).map_err(failed)?;
    let mut records = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        records.push(Arc::new(record(row)?));
    }
    Ok(records)
}

fn record(row: &Row<'_>) -> Result<Record, JournalError> {
    let place: i64 = row.get(0).map_err(failed)?;
    let at: i64 = row.get(1).map_err(failed)?;
    Ok(Record { seq: Seq(place as u64 & MAX_SEQ), at: Timestamp(at.unsigned_abs()), event: event(row, 2)? })
}

/// The event in a column.
pub(super) fn event(row: &Row<'_>, column: usize) -> Result<Event, JournalError> {
    let event = row.get_ref(column).map_err(failed)?.as_bytes().map_err(|error| damaged(&error))?;
    let event = std::str::from_utf8(event).map_err(|error| damaged(&error))?;
    Ok(Event::decode(event)?)
}

/// The newest sessions first. What is looked for beyond the format is compared row by row: who is alive is not in the
/// tables, and SQLite knows small letters and capitals of ASCII only.
pub(super) fn search(connection: &Connection, locks: &Locks, search: &Search) -> Result<Vec<Summary>, JournalError> {
    let alive = nodes::alive(connection, locks).map_err(failed)?;
    let mut select = connection
        .prepare_cached(
            "SELECT sessions.id, sessions.format, sessions.title, sessions.started_at, sessions.last_at,
                 sessions.head, sessions.reason, sessions.waiting, sessions.owner, sessions.takeovers,
                 sessions.cast_names, rooms.name, sessions.tenant
             FROM sessions LEFT JOIN room_sessions ON room_sessions.session = sessions.key
             LEFT JOIN rooms ON rooms.key = room_sessions.room
             WHERE (sessions.last_at, sessions.id) < (?1, ?2) AND (?3 IS NULL OR sessions.format = ?3)
                 AND (?4 IS NULL OR sessions.tenant = ?4)
             ORDER BY sessions.last_at DESC, sessions.id DESC",
        )
        .map_err(failed)?;
    // Without a place everything is before the end of time; the longer id is after every id.
    let (last_at, id) = search.before.map_or((i64::MAX, vec![0xff; 17]), |before| {
        (i64::try_from(before.last_at.0).unwrap_or(i64::MAX), before.id.as_bytes().to_vec())
    });
    let mut found = select
        .query(params![last_at, id, search.format, search.tenant.as_ref().map(Tenant::as_str)])
        .map_err(failed)?;
    let mut summaries = Vec::new();
    while summaries.len() < search.limit
        && let Some(row) = found.next().map_err(failed)?
    {
        let summary = summary(row, &alive)?;
        if search.finds(&summary) {
            summaries.push(summary);
        }
    }
    Ok(summaries)
}

fn summary(row: &Row<'_>, alive: &[NodeId]) -> Result<Summary, JournalError> {
    let reason: Option<String> = row.get(6).map_err(failed)?;
    let cast: String = row.get(10).map_err(failed)?;
    let room: Option<String> = row.get(11).map_err(failed)?;
    let reason = reason.as_deref().map(list::decode_reason).transpose()?;
    let cast = list::decode_cast(&cast)?;
    let room = room.map(|room| room.parse()).transpose().map_err(|error| damaged(&error))?;
    let tenant: Option<String> = row.get(12).map_err(failed)?;
    let tenant = tenant.map(|tenant| tenant.parse()).transpose().map_err(|error| damaged(&error))?;
    let rest = || {
        let owner: Option<[u8; 16]> = row.get(8)?;
        Ok(Summary {
            id: SessionId::from_bytes(row.get(0)?),
            format: row.get(1)?,
            title: row.get(2)?,
            cast,
            room,
            tenant,
            started_at: Timestamp(row.get::<_, i64>(3)?.unsigned_abs()),
            last_at: Timestamp(row.get::<_, i64>(4)?.unsigned_abs()),
            head: Seq(row.get::<_, i64>(5)?.unsigned_abs()),
            reason,
            is_waiting: row.get(7)?,
            is_owned: owner.is_some_and(|owner| alive.contains(&NodeId::from_bytes(owner))),
            takeovers: row.get(9)?,
        })
    };
    rest().map_err(failed)
}

pub(super) fn forks(connection: &Connection, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
    let look = || {
        let mut select = connection.prepare_cached(
            "SELECT sessions.id FROM forks JOIN sessions ON sessions.key = forks.session WHERE forks.origin = ?1",
        )?;
        let mut found = std::collections::BTreeSet::new();
        for origin in of {
            for fork in select.query_map([origin.as_bytes()], id)? {
                found.insert(fork?);
            }
        }
        Ok(found.into_iter().collect())
    };
    look().map_err(failed)
}

pub(super) fn find(connection: &Connection, range: &IdRange, limit: usize) -> Result<Vec<SessionId>, JournalError> {
    let mut select = connection
        .prepare_cached("SELECT id FROM sessions WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3")
        .map_err(failed)?;
    let found = select.query_map(params![range.first, range.last, rows(limit)], id).map_err(failed)?;
    found.collect::<rusqlite::Result<_>>().map_err(failed)
}

fn id(row: &Row<'_>) -> rusqlite::Result<SessionId> {
    row.get(0).map(SessionId::from_bytes)
}
