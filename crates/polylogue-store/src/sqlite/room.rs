//! Rooms: the one order of the records of all sessions that answer in a room. It is written in the transaction of
//! the records themselves, so that neither is ever there without the other.

use polylogue_core::{
    Timestamp,
    id::{Seq, SessionId},
    room::{RoomId, RoomPlace},
};
use polylogue_runtime::port::{JournalError, RoomListPlace, RoomRecord, RoomSummary};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{
    failed,
    reader::event,
    writer::{MAX_SEQ, SEQ_BITS},
};
use crate::{
    batch::Batch,
    list::{damaged, rows},
};

/// Puts a batch that was just written into the order of its session's room, if it answers in one.
pub(super) fn log(transaction: &Transaction<'_>, session: i64, batch: &Batch) -> rusqlite::Result<()> {
    let room = match &batch.start {
        Some(start) => {
            start.room.as_ref().map(|room| enter(transaction, session, room, start.started_at)).transpose()?
        }
        None => room_of(transaction, session)?,
    };
    let Some(room) = room else { return Ok(()) };
    let mut advance = transaction
        .prepare_cached("UPDATE rooms SET head = head + ?2, last_at = ?3 WHERE key = ?1 RETURNING head - ?2")?;
    let count = batch.rows.len() as i64;
    let before: i64 = advance.query_row(params![room, count, batch.last_at], |row| row.get(0))?;
    let first = (session << SEQ_BITS) + batch.after.0 as i64 + 1;
    let mut insert = transaction.prepare_cached("INSERT INTO room_log (room, n, record) VALUES (?1, ?2, ?3)")?;
    for nth in 0..count {
        insert.execute([room, before + nth + 1, first + nth])?;
    }
    Ok(())
}

/// Brings a new session into its room, which is made when nobody has been there.
fn enter(transaction: &Transaction<'_>, session: i64, room: &RoomId, at: i64) -> rusqlite::Result<i64> {
    let mut open = transaction.prepare_cached(
        "INSERT INTO rooms (name, started_at, last_at, head) VALUES (?1, ?2, ?2, 0) ON CONFLICT (name) DO NOTHING",
    )?;
    open.execute(params![room.as_str(), at])?;
    let mut enter = transaction.prepare_cached(
        "INSERT INTO room_sessions (session, room) SELECT ?1, key FROM rooms WHERE name = ?2 RETURNING room",
    )?;
    enter.query_row(params![session, room.as_str()], |row| row.get(0))
}

fn room_of(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<Option<i64>> {
    let mut select = transaction.prepare_cached("SELECT room FROM room_sessions WHERE session = ?1")?;
    select.query_row([session], |row| row.get(0)).optional()
}

pub(super) fn read(
    connection: &Connection,
    room: &RoomId,
    after: RoomPlace,
    limit: usize,
) -> Result<Vec<RoomRecord>, JournalError> {
    let mut select = connection
        .prepare_cached(
            "SELECT room_log.n, sessions.id, journal.place, journal.at, journal.event FROM rooms
             JOIN room_log ON room_log.room = rooms.key AND room_log.n > ?2
             JOIN journal ON journal.place = room_log.record
             JOIN sessions ON sessions.key = journal.session
             WHERE rooms.name = ?1 ORDER BY room_log.n LIMIT ?3",
        )
        .map_err(failed)?;
    let after = i64::try_from(after.0).unwrap_or(i64::MAX);
    let mut found = select.query(params![room.as_str(), after, rows(limit)]).map_err(failed)?;
    let mut records = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        let place: i64 = row.get(2).map_err(failed)?;
        let at: i64 = row.get(3).map_err(failed)?;
        let record = polylogue_core::Record {
            seq: Seq(place as u64 & MAX_SEQ),
            at: Timestamp(at.unsigned_abs()),
            event: event(row, 4)?,
        };
        records.push(RoomRecord {
            place: RoomPlace(row.get::<_, i64>(0).map_err(failed)?.unsigned_abs()),
            session: SessionId::from_bytes(row.get(1).map_err(failed)?),
            record: record.into(),
        });
    }
    Ok(records)
}

pub(super) fn head(connection: &Connection, room: &RoomId) -> Result<RoomPlace, JournalError> {
    let mut select = connection.prepare_cached("SELECT head FROM rooms WHERE name = ?1").map_err(failed)?;
    let head: Option<i64> = select.query_row([room.as_str()], |row| row.get(0)).optional().map_err(failed)?;
    Ok(RoomPlace(head.unwrap_or_default().unsigned_abs()))
}

/// The newest rooms first. One whose sessions were all deleted keeps its order and is not listed.
pub(super) fn list(
    connection: &Connection,
    before: Option<&RoomListPlace>,
    limit: usize,
) -> Result<Vec<RoomSummary>, JournalError> {
    let mut select = connection
        .prepare_cached(
            "SELECT name, started_at, last_at, head FROM rooms
             WHERE (?1 IS NULL OR (last_at, name) < (?1, ?2))
                 AND EXISTS (SELECT 1 FROM room_log WHERE room_log.room = rooms.key)
             ORDER BY last_at DESC, name DESC LIMIT ?3",
        )
        .map_err(failed)?;
    let last_at = before.map(|before| i64::try_from(before.last_at.0).unwrap_or(i64::MAX));
    let name = before.map(|before| before.room.as_str());
    let mut found = select.query(params![last_at, name, rows(limit)]).map_err(failed)?;
    let mut rooms = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        let name: String = row.get(0).map_err(failed)?;
        let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs).map_err(failed);
        rooms.push(RoomSummary {
            room: name.parse().map_err(|error| damaged(&error))?,
            started_at: Timestamp(number(1)?),
            last_at: Timestamp(number(2)?),
            head: RoomPlace(number(3)?),
        });
    }
    Ok(rooms)
}
