//! What holds at the end of every run.

use std::collections::{BTreeMap, BTreeSet};

use polylogue_core::{
    Conversation, Event, Record,
    event::Lost,
    format::scene,
    id::{AskId, Seq, SessionId},
    ledger::Usage,
};

use crate::{
    process::lock,
    provider::{End, Try},
    world::World,
};

/// What became of a wish, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Done,
    /// It was told that nothing was done.
    Refused,
    Unknown,
}

/// What clients wanted, and what they were told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Every session that somebody wanted to begin.
    pub(crate) started: BTreeSet<SessionId>,
    pub(crate) begun: BTreeMap<SessionId, Fate>,
    /// By their words, which nobody says twice.
    pub(crate) said: BTreeMap<String, (SessionId, Fate)>,
    pub(crate) directed: BTreeMap<String, (SessionId, Fate)>,
    pub(crate) watched: BTreeSet<(usize, SessionId)>,
}

/// Whether a journal is at an end.
pub(crate) fn is_over(records: &[impl AsRef<Record>]) -> bool {
    let last = records.iter().rev().find_map(|record| match record.as_ref().event {
        Event::Ended { .. } => Some(true),
        Event::Resumed { .. } | Event::Forked { .. } => Some(false),
        _ => None,
    });
    last == Some(true)
}

pub(crate) fn check(world: &World) {
    let tries = world.provider.tries();
    for summary in world.summaries() {
        let id = summary.id;
        let records: Vec<Record> = world.records(id).iter().map(|record| Record::clone(record)).collect();
        match Conversation::replay(&records) {
            Ok(conversation) => check_journal(world, id, &records, &conversation, &tries),
            Err(problem) => world.violated(format!("{id} cannot be read: {problem}")),
        }
    }
    check_told(world);
}

/// What clients were told is in the journals, and once.
fn check_told(world: &World) {
    let told = std::mem::take(&mut *lock(&world.told));
    for (id, fate) in told.begun {
        let is_there = !world.records(id).is_empty();
        match fate {
            Fate::Done if !is_there => {
                world.violated(format!("{id} was begun, its client was told, and it is not there"))
            }
            Fate::Refused if is_there => world.violated(format!("{id} was refused, and it is there")),
            Fate::Done | Fate::Refused | Fate::Unknown => {}
        }
    }
    let said = |text: &str, event: &Event| matches!(event, Event::HumanSpoke { text: said, .. } if **said == *text);
    let directed = |text: &str, event: &Event| match event.decided::<scene::Decision>() {
        Some(scene::Decision::Directed { note: Some(note), .. }) => *note.text == *text,
        _ => false,
    };
    let said = told.said.iter().map(|wish| (wish, &said as &dyn Fn(&str, &Event) -> bool));
    let directed = told.directed.iter().map(|wish| (wish, &directed as &dyn Fn(&str, &Event) -> bool));
    for ((text, (id, fate)), is_it) in said.chain(directed) {
        let times = world.records(*id).iter().filter(|record| is_it(text, &record.event)).count();
        let is_right = match fate {
            Fate::Done => times == 1,
            Fate::Refused => times == 0,
            Fate::Unknown => times <= 1,
        };
        if !is_right {
            world.violated(format!("{id}: {text:?} is in the journal {times} times, and its client knows: {fate:?}"));
        }
    }
}

/// An ask that is over: the record that asked, the most that it could use, and how it ended.
struct Closed<'a> {
    asked: Seq,
    at_most: Usage,
    ask: &'a AskId,
    usage: Usage,
    how: How<'a>,
}

#[derive(Clone, Copy, PartialEq)]
enum How<'a> {
    Answered(&'a str),
    Failed,
    Cut,
    Lost,
}

fn check_journal(world: &World, id: SessionId, records: &[Record], conversation: &Conversation, tries: &[Try]) {
    // What was spent before a fork was spent by the other session.
    let forked = records.iter().rposition(|record| matches!(record.event, Event::Forked { .. }));
    let own = &records[forked.map_or(0, |at| at + 1)..];
    let closed = closed(world, id, own);
    let charged = closed.iter().fold(0, |sum, closed| sum + closed.usage.total());
    let ledger = conversation.stage().ledger().total().usage.total();
    if charged != ledger {
        world.violated(format!("{id}: the journal charges {charged} tokens, and the ledger has {ledger}"));
    }
    for closed in &closed {
        let tries: Vec<&Try> = tries.iter().filter(|of| of.session == id && of.asked == closed.asked).collect();
        check_charge(world, id, closed, &tries);
    }
    let mut clips = BTreeSet::new();
    for record in own {
        if let Event::ClipMade { line, .. } = &record.event
            && !clips.insert(*line)
        {
            world.violated(format!("{id}: line {line} has two clips"));
        }
    }
}

/// Every ask that was closed, each by one record.
fn closed<'a>(world: &World, id: SessionId, records: &'a [Record]) -> Vec<Closed<'a>> {
    let mut open: BTreeMap<&AskId, (Seq, Usage)> = BTreeMap::new();
    let mut closed = Vec::new();
    for record in records {
        let mut close = |ask: &'a AskId, usage: Usage, how| match open.remove(ask) {
            Some((asked, at_most)) => closed.push(Closed { asked, at_most, ask, usage, how }),
            None => world.violated(format!("{id}: record {} closes {ask}, which is not open", record.seq)),
        };
        match &record.event {
            Event::Asked { ask, estimate, .. } => {
                let twice = open.insert(ask, (record.seq, *estimate)).is_some();
                twice.then(|| world.violated(format!("{id}: record {} asks {ask} a second time", record.seq)));
            }
            Event::Answered { ask, text, usage, .. } => close(ask, *usage, How::Answered(text)),
            Event::AskFailed { ask, usage, .. } => close(ask, *usage, How::Failed),
            Event::AskCut { ask, usage, .. } => close(ask, *usage, How::Cut),
            Event::Resumed { lost, .. } => {
                lost.iter().for_each(|Lost { ask, usage }| close(ask, *usage, How::Lost));
                must_be_closed(world, id, record, &mut open);
            }
            Event::Ended { .. } => must_be_closed(world, id, record, &mut open),
            _ => {}
        }
    }
    closed
}

fn must_be_closed(world: &World, id: SessionId, record: &Record, open: &mut BTreeMap<&AskId, (Seq, Usage)>) {
    for (ask, _) in std::mem::take(open) {
        world.violated(format!("{id}: {ask} is still open at record {}: nobody pays for it", record.seq));
    }
}

/// What the provider is paid for is what the journal charges, once. Where the process that asked was gone, nobody knows
/// how far it had come, and the most that it could use is charged.
fn check_charge(world: &World, id: SessionId, closed: &Closed<'_>, tries: &[&Try]) {
    let Closed { asked, at_most, ask, usage, how } = closed;
    let paid: u64 = tries.iter().map(|of| of.tokens()).sum();
    let was_gone = tries.is_empty() || tries.iter().any(|of| !world.is_sound(of.process));
    let is_at_most = usage.total() == at_most.total();
    if *how == How::Lost && !is_at_most {
        world.violated(format!("{id}: {ask} of record {asked} was lost and is charged with less than it could use"));
    }
    let may_be_at_most = matches!(how, How::Lost | How::Cut) && is_at_most && was_gone;
    if !may_be_at_most && usage.total() != paid {
        let charged = usage.total();
        world.violated(format!(
            "{id}: {ask} of record {asked} is charged with {charged} tokens and cost {paid}: {tries:?}"
        ));
    }
    if let How::Answered(text) = how {
        let replies = tries.iter().filter(|of| matches!(&of.end, End::Replied { text: reply, .. } if reply == text));
        if replies.count() != 1 {
            world.violated(format!("{id}: {ask} of record {asked} is answered with what no model said"));
        }
    }
}
