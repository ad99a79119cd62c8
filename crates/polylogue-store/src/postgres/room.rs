//! Rooms: the one order of the records of all sessions that answer in a room. `group.rs` writes it.

use deadpool_postgres::Object;
use polylogue_core::{
    Timestamp,
    room::{RoomId, RoomPlace},
};
use polylogue_runtime::port::{RoomListPlace, RoomRecord, RoomSummary};

use super::{problem::Problem, reader, value};
use crate::list::{damaged, rows};

pub(super) async fn read(
    connection: &Object,
    room: &RoomId,
    after: RoomPlace,
    limit: usize,
) -> Result<Vec<RoomRecord>, Problem> {
    let select = connection
        .prepare_cached(
            "SELECT l.n, l.session_id, j.seq, j.at, j.event FROM room_log AS l
             JOIN journal AS j ON j.session_id = l.session_id AND j.seq = l.seq
             WHERE l.room = $1 AND l.n > $2 ORDER BY l.n LIMIT $3",
        )
        .await?;
    let found = connection.query(&select, &[&room.as_str(), &value::number(after.0), &rows(limit)]).await?;
    let record = |row: &tokio_postgres::Row| {
        let place: i64 = row.get(0);
        Ok(RoomRecord {
            place: RoomPlace(place.unsigned_abs()),
            session: value::to_session(row.get(1)),
            record: reader::record(row, 2)?.into(),
        })
    };
    found.iter().map(record).collect()
}

pub(super) async fn head(connection: &Object, room: &RoomId) -> Result<RoomPlace, Problem> {
    let select = connection.prepare_cached("SELECT head FROM rooms WHERE name = $1").await?;
    let head = connection.query_opt(&select, &[&room.as_str()]).await?.map_or(0, |row| row.get::<_, i64>(0));
    Ok(RoomPlace(head.unsigned_abs()))
}

/// The newest rooms first. One whose sessions were all deleted keeps its order and is not listed.
pub(super) async fn list(
    connection: &Object,
    before: Option<&RoomListPlace>,
    limit: usize,
) -> Result<Vec<RoomSummary>, Problem> {
    let select = connection
        .prepare_cached(
            "SELECT name, started_at, last_at, head FROM rooms
             WHERE ($1::bigint IS NULL OR (last_at, name) < ($1, $2::text))
                 AND EXISTS (SELECT 1 FROM room_log WHERE room_log.room = rooms.name)
             ORDER BY last_at DESC, name DESC LIMIT $3",
        )
        .await?;
    let last_at = before.map(|before| value::number(before.last_at.0));
    let name = before.map(|before| before.room.as_str());
    let found = connection.query(&select, &[&last_at, &name, &rows(limit)]).await?;
    let summary = |row: &tokio_postgres::Row| {
        let number = |column: usize| row.get::<_, i64>(column).unsigned_abs();
        let name: &str = row.get(0);
        Ok(RoomSummary {
            room: name.parse().map_err(|error| damaged(&error))?,
            started_at: Timestamp(number(1)),
            last_at: Timestamp(number(2)),
            head: RoomPlace(number(3)),
        })
    };
    found.iter().map(summary).collect()
}
