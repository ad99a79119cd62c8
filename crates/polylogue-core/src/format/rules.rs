//! The rules of taking turns, as the machine asks for them.
//!
//! A format never touches the journal. It says what it wants from the stage as it stands, decides what something
//! that happened means, and keeps its own small state by folding the events.

use std::{any::Any, fmt, sync::Arc};

use super::{Decision, Hearing};
use crate::{
    ask::Request,
    event::{CallFailure, Event, Record},
    id::{AgentId, AskId, LineId, PersonId, Purpose},
    line::Line,
    reason::{Ending, Reason},
    setup::{BadSetup, Change, Note},
    stage::Stage,
    step::{Awaited, Rejected},
    text::reply::Repair,
};

/// What a format wants now.
#[derive(Debug, PartialEq)]
pub enum Wants {
    /// These to take their turns, all at once: agents who are asked, and people who are waited for.
    Turns {
        asks: Vec<Place>,
        people: Vec<Awaited>,
    },
    /// It is over but for these, which are left out when a limit is in their way.
    Epilogue(Vec<Place>, Reason),
    End(Reason),
}

impl Wants {
    /// These agents asked, all at once.
    pub fn asks(asks: Vec<Place>) -> Wants {
        Wants::Turns { asks, people: Vec::new() }
    }

    /// This person to speak, however long they take.
    pub fn person(who: PersonId) -> Wants {
        Wants::Turns { asks: Vec::new(), people: vec![Awaited::patiently(who)] }
    }
}

/// Where in the conversation an ask belongs; with its attempt it is an [`AskId`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub purpose: Purpose,
    pub turn: u32,
    pub agent: AgentId,
}

impl Place {
    pub(crate) fn of(ask: &AskId) -> Place {
        Place { purpose: ask.purpose, turn: ask.turn, agent: ask.agent.clone() }
    }
}

/// Something that happened, as far as a format may have to decide something about it.
#[derive(Clone, Copy, Debug)]
pub enum Happened<'a> {
    Answered {
        ask: &'a AskId,
        text: &'a str,
        /// Whether it broke off because the output limit was reached.
        is_full: bool,
    },
    /// A call failed for good.
    Failed { ask: &'a AskId, failure: &'a CallFailure },
    /// A person spoke, and was allowed to.
    Heard { who: &'a PersonId, text: &'a str },
    /// A person who was waited for did not speak.
    Absent { who: &'a PersonId },
    /// A line's clip is made, or has failed.
    Clipped { line: LineId, is_made: bool },
    /// Somebody outside wants this to be decided.
    Proposed(&'a Decision),
}

/// What something that happened means: how a reply had to be read, and what follows.
#[derive(Debug, Default)]
pub struct Reaction {
    pub repairs: Vec<Repair>,
    pub events: Vec<Event>,
}

impl Reaction {
    /// Nothing had to be repaired.
    pub fn events(events: Vec<Event>) -> Reaction {
        Reaction { repairs: Vec::new(), events }
    }
}

/// The rules of taking turns, with the state that they need.
pub trait Rules: Any + fmt::Debug + Send + Sync {
    fn wants(&self, stage: &Stage) -> Wants;

    /// The request at a place that [`Rules::wants`] named.
    fn request(&self, stage: &Stage, ask: &AskId) -> Request;

    /// What something that happened means. It changes nothing.
    fn on(&self, stage: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected>;

    /// How the reply to this ask reads while it arrives; `None` where nobody is to hear it.
    fn hearing(&self, _stage: &Stage, _ask: &AskId) -> Option<Hearing> {
        None
    }

    /// Folds an event that the stage has folded already. It renders no prompt.
    fn apply(&mut self, stage: &mut Stage, record: &Record);

    /// Fills every template once, so that a replaced one that cannot be filled is found before the first call.
    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup>;

    /// Whether this person may speak now. The words themselves have been looked at already.
    fn may_speak(&self, stage: &Stage, who: &PersonId) -> Result<(), Rejected>;

    /// The turn that a person's words answer, where they play a part as agents do. `None` where the words are a line of
    /// their own.
    fn turn_of(&self, _stage: &Stage, _who: &PersonId) -> Option<AskId> {
        None
    }

    /// What a person who is waited for is asked, where that is more than to go on.
    fn asked(&self, _stage: &Stage, _who: &PersonId) -> Option<String> {
        None
    }

    /// Whether a person's words open a session again that ended so.
    fn may_reopen(&self, _stage: &Stage, reason: Reason) -> Result<(), Rejected> {
        Err(Rejected::Ended(reason))
    }

    /// Whether a session that ended so can go on with this change.
    fn may_resume(&self, stage: &Stage, reason: Reason, change: &Change) -> Result<(), Rejected> {
        let may = match reason.ending() {
            Ending::BrokenOff => true,
            Ending::Complete | Ending::GivenUp | Ending::Unknown => return Err(Rejected::Complete(reason)),
            Ending::UsedUp => change.max_rounds > self.bound(),
            Ending::Limit => stage.is_raised(reason, change),
        };
        if may { Ok(()) } else { Err(Rejected::StillAtLimit(reason)) }
    }

    /// What follows when the session goes on with this change. It changes nothing.
    fn goes_on(&self, _stage: &Stage, _change: &Change) -> Vec<Event> {
        Vec::new()
    }

    /// How many rounds or beats there are at most, where the format counts any.
    fn bound(&self) -> Option<u32> {
        None
    }

    /// The most rounds or beats that a session of this format can have, where it counts any.
    fn most(&self) -> Option<u32> {
        None
    }

    /// Where an ask stands in what the format counts, in words: `round 2 of 6`.
    fn counter(&self, ask: &AskId) -> String;

    /// The phase that a turn belongs to, where phases have names of their own.
    fn phase(&self, _turn: u32) -> Option<Arc<str>> {
        None
    }

    /// What the conversation itself says at its end.
    fn notice(&self, _stage: &Stage, _reason: Reason) -> Option<Arc<str>> {
        None
    }

    /// Where the clip of a line lies within the session's folder: folders, then the file's name without its
    /// ending. Empty where the format has no wish.
    fn clip_place(&self, _stage: &Stage, _line: &Line) -> Vec<String> {
        Vec::new()
    }

    /// The reply that would have brought these words instead of the line's own, and everything else as `reply` did.
    fn reworded(&self, _line: &Line, _reply: &str, words: &str) -> String {
        words.to_owned()
    }

    /// What follows when somebody outside tells the agents this, where they can be told anything between their turns.
    /// It changes nothing.
    fn noted(&self, _stage: &Stage, _note: &Note) -> Result<Vec<Event>, Rejected> {
        Err(Rejected::NoNotes)
    }
}

/// Rules whose type is not known where they are held, and which can be copied and compared all the same.
pub(crate) trait AnyRules: Rules {
    fn boxed(&self) -> Box<dyn AnyRules>;
    fn is_same(&self, other: &dyn AnyRules) -> bool;
}

impl<R: Rules + Clone + PartialEq> AnyRules for R {
    fn boxed(&self) -> Box<dyn AnyRules> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn AnyRules) -> bool {
        (other as &dyn Any).downcast_ref::<R>() == Some(self)
    }
}
