//! The exact request behind a line or a record, rebuilt from the journal.

use std::sync::Arc;

use crate::{
    Conversation, NotAJournal, Record, Step,
    ask::Ask,
    event::Event,
    id::{AskId, LineId, Seq},
};

/// A request and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Insight {
    pub ask: Ask,
    /// Whether the rebuilt request is the one that was sent. It is not when the built-in templates have
    /// changed since.
    pub is_exact: bool,
    /// The reply as it came.
    pub reply: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRequest {
    #[error("there is no line {0}: the session has {1}")]
    NoSuchLine(LineId, usize),
    #[error("line {0} is by {1}: no model was asked for it")]
    NotAsked(LineId, String),
    #[error("there is no record {0}: the session has {1}")]
    NoSuchRecord(Seq, usize),
    #[error("no model had been asked at record {0}")]
    NotAskedYet(Seq),
    #[error(transparent)]
    NotAJournal(#[from] NotAJournal),
}

/// The request that led to a line. Makes no model call.
pub fn request_behind(records: &[Record], line: LineId) -> Result<Insight, NoRequest> {
    let whole = Conversation::replay(records)?;
    let transcript = whole.stage().transcript();
    let found = transcript.get(line).ok_or(NoRequest::NoSuchLine(line, transcript.lines().len()))?;
    let not_asked = || NoRequest::NotAsked(line, found.speaker.to_string());
    let ask = found.ask.as_ref().ok_or_else(not_asked)?;
    rebuilt(records, found.seq, ask)?.ok_or_else(not_asked)
}

/// The request that a record is about: its sending, what came of it, or what was decided then. Makes no model call.
pub fn request_at(records: &[Record], seq: Seq) -> Result<Insight, NoRequest> {
    let until = usize::try_from(seq.0).unwrap_or(usize::MAX);
    if until == 0 || until > records.len() {
        return Err(NoRequest::NoSuchRecord(seq, records.len()));
    }
    // What was decided stands after the answer that it was decided on.
    let ask = records[..until].iter().rev().find_map(|record| record.event.ask());
    let ask = ask.ok_or(NoRequest::NotAskedYet(seq))?;
    rebuilt(records, seq, ask)?.ok_or(NoRequest::NotAskedYet(seq))
}

/// The request of the last ask with this id up to a record.
fn rebuilt(records: &[Record], until: Seq, id: &AskId) -> Result<Option<Insight>, NotAJournal> {
    let asked = records[..until.0 as usize].iter().enumerate().rev().find_map(|(at, record)| match &record.event {
        Event::Asked { ask, digest, .. } if ask == id => Some((at, *digest)),
        _ => None,
    });
    let Some((at, digest)) = asked else { return Ok(None) };
    let reply = records[at..].iter().find_map(|record| match &record.event {
        Event::Answered { ask, text, .. } if ask == id => Some(text.clone()),
        _ => None,
    });
    let steps = Conversation::replay(&records[..at])?.next();
    let ask = steps.into_iter().find_map(|step| match step {
        Step::Ask(ask) if ask.id == *id => Some(ask),
        Step::Ask(_) | Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
    });
    let insight =
        |ask: Ask| Insight { is_exact: ask.request.has_digest(digest), reply: reply.unwrap_or_default(), ask };
    Ok(ask.map(insight))
}
