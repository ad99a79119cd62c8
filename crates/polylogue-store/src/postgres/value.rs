//! Values as PostgreSQL takes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polylogue_core::{
    Timestamp,
    id::{PartId, Seq, SessionId},
};
use polylogue_runtime::port::{LetterId, NodeId};
use serde::Serialize;
use serde_json::Value;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// One value of a statement that is sent later.
pub(super) type Sent = Box<dyn ToSql + Sync + Send>;

/// The last moment of the year 9999, which every client can read.
const END_OF_TIME_MS: u64 = 253_402_300_799_999;

pub(super) fn session(id: SessionId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn part(id: PartId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn node(id: NodeId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn letter(id: LetterId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn to_letter(id: Uuid) -> LetterId {
    LetterId::from_bytes(id.into_bytes())
}

pub(super) fn to_node(id: Uuid) -> NodeId {
    NodeId::from_bytes(id.into_bytes())
}

pub(super) fn to_session(id: Uuid) -> SessionId {
    SessionId::from_bytes(id.into_bytes())
}

pub(super) fn seq(seq: Seq) -> i64 {
    number(seq.0)
}

/// A place or a time; nothing is beyond the largest that the database can hold.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn small(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(super) fn time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.0.min(END_OF_TIME_MS))
}

/// PostgreSQL has no place for the character 0 in a text.
pub(super) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A value for a column of `jsonb`, which has no place for it either.
pub(super) fn json(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).expect("rows have string keys");
    without_nul(&mut value);
    value.to_string()
}

fn without_nul(value: &mut Value) {
    match value {
        Value::String(string) if string.contains('\0') => *string = text(string),
        Value::Array(values) => values.iter_mut().for_each(without_nul),
        Value::Object(values) => values.values_mut().for_each(without_nul),
        _ => {}
    }
}
