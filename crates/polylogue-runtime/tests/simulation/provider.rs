//! The provider of all models, which keeps a bill: what it was asked, by whom, and what it will be paid for.

use std::sync::Mutex;

use polylogue_core::{
    Event, Record,
    id::{AskId, Seq, SessionId},
    ledger::{TokenCount, Usage},
};
use polylogue_runtime::port::Call;

use crate::process::{Process, lock};

/// Its name, by which places for calls are shared.
pub(crate) const NAME: &str = "sim";

/// One try of a call, as the provider has it.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    pub(crate) process: usize,
    pub(crate) session: SessionId,
    /// The record that says that this is asked.
    pub(crate) asked: Seq,
    /// What was sent, and the most that could come of it.
    sent: Usage,
    /// What the provider has reported before the end.
    reported: Option<Usage>,
    heard: TokenCount,
    was_taken_up: bool,
    pub(crate) end: End,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    UnderWay,
    Replied {
        text: String,
        usage: Option<Usage>,
    },
    Failed {
        is_billed: bool,
    },
    /// Whoever asked did not wait for the end, or the connector broke.
    Dropped,
}

impl Try {
    /// The tokens that are to be paid for: what was reported, or else all that was sent and what had come.
    pub(crate) fn tokens(&self) -> u64 {
        let known = || self.reported.unwrap_or(Usage { output: self.heard.tokens(), ..self.sent }).total();
        match &self.end {
            End::Replied { usage: Some(usage), .. } => usage.total(),
            End::Replied { usage: None, text } => {
                let mut count = TokenCount::default();
                count.add(text);
                Usage { output: count.tokens(), ..self.sent }.total()
            }
            End::Failed { is_billed } if !is_billed && !self.was_taken_up && self.reported.is_none() => 0,
            End::Failed { .. } | End::Dropped | End::UnderWay => known(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Provider {
    tries: Mutex<Vec<Try>>,
}

/// A try that is under way. Dropped before it has come to an end, it was not waited for.
pub(crate) struct UnderWay<'a> {
    process: &'a Process,
    at: usize,
}

impl Provider {
    pub(crate) fn tries(&self) -> Vec<Try> {
        lock(&self.tries).clone()
    }

    /// Tries of this session that are under way in processes that nothing has come between.
    pub(crate) fn under_way(&self, session: SessionId, is_sound: impl Fn(usize) -> bool) -> usize {
        let tries = lock(&self.tries);
        let is_its = |of: &&Try| of.session == session && of.end == End::UnderWay && is_sound(of.process);
        tries.iter().filter(is_its).count()
    }

    /// All tries that are under way there.
    pub(crate) fn calls_at_once(&self, is_sound: impl Fn(usize) -> bool) -> usize {
        lock(&self.tries).iter().filter(|of| of.end == End::UnderWay && is_sound(of.process)).count()
    }
}

/// The open ask of a journal that is called so: the record that asks, and the most that it may use.
fn open(records: &[impl AsRef<Record>], ask: &AskId) -> Option<(Seq, Usage)> {
    let mut open = None;
    for record in records.iter().map(AsRef::as_ref) {
        match &record.event {
            Event::Asked { ask: asked, estimate, .. } if asked == ask => open = Some((record.seq, *estimate)),
            Event::Answered { ask: over, .. }
            | Event::AskFailed { ask: over, .. }
            | Event::AskCut { ask: over, .. }
                if over == ask =>
            {
                open = None;
            }
            Event::Resumed { .. } | Event::Forked { .. } | Event::Ended { .. } => open = None,
            _ => {}
        }
    }
    open
}

impl<'a> UnderWay<'a> {
    /// A call arrives. It has to be on record by then, and by the one who owns the session.
    pub(crate) fn begin(process: &'a Process, call: &Call) -> UnderWay<'a> {
        let (world, ask) = (&process.world, &call.ask.id);
        let session: SessionId = call.ask.request.model.model.parse().expect("a model is called after its session");
        let asked = open(&world.records(session), ask);
        if asked.is_none() {
            world.violated(format!("{session}: {ask} is asked and not on record"));
        }
        let owner = process.hub().node();
        if !world.owned(owner).contains(&session) {
            world.violated(format!("{session}: process {} asks {ask} and does not own the session", process.number));
        }
        let (asked, sent) = asked.unwrap_or_default();
        world
            .note(|| format!("process {} asks {session} {ask} for record {asked}, try {}", process.number, call.retry));
        let mut tries = lock(&world.provider.tries);
        tries.push(Try {
            process: process.number,
            session,
            asked,
            sent,
            reported: None,
            heard: TokenCount::default(),
            was_taken_up: false,
            end: End::UnderWay,
        });
        let at = tries.len() - 1;
        drop(tries);
        world.check_bound();
        UnderWay { process, at }
    }

    fn change(&self, change: impl FnOnce(&mut Try)) {
        change(&mut lock(&self.process.world.provider.tries)[self.at]);
    }

    pub(crate) fn alive(&self, call: &Call) {
        call.deltas.alive();
        self.change(|this| this.was_taken_up = true);
    }

    pub(crate) fn push(&self, call: &Call, text: &str) {
        call.deltas.push(text);
        self.change(|this| {
            this.was_taken_up = true;
            this.heard.add(text);
        });
    }

    pub(crate) fn report(&self, call: &Call, usage: Usage) {
        call.deltas.bill(usage);
        self.change(|this| this.reported = Some(usage));
    }

    pub(crate) fn end(self, end: End) {
        self.change(|this| this.end = end);
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.change(|this| {
            if this.end == End::UnderWay {
                this.end = End::Dropped;
            }
        });
    }
}
