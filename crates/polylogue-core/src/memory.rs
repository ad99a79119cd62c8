//! What an agent put down to remember. It belongs to a story, so that later sessions of the story can bring it to
//! mind.

use std::{borrow::Borrow, sync::Arc};

use crate::{
    Event, Record, Timestamp,
    id::{AgentId, Seq, SessionId},
};

/// What an agent put down, and where that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub session: SessionId,
    pub seq: Seq,
    pub at: Timestamp,
    pub story: Arc<str>,
    /// The title of the session.
    pub title: Arc<str>,
    pub agent: AgentId,
    pub text: Arc<str>,
}

/// The memories of a whole journal; none unless the session is part of a story.
pub fn memories<R: Borrow<Record>>(records: &[R]) -> Vec<Memory> {
    let Some(Event::Started { setup, .. }) = records.first().map(|first| &first.borrow().event) else {
        return Vec::new();
    };
    let Some(story) = setup.format.story() else { return Vec::new() };
    let (story, title): (Arc<str>, Arc<str>) = (story.into(), setup.format.title().into());
    let memory = |(record, agent, text): (&Record, &AgentId, &Arc<str>)| Memory {
        session: setup.id,
        seq: record.seq,
        at: record.at,
        story: story.clone(),
        title: title.clone(),
        agent: agent.clone(),
        text: text.clone(),
    };
    remembered(records).map(memory).collect()
}

/// Where among these records somebody put down a memory. What a fork copied is the other session's.
pub fn remembered<R: Borrow<Record>>(records: &[R]) -> impl Iterator<Item = (&Record, &AgentId, &Arc<str>)> {
    let is_fork = |record: &R| matches!(record.borrow().event, Event::Forked { .. });
    let own = records.iter().rposition(is_fork).map_or(0, |at| at + 1);
    records[own..].iter().map(Borrow::borrow).filter_map(|record| match &record.event {
        Event::Decided(decision) => decision.remembered().map(|(agent, text)| (record, agent, text)),
        _ => None,
    })
}
