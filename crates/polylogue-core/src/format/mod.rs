//! The formats: who speaks when, and when it is over. One file each; the engine knows no other difference
//! between them.
//!
//! A format never touches the journal. It says what it wants from the stage as it stands, decides what an
//! answer means, and keeps its own small state by folding the events.

pub mod chorus;
pub mod collaboration;
pub mod discussion;
pub mod interview;
pub mod scene;

use std::sync::Arc;

use crate::{
    ask::Request,
    event::{CallFailure, Event, Record},
    id::{AgentId, AskId, LineId, PersonId, Purpose},
    line::Line,
    reason::{Ending, Reason},
    reply::Repair,
    setup::{BadSetup, Cast, Change, FormatSetup, Setup},
    stage::Stage,
    step::Rejected,
};
use chorus::Chorus;
use collaboration::Collaboration;
use discussion::{Discussion, Participant};
use interview::Interview;
use scene::Scene;

/// What a format wants now.
#[derive(Debug, PartialEq)]
pub(crate) enum Wants {
    /// These agents asked, all at once.
    Asks(Vec<Place>),
    /// This person to speak.
    Await(PersonId),
    /// It is over but for these, which are left out when a limit is in their way.
    Epilogue(Vec<Place>, Reason),
    End(Reason),
}

/// Where in the conversation an ask belongs; with its attempt it is an [`AskId`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) purpose: Purpose,
    pub(crate) turn: u32,
    pub(crate) agent: AgentId,
}

/// What an answer means: how it had to be read, and what follows.
#[derive(Debug, Default)]
pub(crate) struct Reaction {
    pub(crate) repairs: Vec<Repair>,
    pub(crate) events: Vec<Event>,
}

/// The rules of taking turns.
pub(crate) trait Rules {
    fn wants(&self, stage: &Stage) -> Wants;

    /// The request at a place that [`Rules::wants`] named.
    fn request(&self, stage: &Stage, ask: &AskId) -> Request;

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str) -> Reaction;

    fn failed(&self, stage: &Stage, ask: &AskId, failure: &CallFailure) -> Vec<Event>;

    /// Whether this person may speak now; the words themselves have been looked at already.
    fn may_speak(&self, stage: &Stage, who: &PersonId) -> Result<(), Rejected>;

    /// What follows when a person has spoken.
    fn heard(&self, _stage: &Stage, _who: &PersonId) -> Vec<Event> {
        Vec::new()
    }

    /// Whether others may take part from here on, and what is recorded of that.
    fn reseat(&self, _stage: &Stage, _seats: Vec<Participant>, _cast: Cast) -> Result<Vec<Event>, Rejected> {
        Err(Rejected::FixedSeats)
    }

    /// What follows when a line's clip is made, or has failed.
    fn clipped(&self, _stage: &Stage, _line: LineId, _is_made: bool) -> Vec<Event> {
        Vec::new()
    }

    /// Where the clip of a line lies within the session's folder: folders, then the file's name without its
    /// ending. Empty where the format has no wish.
    fn clip_place(&self, _stage: &Stage, _line: &Line) -> Vec<String> {
        Vec::new()
    }

    /// Whether a person's words open a session again that ended so.
    fn may_reopen(&self, _stage: &Stage, reason: Reason) -> Result<(), Rejected> {
        Err(Rejected::Ended(reason))
    }

    /// How many rounds or beats there are at most, where the format counts any.
    fn bound(&self) -> Option<u32> {
        None
    }

    /// How many beats are over, where the format counts beats.
    fn beats(&self) -> Option<u32> {
        None
    }

    /// Whether a session that ended so can go on with this change.
    fn may_resume(&self, stage: &Stage, reason: Reason, change: &Change) -> Result<(), Rejected> {
        let may = match reason.ending() {
            Ending::BrokenOff => true,
            Ending::Complete => return Err(Rejected::Complete(reason)),
            Ending::UsedUp => change.max_rounds > self.bound(),
            Ending::Limit => stage.is_raised(reason, change),
        };
        if may { Ok(()) } else { Err(Rejected::StillAtLimit(reason)) }
    }

    /// What the conversation itself says at its end.
    fn notice(&self, stage: &Stage, reason: Reason) -> Option<Arc<str>>;

    /// Folds an event that the stage has folded already.
    fn apply(&mut self, stage: &mut Stage, record: &Record);
}

/// A format with its state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Format {
    Collaboration(Collaboration),
    Chorus(Chorus),
    Discussion(Discussion),
    Scene(Box<Scene>),
    Interview(Box<Interview>),
}

impl Format {
    /// The format at the first record of its journal.
    pub(crate) fn new(setup: &Setup, stage: &mut Stage, started: &Record) -> Result<Format, BadSetup> {
        match &setup.format {
            FormatSetup::Collaboration(settings) => {
                Collaboration::new(settings, stage, started).map(Format::Collaboration)
            }
            FormatSetup::Chorus(settings) => Chorus::new(settings, stage, started).map(Format::Chorus),
            FormatSetup::Discussion(settings) => Discussion::new(settings, stage).map(Format::Discussion),
            FormatSetup::Scene(settings) => Scene::new(settings, stage, started).map(Box::new).map(Format::Scene),
            FormatSetup::Interview(settings) => {
                Interview::new(settings, stage, started).map(Box::new).map(Format::Interview)
            }
        }
    }

    pub(crate) fn rules(&self) -> &dyn Rules {
        match self {
            Format::Collaboration(collaboration) => collaboration,
            Format::Chorus(chorus) => chorus,
            Format::Discussion(discussion) => discussion,
            Format::Scene(scene) => &**scene,
            Format::Interview(interview) => &**interview,
        }
    }

    pub(crate) fn rules_mut(&mut self) -> &mut dyn Rules {
        match self {
            Format::Collaboration(collaboration) => collaboration,
            Format::Chorus(chorus) => chorus,
            Format::Discussion(discussion) => discussion,
            Format::Scene(scene) => &mut **scene,
            Format::Interview(interview) => &mut **interview,
        }
    }
}
