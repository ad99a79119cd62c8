//! The exact request behind a line, rebuilt from the journal.

use crate::{Conversation, NotAJournal, Record, Step, ask::Ask, event::Event, id::LineId};

/// A request and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Insight {
    pub ask: Ask,
    /// Whether the rebuilt request is the one that was sent. It is not when the built-in templates have
    /// changed since.
    pub is_exact: bool,
    /// The reply as it came.
    pub reply: std::sync::Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRequest {
    #[error("there is no line {0}: the session has {1}")]
    NoSuchLine(LineId, usize),
    #[error("line {0} is by {1}: no model was asked for it")]
    NotAsked(LineId, String),
    #[error(transparent)]
    NotAJournal(#[from] NotAJournal),
}

/// The request that led to a line. Makes no model call.
pub fn request_behind(records: &[Record], line: LineId) -> Result<Insight, NoRequest> {
    let whole = Conversation::replay(records)?;
    let transcript = whole.stage().transcript();
    let found = transcript.get(line).ok_or(NoRequest::NoSuchLine(line, transcript.lines().len()))?;
    let not_asked = || NoRequest::NotAsked(line, found.speaker.to_string());
    let id = found.ask.clone().ok_or_else(not_asked)?;

    let before_line = &records[..found.seq.0 as usize];
    let (at, digest) = before_line
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, record)| match &record.event {
            Event::Asked { ask, digest, .. } if *ask == id => Some((at, *digest)),
            _ => None,
        })
        .ok_or_else(not_asked)?;
    let reply = before_line[at..].iter().find_map(|record| match &record.event {
        Event::Answered { ask, text, .. } if *ask == id => Some(text.clone()),
        _ => None,
    });
    let steps = Conversation::replay(&records[..at])?.next();
    let ask = steps.into_iter().find_map(|step| match step {
        Step::Ask(ask) if ask.id == id => Some(ask),
        Step::Ask(_) | Step::Speak(_) | Step::AwaitHuman(_) | Step::End(_) => None,
    });
    let ask = ask.ok_or_else(not_asked)?;
    Ok(Insight { is_exact: ask.request.digest() == digest, ask, reply: reply.unwrap_or_default() })
}
