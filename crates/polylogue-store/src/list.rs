//! The columns of the list of sessions that mean the same in every backend, and how sessions are found in it.

use polylogue_core::{Reason, event::Unreadable};
use polylogue_runtime::port::{CastNames, JournalError};
use serde::{Deserialize, de::IntoDeserializer};

/// Who takes part, as the list keeps it.
#[derive(Deserialize)]
struct Cast {
    agents: Vec<String>,
    people: Vec<String>,
}

pub(crate) fn encode_cast(CastNames { agents, people }: &CastNames) -> String {
    serde_json::json!({ "agents": agents, "people": people }).to_string()
}

pub(crate) fn decode_cast(text: &str) -> Result<CastNames, JournalError> {
    let Cast { agents, people } = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    Ok(CastNames { agents, people })
}

pub(crate) fn decode_reason(text: &str) -> Result<Reason, JournalError> {
    let text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = text.into_deserializer();
    Reason::deserialize(text).map_err(|error| damaged(&error))
}

pub(crate) fn damaged(problem: &dyn std::error::Error) -> JournalError {
    Unreadable::Damaged(problem.to_string()).into()
}

/// A limit as a database takes it.
pub(crate) fn rows(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The ids that begin so, from the first that could exist to the last.
#[derive(Debug)]
pub(crate) struct IdRange {
    pub(crate) first: [u8; 16],
    pub(crate) last: [u8; 16],
}

impl IdRange {
    /// `None` when no id as it is displayed begins so.
    pub(crate) fn of_prefix(prefix: &str) -> Option<IdRange> {
        let mut range = IdRange { first: [0x00; 16], last: [0xff; 16] };
        let mut digits = 0;
        for (at, char) in prefix.chars().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if char != '-' {
                    return None;
                }
                continue;
            }
            let digit = char.to_digit(16)? as u8;
            let (byte, shift) = (digits / 2, if digits % 2 == 0 { 4 } else { 0 });
            let (first, last) = (range.first.get_mut(byte)?, range.last.get_mut(byte)?);
            *first |= digit << shift;
            *last &= !((0xf ^ digit) << shift);
            digits += 1;
        }
        Some(range)
    }
}
