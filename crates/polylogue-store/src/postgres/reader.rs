//! Reading journals, and the list of sessions.

use std::sync::Arc;

use deadpool_postgres::Object;
use polylogue_core::{
    Event, Record, Timestamp,
    id::{Seq, SessionId},
};
use polylogue_runtime::port::{JournalError, Search, Summary};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{problem::Problem, value};
use crate::list::{self, IdRange, damaged, rows};

/// Sessions that are looked through at a time where more than the database can compare is looked for.
const PAGE: i64 = 500;

pub(super) async fn records(
    connection: &Object,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Arc<Record>>, Problem> {
    let select = "SELECT seq, at, event FROM journal WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let select = connection.prepare_cached(select).await?;
    let found = connection.query(&select, &[&value::session(session), &value::seq(after), &rows(limit)]).await?;
    found.iter().map(|row| Ok(Arc::new(record(row, 0)?))).collect()
}

/// The record whose place, time and event begin at a column.
pub(super) fn record(row: &Row, column: usize) -> Result<Record, JournalError> {
    let (seq, at): (i64, i64) = (row.get(column), row.get(column + 1));
    let event = Event::decode(row.get(column + 2))?;
    Ok(Record { seq: Seq(seq.unsigned_abs()), at: Timestamp(at.unsigned_abs()), event })
}

/// The newest sessions first. Words in a title are compared here: which letters are the same in small and in capitals
/// depends on how the database was made.
pub(super) async fn search(connection: &Object, search: &Search) -> Result<Vec<Summary>, Problem> {
    let select = connection
        .prepare_cached(
            "SELECT id, format, title, cast_names, room, started_at, last_at, head, reason, waiting, takeovers,
                 EXISTS (SELECT 1 FROM nodes WHERE nodes.id = owner AND alive_until > clock_timestamp()),
                 tenant
             FROM sessions
             WHERE (last_at, id) < ($1, $2) AND ($3::text IS NULL OR format = $3) AND ($4::text IS NULL OR room = $4)
                 AND ($6::text IS NULL OR tenant = $6)
             ORDER BY last_at DESC, id DESC LIMIT $5",
        )
        .await?;
    let is_compared_here = search.status.is_some() || search.text.is_some();
    let page = if is_compared_here { PAGE } else { rows(search.limit) };
    let room = search.room.as_ref().map(ToString::to_string);
    let tenant = search.tenant.as_ref().map(ToString::to_string);
    // Without a place everything is before the end of time.
    let mut before = search
        .before
        .map_or((i64::MAX, Uuid::max()), |before| (value::number(before.last_at.0), value::session(before.id)));
    let mut summaries = Vec::new();
    while summaries.len() < search.limit {
        let found = connection.query(&select, &[&before.0, &before.1, &search.format, &room, &page, &tenant]).await?;
        for row in &found {
            let summary = summary(row)?;
            if summaries.len() < search.limit && search.finds(&summary) {
                summaries.push(summary);
            }
        }
        match found.last() {
            Some(last) if found.len() as i64 == page => before = (last.get(6), last.get(0)),
            _ => break,
        }
    }
    Ok(summaries)
}

fn summary(row: &Row) -> Result<Summary, JournalError> {
    let number = |column: usize| row.get::<_, i64>(column).unsigned_abs();
    let room: Option<&str> = row.get(4);
    let reason: Option<&str> = row.get(8);
    let tenant: Option<&str> = row.get(12);
    Ok(Summary {
        id: value::to_session(row.get(0)),
        format: row.get(1),
        title: row.get(2),
        cast: list::decode_cast(row.get(3))?,
        room: room.map(str::parse).transpose().map_err(|error| damaged(&error))?,
        tenant: tenant.map(str::parse).transpose().map_err(|error| damaged(&error))?,
        started_at: Timestamp(number(5)),
        last_at: Timestamp(number(6)),
        head: Seq(number(7)),
        reason: reason.map(list::decode_reason).transpose()?,
        is_waiting: row.get(9),
        takeovers: u32::try_from(number(10)).unwrap_or(u32::MAX),
        is_owned: row.get(11),
    })
}

pub(super) async fn find(connection: &Object, range: &IdRange, limit: usize) -> Result<Vec<SessionId>, Problem> {
    let select = "SELECT id FROM sessions WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT $3";
    let select = connection.prepare_cached(select).await?;
    let (first, last) = (Uuid::from_bytes(range.first), Uuid::from_bytes(range.last));
    let found = connection.query(&select, &[&first, &last, &rows(limit)]).await?;
    Ok(found.iter().map(|row| value::to_session(row.get(0))).collect())
}

pub(super) async fn forks(connection: &Object, of: &[SessionId]) -> Result<Vec<SessionId>, Problem> {
    let origins: Vec<Uuid> = of.iter().map(|id| value::session(*id)).collect();
    let select = "SELECT DISTINCT session_id FROM forks WHERE origin = ANY($1) ORDER BY session_id";
    let found = connection.query(select, &[&origins]).await?;
    Ok(found.iter().map(|row| value::to_session(row.get(0))).collect())
}
