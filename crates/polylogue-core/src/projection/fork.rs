//! A new session that begins as the first part of another.

use std::sync::Arc;

use crate::{
    Conversation, NotAJournal, Reason, Record, Setup, Step, Timestamp,
    event::{Event, VERSION},
    id::{Seq, SessionId},
    setup::{BadSetup, Change},
};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotFork {
    #[error("the session has no record {0}: choose from 1 to {1}")]
    NoSuchRecord(Seq, Seq),
    #[error("at record {0} the session is complete ({1}): choose an earlier one")]
    Complete(Seq, Reason),
    #[error(
        "the session was recorded by a newer Polylogue ({0} cannot be read here): choose an earlier record, or use that version"
    )]
    Unread(String),
    #[error(transparent)]
    BadChange(#[from] BadSetup),
    #[error(transparent)]
    NotAJournal(#[from] NotAJournal),
}

/// The journal of a session called `id` that goes on from record `at` of this one.
/// What was decided together stays together: the copy goes on to the end of the decision that `at` is in.
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
    let consequences = records[at.0 as usize..].iter().take_while(|record| record.event.is_consequence()).count();
    let at = Seq(at.0 + consequences as u64);
    let mut copy = records[..at.0 as usize].to_vec();
    let Event::Started { version, setup } = &copy[0].event else { return Err(NotAJournal::Empty.into()) };
    let from = setup.id;
    // A room hears what is said there once: a fork goes its own way elsewhere.
    let setup = Setup { id, room: None, ..Setup::clone(setup) };
    copy[0].event = Event::Started { version: *version, setup: Arc::new(setup) };

    let mut conversation = Conversation::replay(&copy)?;
    conversation.check_change(&change)?;
    let follows = conversation.goes_on(&change);
    let forked = Event::Forked { version: VERSION, from, at, change };
    for event in std::iter::once(forked).chain(follows) {
        let record = Record { seq: conversation.stage().head().next(), at: now, event };
        conversation.apply(&record);
        copy.push(record);
    }
    if let Some(what) = conversation.stage().unread().first() {
        return Err(CannotFork::Unread(what.clone()));
    }
    if let [Step::End(reason)] = conversation.next().as_slice() {
        return Err(CannotFork::Complete(at, *reason));
    }
    Ok((conversation, copy))
}
