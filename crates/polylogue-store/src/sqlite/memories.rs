//! What the agents of a story remember: a table of places in the journals, and of those that were forgotten.

use std::sync::Arc;

use polylogue_core::{
    Event, Timestamp,
    event::Unreadable,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
};
use polylogue_runtime::port::JournalError;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};

use super::{
    failed,
    writer::{MAX_SEQ, SEQ_BITS},
};

/// Writes down where somebody remembers something in the session with this key. The story is in the session's
/// first record, which may have been written long before.
pub(super) fn write(transaction: &Transaction<'_>, key: i64, remembered: &[(Seq, AgentId)]) -> rusqlite::Result<()> {
    if remembered.is_empty() {
        return Ok(());
    }
    let mut insert = transaction.prepare_cached(
        "INSERT OR IGNORE INTO memories (place, story, character)
         SELECT ?1, event ->> '$.setup.format.story', ?2 FROM journal
         WHERE place = ?3 AND event ->> '$.setup.format.story' IS NOT NULL",
    )?;
    let first = key << SEQ_BITS;
    for (seq, agent) in remembered {
        insert.execute(params![first + seq.0 as i64, agent.as_str(), first + 1])?;
    }
    Ok(())
}

pub(super) fn read(
    connection: &Connection,
    agent: Option<&AgentId>,
    story: Option<&str>,
    limit: usize,
) -> Result<Vec<Memory>, JournalError> {
    // One statement for both would have no use for the index.
    let whose = if agent.is_some() { "memories.character = ?1" } else { "?1 IS NULL" };
    let mut select = connection
        .prepare_cached(&format!(
            "SELECT sessions.id, journal.seq, journal.at, memories.story, sessions.title, journal.event
             FROM memories JOIN journal USING (place) JOIN sessions ON sessions.key = journal.session
             WHERE {whose} AND (?2 IS NULL OR memories.story = ?2)
                 AND NOT EXISTS (SELECT 1 FROM forgotten WHERE forgotten.place = memories.place)
             ORDER BY journal.at DESC, sessions.id DESC, journal.seq DESC LIMIT ?3"
        ))
        .map_err(failed)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = select.query(params![agent.map(AgentId::as_str), story, limit]).map_err(failed)?;
    let mut memories = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        let event: String = row.get(5).map_err(failed)?;
        let event = Event::decode(&event)?;
        let Event::Decided(decision) = &event else { return Err(no_memory()) };
        let (agent, text) = decision.remembered().ok_or_else(no_memory)?;
        memories.push(memory(row, agent.clone(), text.clone()).map_err(failed)?);
    }
    memories.reverse();
    Ok(memories)
}

fn no_memory() -> JournalError {
    Unreadable::Damaged("a memory is another event".to_owned()).into()
}

fn memory(row: &Row<'_>, agent: AgentId, text: Arc<str>) -> rusqlite::Result<Memory> {
    let text_of = |at: usize| row.get::<_, String>(at).map(Arc::from);
    Ok(Memory {
        session: SessionId::from_bytes(row.get(0)?),
        seq: Seq(row.get::<_, i64>(1)?.unsigned_abs()),
        at: Timestamp(row.get::<_, i64>(2)?.unsigned_abs()),
        story: text_of(3)?,
        title: text_of(4)?,
        agent,
        text,
    })
}

/// Forgets what is at these places, all of them or none.
pub(super) fn forget(connection: &mut Connection, places: &[(SessionId, Seq)]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut insert = transaction.prepare_cached(
        "INSERT OR IGNORE INTO forgotten (place)
         SELECT place FROM memories WHERE place = (SELECT key << ?3 FROM sessions WHERE id = ?1) + ?2",
    )?;
    for (session, seq) in places.iter().filter(|(_, seq)| seq.0 <= MAX_SEQ) {
        insert.execute(params![session.as_bytes(), seq.0 as i64, SEQ_BITS])?;
    }
    drop(insert);
    transaction.commit()
}

/// Takes out the memories at these places.
pub(super) fn remove(transaction: &Transaction<'_>, first: i64, last: i64) -> rusqlite::Result<()> {
    for table in ["memories", "forgotten"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE place BETWEEN ?1 AND ?2"), params![first, last])?;
    }
    Ok(())
}
