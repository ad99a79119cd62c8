//! What was said in a room lately, for the agent that is spoken to next.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Event, Record, format::collaboration::Quote, id::SessionId, setup::Setup};

/// Gathers what people and agents said, from the newest record of a room back. Only what is over counts: a
/// session that is still going on keeps to itself, so that two at once do not get into each other's prompts.
#[derive(Debug, Default)]
pub struct Recent {
    newest_first: Vec<Quote>,
    is_over: BTreeMap<SessionId, bool>,
}

impl Recent {
    /// Takes the record before those that it was given; false when it needs no more.
    pub fn add(&mut self, session: SessionId, record: &Record) -> bool {
        // The newest record of a session is the end of it, or it has not ended.
        let ends = matches!(record.event, Event::Ended { .. });
        if *self.is_over.entry(session).or_insert(ends) {
            self.newest_first.extend(said(&record.event));
        }
        self.newest_first.len() < Quote::MAX_RECENT
    }

    /// As much of it as agents are shown, oldest first.
    pub fn said(mut self) -> Vec<Quote> {
        self.newest_first.reverse();
        Quote::recent(&self.newest_first)
    }
}

fn said(event: &Event) -> Option<Quote> {
    let said = |name: &str, text: &Arc<str>| Quote { name: name.into(), to: None, text: text.clone() };
    match event {
        Event::Started { setup, .. } => opening(setup),
        Event::LineSpoken { speaker, text, .. } => Some(said(speaker.name(), text)),
        Event::HumanSpoke { who, text, .. } => Some(said(who.as_str(), text)),
        Event::Forked { .. }
        | Event::Resumed { .. }
        | Event::Asked { .. }
        | Event::Answered { .. }
        | Event::AskFailed { .. }
        | Event::AskCut { .. }
        | Event::ClipMade { .. }
        | Event::ClipFailed { .. }
        | Event::Narrated { .. }
        | Event::NarrationFailed { .. }
        | Event::Decided(_)
        | Event::LineCut { .. }
        | Event::Ended { .. } => None,
    }
}

fn opening(setup: &Setup) -> Option<Quote> {
    let call = setup.room.as_ref().filter(|call| !call.is_repeat)?;
    let name = setup.cast.people().first().map_or("you", |person| person.as_str()).into();
    Some(Quote { name, to: Some(call.target.as_str().into()), text: setup.format.title().into() })
}
