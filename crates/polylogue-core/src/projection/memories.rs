//! What the characters of a scene took along from it.

use std::{borrow::Borrow, sync::Arc};

use crate::{Event, Record, format::scene::Decision, id::AgentId, memory::Memory, setup::FormatSetup};

/// The memories of a whole journal; none unless it is a scene of a story.
pub fn memories<R: Borrow<Record>>(records: &[R]) -> Vec<Memory> {
    let Some(Event::Started { setup, .. }) = records.first().map(|first| &first.borrow().event) else {
        return Vec::new();
    };
    let FormatSetup::Scene(settings) = &setup.format else { return Vec::new() };
    let Some(story) = &settings.story else { return Vec::new() };
    let memory = |record: &Record, character: &AgentId, text: &Arc<str>| Memory {
        session: setup.id,
        seq: record.seq,
        at: record.at,
        story: story.clone(),
        scene: settings.name.clone(),
        character: character.clone(),
        text: text.clone(),
    };
    remembered(records).map(|(record, character, text)| memory(record, character, text)).collect()
}

/// Where among these records somebody put down a memory. What a fork copied is the other session's.
pub fn remembered<R: Borrow<Record>>(records: &[R]) -> impl Iterator<Item = (&Record, &AgentId, &Arc<str>)> {
    let is_fork = |record: &R| matches!(record.borrow().event, Event::Forked { .. });
    let own = records.iter().rposition(is_fork).map_or(0, |at| at + 1);
    records[own..].iter().map(Borrow::borrow).filter_map(|record| match &record.event {
        Event::Scene(Decision::Remembered { character, text }) => Some((record, character, text)),
        _ => None,
    })
}
