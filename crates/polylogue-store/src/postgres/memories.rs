//! What the agents of a story remember: a table of places in the journals, and of those that were forgotten.
//! `group.rs` writes the first.

use deadpool_postgres::Object;
use polylogue_core::{
    Event,
    event::Unreadable,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
};
use polylogue_runtime::port::JournalError;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{problem::Problem, reader, value};
use crate::list::rows;

pub(super) async fn read(
    connection: &Object,
    agent: Option<&AgentId>,
    story: Option<&str>,
    limit: usize,
) -> Result<Vec<Memory>, Problem> {
    // One statement for both would have no use for the index.
    let whose = if agent.is_some() { "m.agent = $1" } else { "$1::text IS NULL" };
    let select = connection
        .prepare_cached(&format!(
            "SELECT s.id, m.story, s.title, j.seq, j.at, j.event FROM memories AS m
             JOIN journal AS j ON j.session_id = m.session_id AND j.seq = m.seq JOIN sessions AS s ON s.id = m.session_id
             WHERE {whose} AND ($2::text IS NULL OR m.story = $2)
                 AND NOT EXISTS (SELECT 1 FROM forgotten AS f WHERE f.session_id = m.session_id AND f.seq = m.seq)
             ORDER BY j.at DESC, s.id DESC, j.seq DESC LIMIT $3"
        ))
        .await?;
    let (agent, story) = (agent.map(|agent| value::text(agent.as_str())), story.map(value::text));
    let found = connection.query(&select, &[&agent, &story, &rows(limit)]).await?;
    found.iter().rev().map(|row| Ok(memory(row)?)).collect()
}

fn memory(row: &Row) -> Result<Memory, JournalError> {
    let no_memory = || JournalError::from(Unreadable::Damaged("a memory is another event".to_owned()));
    let record = reader::record(row, 3)?;
    let Event::Decided(decision) = &record.event else { return Err(no_memory()) };
    let (agent, text) = decision.remembered().ok_or_else(no_memory)?;
    let (story, title): (&str, &str) = (row.get(1), row.get(2));
    Ok(Memory {
        session: value::to_session(row.get(0)),
        seq: record.seq,
        at: record.at,
        story: story.into(),
        title: title.into(),
        agent: agent.clone(),
        text: text.clone(),
    })
}

/// Forgets what is at these places, all of them or none.
pub(super) async fn forget(connection: &Object, places: &[(SessionId, Seq)]) -> Result<(), Problem> {
    let sessions: Vec<Uuid> = places.iter().map(|(session, _)| value::session(*session)).collect();
    let seqs: Vec<i64> = places.iter().map(|(_, seq)| value::seq(*seq)).collect();
    let forget = "INSERT INTO forgotten (session_id, seq)
                  SELECT DISTINCT m.session_id, m.seq FROM unnest($1::uuid[], $2::bigint[]) AS p (session_id, seq)
                  JOIN memories AS m ON m.session_id = p.session_id AND m.seq = p.seq ON CONFLICT DO NOTHING";
    connection.execute(forget, &[&sessions, &seqs]).await?;
    Ok(())
}
