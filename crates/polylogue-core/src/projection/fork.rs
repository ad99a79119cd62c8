//! A new session that begins as the first part of another, and may go on otherwise from there.

use std::{ops::Range, sync::Arc};

use crate::{
    Conversation, NotAJournal, Reason, Record, Rejected, Setup, Step, Timestamp,
    event::{Event, Origin, VERSION},
    id::{AskId, PersonId, Seq, SessionId},
    line::{Line, Speaker},
    setup::{BadSetup, Change},
};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotFork {
    #[error("the session has no record {0}: choose from 1 to {1}")]
    NoSuchRecord(Seq, Seq),
    #[error("with what was decided at record {0} the session is complete ({1}): choose an earlier one")]
    Complete(Seq, Reason),
    #[error(
        "the session was recorded by a newer Polylogue ({0} cannot be read here): choose an earlier record, or use that version"
    )]
    Unread(String),
    #[error(
        "at record {0} nobody said anything that could be edited: choose the record of an agent's or a person's line"
    )]
    NoLine(Seq),
    #[error("the line cannot read so in this format: it would read `{0}`")]
    ReadsOtherwise(Arc<str>),
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    BadChange(#[from] BadSetup),
    #[error(transparent)]
    NotAJournal(#[from] NotAJournal),
}

/// The journal of a session called `id` that goes on from record `at` of this one.
///
/// What was decided together stays together: the copy goes on to the end of the decision that `at` is in. Where the
/// line of that decision is edited, the copy ends before it, and what follows from the new words takes its place.
pub fn fork(
    records: &[Record],
    at: Seq,
    id: SessionId,
    change: Change,
    now: Timestamp,
) -> Result<(Conversation, Vec<Record>), CannotFork> {
    let head = records.last().map_or(Seq::START, |record| record.seq);
    if at == Seq::START || at > head {
        return Err(CannotFork::NoSuchRecord(at, head));
    }
    let decision = decision_at(records, at);
    let edit = match &change.edit {
        Some(words) => Some((Edited::at(records, at, decision.clone())?, words.trim().to_owned())),
        None => None,
    };
    let shared = if edit.is_some() { decision.start } else { decision.end };
    let mut copy = records[..shared].to_vec();
    let Event::Started { version, setup } = &copy[0].event else { return Err(NotAJournal::Empty.into()) };
    let from = setup.id;
    // A room hears what is said there once: a fork goes its own way elsewhere.
    let setup = Setup { id, room: None, ..Setup::clone(setup) };
    copy[0].event = Event::Started { version: *version, setup: Arc::new(setup) };

    let conversation = Conversation::replay(&copy)?;
    if let Some(what) = conversation.stage().unread().first() {
        return Err(CannotFork::Unread(what.clone()));
    }
    conversation.check_change(&change)?;
    let follows = conversation.goes_on(&change);
    let mut fork = Fork { conversation, records: copy, now };
    fork.record([Event::Forked { version: VERSION, from, at: Seq(shared as u64), change: change.clone() }]);
    fork.record(follows);
    let is_edited = edit.is_some();
    if let Some((edited, words)) = edit {
        fork.record(edited.to(&fork.conversation, &words)?);
    }
    for note in &change.notes {
        fork.record(fork.conversation.on_note(note)?);
    }
    // With other words it is another session, even if they are the last.
    if let ([Step::End(reason)], false) = (fork.conversation.next().as_slice(), is_edited) {
        return Err(CannotFork::Complete(at, *reason));
    }
    Ok((fork.conversation, fork.records))
}

/// The journal as it comes about.
struct Fork {
    conversation: Conversation,
    records: Vec<Record>,
    now: Timestamp,
}

impl Fork {
    fn record(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            let record = Record { seq: self.conversation.stage().head().next(), at: self.now, event };
            self.conversation.apply(&record);
            self.records.push(record);
        }
    }
}

/// The places of the records that were decided together with this one.
fn decision_at(records: &[Record], at: Seq) -> Range<usize> {
    let (before, after) = records.split_at(at.0 as usize);
    let start = before.iter().rposition(|record| !record.event.is_consequence()).unwrap_or_default();
    let consequences = after.iter().take_while(|record| record.event.is_consequence()).count();
    start..before.len() + consequences
}

/// A line that is to read otherwise.
enum Edited {
    OfAgent {
        /// What was answered, or failed, when the line was said.
        ask: AskId,
        line: Box<Line>,
        /// The reply that brought it.
        reply: Arc<str>,
    },
    OfPerson {
        who: PersonId,
        origin: Origin,
        /// Where they play a part: the line, and what they wrote.
        said: Option<(Box<Line>, Arc<str>)>,
    },
}

impl Edited {
    fn at(records: &[Record], at: Seq, decision: Range<usize>) -> Result<Edited, CannotFork> {
        let of_person = match &records[decision.start].event {
            // The key stands for the words as they were.
            Event::HumanSpoke { who, origin, text, ask } => {
                let origin = Origin { key: None, ..origin.clone() };
                if ask.is_none() {
                    return Ok(Edited::OfPerson { who: who.clone(), origin, said: None });
                }
                Some((who.clone(), origin, text.clone()))
            }
            _ => None,
        };
        let spoken = records[decision.clone()].iter().find_map(|record| match &record.event {
            Event::LineSpoken { speaker: Speaker::Agent(_), ask: Some(ask), .. } => Some((record.seq, ask)),
            _ => None,
        });
        let (Some((seq, of_line)), Some(ask)) = (spoken, records[decision.start].event.ask()) else {
            return Err(CannotFork::NoLine(at));
        };
        let reply = records[..decision.end].iter().rev().find_map(|record| match &record.event {
            Event::Answered { ask, text, .. } if ask == of_line => Some(text.clone()),
            _ => None,
        });
        let whole = Conversation::replay(&records[..decision.end])?;
        let line = whole.stage().transcript().lines().iter().find(|line| line.seq == seq).cloned();
        let line = line.ok_or(CannotFork::NoLine(at))?;
        if let Some((who, origin, text)) = of_person {
            return Ok(Edited::OfPerson { who, origin, said: Some((Box::new(line), text)) });
        }
        Ok(Edited::OfAgent { ask: ask.clone(), line: Box::new(line), reply: reply.unwrap_or_default() })
    }

    /// What is said and decided instead.
    fn to(self, conversation: &Conversation, words: &str) -> Result<Vec<Event>, CannotFork> {
        match self {
            Edited::OfPerson { who, origin, said } => {
                let words = said.map_or(words.to_owned(), |(line, text)| conversation.reworded(&line, &text, words));
                Ok(conversation.on_human_edit(who, &words, origin)?)
            }
            Edited::OfAgent { ask, line, reply } => {
                let events = conversation.on_edit(ask, &line, &reply, words)?;
                let reads = events.iter().find_map(|event| match event {
                    Event::LineSpoken { speaker: Speaker::Agent(_), text, .. } => Some(text.clone()),
                    _ => None,
                });
                let reads = reads.unwrap_or_default();
                let is_so = reads.split_whitespace().eq(words.split_whitespace());
                if is_so { Ok(events) } else { Err(CannotFork::ReadsOtherwise(reads)) }
            }
        }
    }
}
