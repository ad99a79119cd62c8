//! Discussion: a fixed order, one at a time; a person has a place in the order and is waited for. It is complete
//! after the last turn of the last round.
//!
//! Nobody's turn is ever lost: an agent that cannot be reached, or says nothing twice, has had its turn, and that
//! is on record. What a turn led to, and whose is next, is an event of its own, so that the rows of a turn follow
//! from the records that were written with it.

mod answer;
mod settings;

use std::{collections::BTreeMap, sync::Arc};

use minijinja::{Value, context};
use serde::{Deserialize, Serialize};

pub use self::settings::{Participant, Role, Settings, Who};
use super::{Place, Reaction, Rules, Wants};
use crate::{
    ask::{self, Request, Thread},
    event::{CallFailure, Event, FailureKind, Record},
    id::{AgentId, AskId, PersonId, Purpose},
    line::{Delivery, LineKind, Speaker},
    reason::{Ending, Reason},
    setup::{BadSetup, Cast, Change},
    stage::Stage,
    step::Rejected,
};

/// How many agents speak one after the other without a word from a person; then it pauses.
pub const MAX_TURN_ITERATIONS: u32 = 20;

/// What only a discussion decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Decision {
    /// Before anybody spoke: others take part, or in another order.
    Reseated { participants: Vec<Participant>, cast: Cast },
    /// An agent said nothing, and is asked once more, told why.
    Reasked { ask: AskId, problem: String },
    /// A participant has had their turn; what they said is the line before this.
    TurnTaken {
        turn: Turn,
        /// Why they said nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<TurnFailure>,
        /// Whose turn it is now; nobody's after the last.
        next: Option<Turn>,
    },
}

impl Decision {
    pub(crate) fn is_consequence(&self) -> bool {
        match self {
            Decision::Reseated { .. } => false,
            Decision::Reasked { .. } | Decision::TurnTaken { .. } => true,
        }
    }
}

/// One participant's chance to speak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The place in the order, from 0.
    pub index: u32,
    /// From 1.
    pub round: u32,
    #[serde(flatten)]
    pub participant: Participant,
}

/// Why a turn passed without a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFailure {
    /// What became of the call; `None` when it brought replies without words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailureKind>,
    pub message: String,
}

/// The state of a discussion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Discussion {
    title: Arc<str>,
    topic: Option<Arc<str>>,
    participants: Vec<Participant>,
    seats: BTreeMap<AgentId, Seat>,
    /// Everything that was said, in order.
    said: Vec<Said>,
    /// The place in the order whose turn it is.
    index: usize,
    round: u32,
    max_rounds: u32,
    has_begun: bool,
    /// Turns of agents since a person last did something.
    agent_turns: u32,
    /// Why the agent whose turn it is was asked once more.
    again: Option<String>,
}

/// What an agent knows.
#[derive(Clone, Debug, PartialEq)]
struct Seat {
    head: Arc<str>,
    /// What it was told and what it said, growing at the end only.
    thread: Thread,
    /// How much of what was said it has been told.
    heard: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Said {
    by: Participant,
    text: Arc<str>,
}

impl Discussion {
    pub(crate) fn new(settings: &Settings, stage: &mut Stage) -> Result<Self, BadSetup> {
        let mut discussion = Discussion {
            title: settings.title.clone(),
            topic: settings.topic.clone(),
            participants: Vec::new(),
            seats: BTreeMap::new(),
            said: Vec::new(),
            index: 0,
            round: 1,
            max_rounds: settings.max_rounds,
            has_begun: false,
            agent_turns: 0,
            again: None,
        };
        discussion.seat(settings.participants.clone(), stage.cast(), stage)?;
        stage.set_waiting(discussion.awaited().is_some());
        Ok(discussion)
    }

    /// Gives everybody their place. Templates that cannot be filled are found here, before the first call.
    fn seat(&mut self, participants: Vec<Participant>, cast: &Cast, stage: &Stage) -> Result<(), BadSetup> {
        let listed = |participant: &Participant| {
            context! { name => participant.name(), role => participant.role.as_str() }
        };
        let all: Vec<Value> = participants.iter().map(listed).collect();
        self.seats.clear();
        for participant in &participants {
            let Who::Agent(name) = &participant.who else { continue };
            let persona = cast.agent(name).and_then(|agent| agent.persona.as_ref());
            let variables = context! {
                title => &self.title,
                topic => self.topic.as_ref(),
                name => name.as_str(),
                role => participant.role.as_str(),
                participants => &all,
                persona => persona,
            };
            let head = stage.templates().try_render("discussion_system.j2", &variables)?.into();
            self.seats.insert(name.clone(), Seat { head, thread: Thread::default(), heard: 0 });
        }
        self.participants = participants;
        let example = context! { name => "name", role => "role", text => "text" };
        stage.templates().try_render("discussion_turn.j2", &self.variables("name", &[example], true))?;
        stage.templates().try_render("discussion_again.j2", &context! { problem => "problem" }).map(|_| ())
    }

    fn variables(&self, name: &str, entries: &[Value], has_spoken: bool) -> Value {
        let (round, max_rounds) = (self.round, self.max_rounds);
        context! { name, entries, has_spoken, round, max_rounds }
    }

    /// What an agent is told at its turn: everything that it has not heard yet.
    fn prompt(&self, stage: &Stage, name: &AgentId, seat: &Seat) -> Arc<str> {
        let entry = |said: &Said| {
            context! { name => said.by.name(), role => said.by.role.as_str(), text => &said.text }
        };
        let entries: Vec<Value> = self.said[seat.heard..].iter().map(entry).collect();
        let has_spoken = !seat.thread.messages().is_empty();
        stage.templates().render("discussion_turn.j2", &self.variables(name.as_str(), &entries, has_spoken))
    }

    /// Whose turn it is; `None` after the last.
    fn turn(&self) -> Option<Turn> {
        self.turn_at(self.index, self.round)
    }

    fn turn_at(&self, index: usize, round: u32) -> Option<Turn> {
        let participant = self.participants[index].clone();
        (round <= self.max_rounds).then_some(Turn { index: index as u32, round, participant })
    }

    /// The place after this one.
    fn after(&self, index: usize, round: u32) -> (usize, u32) {
        if index + 1 < self.participants.len() { (index + 1, round) } else { (0, round + 1) }
    }

    fn awaited(&self) -> Option<PersonId> {
        match self.turn()?.participant.who {
            Who::Person(person) => Some(person),
            Who::Agent(_) => None,
        }
    }

    /// The turn that is now is over.
    fn taken(&self, failure: Option<TurnFailure>) -> Option<Event> {
        let (turn, next) = (self.turn()?, self.after(self.index, self.round));
        Some(Event::Discussion(Decision::TurnTaken { turn, failure, next: self.turn_at(next.0, next.1) }))
    }

    /// An agent has nothing to show for its turn: once it is asked again, then the turn passes on.
    fn nothing_said(&self, ask: &AskId, kind: Option<FailureKind>, problem: String) -> Vec<Event> {
        if self.again.is_none() {
            return vec![Event::Discussion(Decision::Reasked { ask: ask.clone(), problem })];
        }
        self.taken(Some(TurnFailure { kind, message: format!("nothing was said, twice: {problem}") }))
            .into_iter()
            .collect()
    }

    fn fold(&mut self, stage: &mut Stage, decision: &Decision) {
        match decision {
            Decision::Reseated { participants, cast } => {
                // It was tried before it was recorded.
                let _ = self.seat(participants.clone(), cast, stage);
                stage.set_cast(cast.clone());
            }
            Decision::Reasked { ask, problem } => {
                self.again = Some(problem.clone());
                // A call that failed has spent its attempt already.
                let place = Place { purpose: ask.purpose, turn: ask.turn, agent: ask.agent.clone() };
                if stage.ask_at(place) == *ask {
                    stage.spend_attempt(ask);
                }
            }
            Decision::TurnTaken { turn, .. } => {
                (self.index, self.round) = self.after(turn.index as usize, turn.round);
                self.has_begun = true;
                self.again = None;
                self.agent_turns = match turn.participant.who {
                    Who::Agent(_) => self.agent_turns + 1,
                    Who::Person(_) => 0,
                };
            }
        }
    }

    fn say(&mut self, who: &Who, text: &Arc<str>) {
        if let Some(by) = self.participants.iter().find(|participant| participant.who == *who) {
            self.said.push(Said { by: by.clone(), text: text.clone() });
        }
    }
}

impl Rules for Discussion {
    fn wants(&self, _: &Stage) -> Wants {
        match self.turn() {
            None => Wants::End(Reason::Completed),
            Some(Turn { participant: Participant { who: Who::Person(person), .. }, .. }) => Wants::Await(person),
            Some(_) if self.agent_turns >= MAX_TURN_ITERATIONS => Wants::End(Reason::CapReached),
            Some(Turn { round, participant: Participant { who: Who::Agent(agent), .. }, .. }) => {
                Wants::Asks(vec![Place { purpose: Purpose::Discuss, turn: round, agent }])
            }
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        let seat = &self.seats[&ask.agent];
        let mut prompt = self.prompt(stage, &ask.agent, seat);
        if let Some(problem) = &self.again {
            let again = stage.templates().render("discussion_again.j2", &context! { problem => problem });
            prompt = format!("{prompt}{again}").into();
        }
        Request {
            model: agent.model.clone(),
            system: seat.head.clone(),
            thread: seat.thread.clone(),
            prompt,
            shape: None,
            grammar: None,
            sampling: agent.sampling.clone(),
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str) -> Reaction {
        let mut repairs = Vec::new();
        let own = &self.participants[self.index];
        let stops = stage.cast().agent(&ask.agent).map(|agent| agent.sampling.stop.as_slice()).unwrap_or_default();
        let Some(words) = answer::read(text, own, &self.participants, stops, &mut repairs) else {
            let problem = if text.trim().is_empty() {
                "it is empty".to_owned()
            } else {
                let stops: Vec<String> = stops.iter().map(|stop| format!("{stop:?}")).collect();
                format!("nothing stands before the first {}, which end a reply", stops.join(" or "))
            };
            return Reaction { repairs, events: self.nothing_said(ask, None, problem) };
        };
        let line = Event::LineSpoken {
            speaker: Speaker::Agent(ask.agent.clone()),
            kind: LineKind::Message,
            text: words.into(),
            ask: Some(ask.clone()),
            to: None,
            voice: None,
            delivery: Delivery::default(),
        };
        Reaction { repairs, events: [line].into_iter().chain(self.taken(None)).collect() }
    }

    fn failed(&self, _: &Stage, ask: &AskId, failure: &CallFailure) -> Vec<Event> {
        match failure.kind {
            // A reply that began with a stop sequence arrives as no reply at all.
            FailureKind::BadResponse => self.nothing_said(ask, Some(failure.kind), failure.message.clone()),
            FailureKind::Timeout
            | FailureKind::RateLimited
            | FailureKind::Overloaded
            | FailureKind::Unauthorized
            | FailureKind::Refused
            | FailureKind::ContextTooLong
            | FailureKind::Network
            | FailureKind::Rejected
            | FailureKind::Unavailable
            | FailureKind::ScriptChanged => {
                let failure = TurnFailure { kind: Some(failure.kind), message: failure.message.clone() };
                self.taken(Some(failure)).into_iter().collect()
            }
        }
    }

    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        if self.awaited().as_ref() == Some(who) { Ok(()) } else { Err(Rejected::NotYourTurn(who.clone())) }
    }

    fn heard(&self, _: &Stage, _: &PersonId) -> Vec<Event> {
        self.taken(None).into_iter().collect()
    }

    fn reseat(&self, stage: &Stage, participants: Vec<Participant>, cast: Cast) -> Result<Vec<Event>, Rejected> {
        if self.has_begun || stage.anything_open() {
            return Err(Rejected::Begun);
        }
        settings::check_seats(&participants, &cast)?;
        self.clone().seat(participants.clone(), &cast, stage)?;
        Ok(vec![Event::Discussion(Decision::Reseated { participants, cast })])
    }

    /// A pause is ended by whoever made it, not by the next word.
    fn may_reopen(&self, _: &Stage, reason: Reason) -> Result<(), Rejected> {
        Err(match reason.ending() {
            Ending::BrokenOff | Ending::UsedUp => Rejected::Paused,
            Ending::Limit => Rejected::StillAtLimit(reason),
            Ending::Complete => Rejected::Ended(reason),
        })
    }

    /// A pause needs nothing to be gone on from, and a complete discussion more rounds.
    fn may_resume(&self, stage: &Stage, reason: Reason, change: &Change) -> Result<(), Rejected> {
        match reason.ending() {
            Ending::BrokenOff | Ending::UsedUp => Ok(()),
            Ending::Limit if stage.is_raised(reason, change) => Ok(()),
            Ending::Limit => Err(Rejected::StillAtLimit(reason)),
            Ending::Complete if change.max_rounds > Some(self.max_rounds) => Ok(()),
            Ending::Complete => Err(Rejected::Complete(reason)),
        }
    }

    fn notice(&self, stage: &Stage, reason: Reason) -> Option<Arc<str>> {
        let limits = stage.limits();
        let notice = match reason {
            Reason::Completed => format!("Discussion completed after round {}.", self.max_rounds),
            Reason::Cancelled => "Discussion paused.".to_owned(),
            Reason::CapReached => {
                format!("Discussion paused: {MAX_TURN_ITERATIONS} turns of agents without a word from a person.")
            }
            Reason::LimitUsd => {
                format!("Discussion paused: the next call could pass the limit of {}.", limits.max_usd)
            }
            Reason::LimitTokens => {
                format!("Discussion paused: the next call could pass the limit of {} tokens.", limits.max_tokens)
            }
            Reason::LimitSeconds => {
                format!("Discussion paused: the limit of {} seconds is reached.", limits.max_seconds)
            }
            Reason::Failed
            | Reason::Final
            | Reason::NoHandoff
            | Reason::MalformedReply
            | Reason::GoalAchieved
            | Reason::NaturalEnd
            | Reason::MaxBeatsExceeded
            | Reason::Stalled => return None,
        };
        Some(notice.into())
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::HumanSpoke { who, text, .. } => self.say(&Who::Person(who.clone()), text),
            Event::LineSpoken { speaker: Speaker::Agent(name), text, .. } => {
                let prompt = self.seats.get(name).map(|seat| self.prompt(stage, name, seat));
                self.say(&Who::Agent(name.clone()), text);
                if let (Some(seat), Some(prompt)) = (self.seats.get_mut(name), prompt) {
                    seat.thread.push(ask::Role::User, prompt);
                    seat.thread.push(ask::Role::Assistant, text.clone());
                    seat.heard = self.said.len();
                }
            }
            Event::Discussion(decision) => self.fold(stage, decision),
            Event::Resumed { change, .. } | Event::Forked { change, .. } => {
                self.agent_turns = 0;
                self.max_rounds = change.max_rounds.unwrap_or(self.max_rounds);
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::LineSpoken { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Collaboration(_)
            | Event::Chorus(_)
            | Event::Scene(_)
            | Event::Ended { .. } => {}
        }
        stage.set_waiting(self.awaited().is_some());
    }
}
