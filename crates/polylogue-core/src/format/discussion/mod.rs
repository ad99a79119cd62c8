//! Discussion: a fixed order, one at a time; a person has a place in the order and is waited for. It is complete
//! after the last turn of the last round, or with a decision that one of the agents states then.
//!
//! Nobody's turn is ever lost: an agent that cannot be reached, or says nothing twice, has had its turn, and that
//! is on record. What a turn led to, and whose is next, is an event of its own, so that the rows of a turn follow
//! from the records that were written with it.

mod answer;
mod decision;
mod settings;
mod small;
mod view;
mod vocabulary;

use std::{collections::BTreeMap, sync::Arc};

use minijinja::{Value, context};

pub use self::{
    decision::{Decision, Turn, TurnFailure},
    settings::{Closing, Participant, Role, Settings, Who},
    view::{
        AgentRow, DiscussionChange, DiscussionEntry, DiscussionState, DiscussionStatus, LogRow, Metadata, ModelConfig,
        NotADiscussion, ParticipantRow, ProjectRow, discussion_changes,
    },
    vocabulary::{kind, purpose},
};
use super::{Format, Happened, Hearing, Place, Reaction, Rules, Vocabulary, Wants};
use crate::{
    ask::{Request, Text},
    event::{CallFailure, Event, FailureKind, Record},
    id::{AgentId, AskId, PersonId},
    line::{Delivery, Line, LineKind, Speaker},
    prompt::Templates,
    reason::{Ending, Reason},
    setup::{BadSetup, Cast, Change, Note},
    stage::Stage,
    step::Rejected,
    thread::{Kept, Past, Told},
};

/// How many agents speak one after the other without a word from a person; then it pauses.
pub const MAX_TURN_ITERATIONS: u32 = 20;

impl Format for Settings {
    const NAME: &'static str = "discussion";
    const VOCABULARY: Vocabulary = vocabulary::VOCABULARY;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("discussion_again.j2", include_str!("templates/discussion_again.j2")),
        ("discussion_closing.j2", include_str!("templates/discussion_closing.j2")),
        ("discussion_system.j2", include_str!("templates/discussion_system.j2")),
        ("discussion_turn.j2", include_str!("templates/discussion_turn.j2")),
        ("small/discussion_closing.j2", include_str!("templates/small/discussion_closing.j2")),
        ("small/discussion_system.j2", include_str!("templates/small/discussion_system.j2")),
        ("small/discussion_turn.j2", include_str!("templates/small/discussion_turn.j2")),
    ];

    type Decision = Decision;
    type Rules = Discussion;

    fn rules(&self, stage: &mut Stage, _: &Record) -> Discussion {
        let discussion = Discussion::new(self);
        stage.set_waiting(discussion.awaited().is_some());
        discussion
    }
}

/// The state of a discussion.
#[derive(Clone, Debug, PartialEq)]
pub struct Discussion {
    title: Arc<str>,
    topic: Option<Arc<str>>,
    participants: Vec<Participant>,
    seats: BTreeMap<AgentId, Seat>,
    /// The place in the order whose turn it is.
    index: usize,
    round: u32,
    max_rounds: u32,
    closing: Closing,
    /// Whether the decision was stated.
    is_closed: bool,
    has_begun: bool,
    /// Turns of agents since a person last did something.
    agent_turns: u32,
    /// Why the agent whose turn it is was asked once more.
    again: Option<String>,
    /// What the agent whose turn it is is told.
    prompt: Kept,
}

/// What an agent knows.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seat {
    head: Kept,
    past: Past<News>,
    /// How many lines of the transcript it has been told.
    heard: usize,
    /// What somebody outside tells it at its next turn.
    notes: Vec<Arc<str>>,
}

/// What an agent is told at its turn, before it is written: everything that it has not heard yet.
#[derive(Clone, Debug, PartialEq)]
struct News {
    name: AgentId,
    /// The lines of the transcript, from and to.
    lines: [usize; 2],
    round: u32,
    max_rounds: u32,
    has_spoken: bool,
    notes: Vec<Arc<str>>,
    /// Whether it is to state the decision.
    closes: bool,
}

impl Discussion {
    fn new(settings: &Settings) -> Self {
        let mut discussion = Discussion {
            title: settings.title.clone(),
            topic: settings.topic.clone(),
            participants: Vec::new(),
            seats: BTreeMap::new(),
            index: 0,
            round: 1,
            max_rounds: settings.max_rounds,
            closing: settings.closing,
            is_closed: false,
            has_begun: false,
            agent_turns: 0,
            again: None,
            prompt: Kept::default(),
        };
        discussion.seat(settings.participants.clone());
        discussion
    }

    /// Gives everybody their place.
    fn seat(&mut self, participants: Vec<Participant>) {
        let agents = participants.iter().filter_map(|participant| match &participant.who {
            Who::Agent(name) => Some(name.clone()),
            Who::Person(_) => None,
        });
        self.seats = agents.map(|name| (name, Seat::default())).collect();
        self.participants = participants;
    }

    /// What the fixed head of an agent's requests is filled with.
    fn head(&self, name: &AgentId, cast: &Cast) -> Value {
        let listed = |participant: &Participant| {
            context! { name => participant.name(), role => participant.role.as_str() }
        };
        let all: Vec<Value> = self.participants.iter().map(listed).collect();
        let own = self.participants.iter().find(|participant| participant.name() == name.as_str());
        context! {
            title => &self.title,
            topic => self.topic.as_ref(),
            name => name.as_str(),
            role => own.map(|own| own.role.as_str()),
            participants => &all,
            persona => cast.agent(name).and_then(|agent| agent.persona.as_ref()),
        }
    }

    fn try_heads(&self, templates: &Templates, cast: &Cast) -> Result<(), BadSetup> {
        let mut heads = self.seats.keys().map(|name| self.head(name, cast));
        heads.try_for_each(|head| templates.try_render("discussion_system.j2", &head).map(|_| ()))
    }

    fn variables(&self, news: &News, entries: &[Value]) -> Value {
        let News { name, round, max_rounds, has_spoken, notes, .. } = news;
        context! { name => name.as_str(), entries, has_spoken, round, max_rounds, notes }
    }

    /// What this agent is told about everything up to a line.
    fn news(&self, name: &AgentId, seat: &Seat, until: usize) -> News {
        let (round, max_rounds, has_spoken) = (self.round, self.max_rounds, !seat.past.is_empty());
        let (lines, notes, closes) = ([seat.heard, until], seat.notes.clone(), self.closer().is_some());
        News { name: name.clone(), lines, round, max_rounds, has_spoken, notes, closes }
    }

    fn write(&self, stage: &Stage, news: &News) -> Text {
        let [from, until] = news.lines;
        let entry = |line: &Line| {
            let by = self.participants.iter().find(|participant| participant.is(&line.speaker))?;
            Some(context! { name => by.name(), role => by.role.as_str(), text => &line.text })
        };
        let entries: Vec<Value> = stage.transcript().lines()[from..until].iter().filter_map(entry).collect();
        stage.templates().render(template(news.closes), &self.variables(news, &entries))
    }

    /// Whose turn it is; `None` after the last.
    fn turn(&self) -> Option<Turn> {
        self.turn_at(self.index, self.round)
    }

    fn turn_at(&self, index: usize, round: u32) -> Option<Turn> {
        let participant = self.participants[index].clone();
        (round <= self.max_rounds).then_some(Turn { index: index as u32, round, participant })
    }

    /// Who is to state the decision now.
    fn closer(&self) -> Option<&Participant> {
        let is_due = self.closing == Closing::Decision && !self.is_closed && self.turn().is_none();
        settings::closer(&self.participants, |participant| participant.role).filter(|_| is_due)
    }

    /// Who is asked, with their role.
    fn asked(&self, ask: &AskId) -> &Participant {
        let mut all = self.participants.iter();
        all.find(|participant| participant.name() == ask.agent.as_str()).expect("only participants are asked")
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
        let Some(turn) = self.turn() else { return self.closed(failure) };
        let next = self.after(self.index, self.round);
        let next = self.turn_at(next.0, next.1);
        let closer = settings::closer(&self.participants, |participant| participant.role);
        let closes = match (self.closing, &next, closer) {
            (Closing::Decision, None, Some(Participant { who: Who::Agent(agent), .. })) => Some(agent.clone()),
            _ => None,
        };
        Some(Event::decision(Decision::TurnTaken { turn, failure, next, closes }))
    }

    /// The decision was stated, or will not be.
    fn closed(&self, failure: Option<TurnFailure>) -> Option<Event> {
        let (participant, index) = (self.closer()?.clone(), self.participants.len() as u32);
        let turn = Turn { index, round: self.max_rounds, participant };
        Some(Event::decision(Decision::Closed { turn, failure }))
    }

    /// An agent has nothing to show for its turn: once it is asked again, then the turn passes on.
    fn nothing_said(&self, ask: &AskId, kind: Option<FailureKind>, problem: String) -> Vec<Event> {
        if self.again.is_none() {
            return vec![Event::decision(Decision::Reasked { ask: ask.clone(), problem })];
        }
        self.taken(Some(TurnFailure { kind, message: format!("nothing was said, twice: {problem}") }))
            .into_iter()
            .collect()
    }

    fn fold(&mut self, stage: &mut Stage, decision: &Decision) {
        match decision {
            Decision::Reseated { participants, cast } => {
                self.seat(participants.clone());
                stage.set_cast(cast.clone());
            }
            Decision::Noted { to, text } => {
                let told = self.seats.iter_mut().filter(|(name, _)| to.as_ref().is_none_or(|to| to == *name));
                told.for_each(|(_, seat)| seat.notes.push(text.clone()));
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
            Decision::Closed { .. } => {
                self.is_closed = true;
                self.again = None;
            }
        }
    }

    /// What an agent was told and what it said become part of its past.
    fn remember(&mut self, name: &AgentId, text: &Arc<str>, stage: &Stage) {
        let lines = stage.transcript().lines().len();
        let Some(seat) = self.seats.get(name) else { return };
        // The last line is what it said.
        let news = self.news(name, seat, lines - 1);
        let told = Told::with(news, std::mem::take(&mut self.prompt));
        if let Some(seat) = self.seats.get_mut(name) {
            seat.past.push(told, text.clone());
            seat.heard = lines;
            seat.notes.clear();
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str) -> Reaction {
        let mut repairs = Vec::new();
        let own = self.asked(ask);
        let stops = stops(stage, ask);
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
            kind: if ask.purpose == purpose::DECIDE { kind::DECISION } else { LineKind::MESSAGE },
            text: words.into(),
            ask: Some(ask.clone()),
            to: None,
            voice: None,
            delivery: Delivery::default(),
        };
        Reaction { repairs, events: [line].into_iter().chain(self.taken(None)).collect() }
    }

    fn failed(&self, ask: &AskId, failure: &CallFailure) -> Vec<Event> {
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

    fn reseat(&self, stage: &Stage, participants: &[Participant], cast: &Cast) -> Result<Reaction, Rejected> {
        if self.has_begun || stage.anything_open() {
            return Err(Rejected::Begun);
        }
        settings::check_seats(participants, cast)?;
        let mut ahead = self.clone();
        ahead.seat(participants.to_vec());
        ahead.try_heads(stage.templates(), cast)?;
        let (participants, cast) = (participants.to_vec(), cast.clone());
        Ok(Reaction::events(vec![Event::decision(Decision::Reseated { participants, cast })]))
    }
}

/// What an agent is told at its turn, or when it is to state the decision.
fn template(closes: bool) -> &'static str {
    if closes { "discussion_closing.j2" } else { "discussion_turn.j2" }
}

/// What ends a reply of the agent that is asked.
fn stops<'a>(stage: &'a Stage, ask: &AskId) -> &'a [String] {
    stage.cast().agent(&ask.agent).map(|agent| agent.sampling.stop.as_slice()).unwrap_or_default()
}

impl Rules for Discussion {
    fn wants(&self, _: &Stage) -> Wants {
        if let Some(Participant { who: Who::Agent(agent), .. }) = self.closer() {
            return Wants::asks(vec![Place { purpose: purpose::DECIDE, turn: self.max_rounds, agent: agent.clone() }]);
        }
        match self.turn() {
            None => Wants::End(Reason::COMPLETED),
            Some(Turn { participant: Participant { who: Who::Person(person), .. }, .. }) => Wants::person(person),
            Some(_) if self.agent_turns >= MAX_TURN_ITERATIONS => Wants::End(Reason::CAP_REACHED),
            Some(Turn { round, participant: Participant { who: Who::Agent(agent), .. }, .. }) => {
                Wants::asks(vec![Place { purpose: purpose::DISCUSS, turn: round, agent }])
            }
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        if agent.is_small {
            return self.small_request(stage, agent);
        }
        let (seat, templates) = (&self.seats[&ask.agent], stage.templates());
        let until = stage.transcript().lines().len();
        let mut prompt = self.prompt.get(|| self.write(stage, &self.news(&ask.agent, seat, until)));
        if let Some(problem) = &self.again {
            let again = templates.render("discussion_again.j2", &context! { problem => problem });
            prompt = format!("{prompt}{again}").into();
        }
        Request {
            model: agent.model.clone(),
            system: seat.head.get(|| templates.render("discussion_system.j2", &self.head(&ask.agent, stage.cast()))),
            thread: seat.past.thread(|news| self.write(stage, news)),
            prompt,
            shape: None,
            grammar: None,
            plan: None,
            sampling: agent.sampling.clone(),
        }
    }

    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup> {
        self.try_heads(stage.templates(), stage.cast())?;
        let example = context! { name => "name", role => "role", text => "text" };
        let (name, seat) = self.seats.first_key_value().expect("an agent takes part");
        let news = News { has_spoken: true, notes: vec!["note".into()], ..self.news(name, seat, 0) };
        self.try_small(stage)?;
        let variables = self.variables(&news, &[example]);
        [false, true]
            .into_iter()
            .try_for_each(|closes| stage.templates().try_render(template(closes), &variables).map(|_| ()))?;
        stage.templates().try_render("discussion_again.j2", &context! { problem => "problem" }).map(|_| ())
    }

    fn on(&self, stage: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        match happened {
            Happened::Answered { ask, text, .. } => Ok(self.answered(stage, ask, text)),
            Happened::Failed { ask, failure } => Ok(Reaction::events(self.failed(ask, failure))),
            Happened::Heard { .. } => Ok(Reaction::events(self.taken(None).into_iter().collect())),
            Happened::Absent { who } => Err(Rejected::NotPassedOver(who.clone())),
            Happened::Clipped { .. } => Ok(Reaction::default()),
            Happened::Proposed(decision) => match decision.open() {
                Some(Decision::Reseated { participants, cast }) => self.reseat(stage, participants, cast),
                Some(
                    Decision::Noted { .. }
                    | Decision::Reasked { .. }
                    | Decision::TurnTaken { .. }
                    | Decision::Closed { .. },
                )
                | None => Err(Rejected::NotForOthers),
            },
        }
    }

    fn hearing(&self, stage: &Stage, ask: &AskId) -> Option<Hearing> {
        Some(answer::hearing(self.asked(ask), &self.participants, stops(stage, ask)))
    }

    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        if self.awaited().as_ref() == Some(who) { Ok(()) } else { Err(Rejected::NotYourTurn(who.clone())) }
    }

    /// A pause is ended by resuming, not by the next word.
    fn may_reopen(&self, _: &Stage, reason: Reason) -> Result<(), Rejected> {
        Err(match reason.ending() {
            Ending::BrokenOff | Ending::UsedUp => Rejected::Paused,
            Ending::Limit => Rejected::StillAtLimit(reason),
            Ending::Complete | Ending::GivenUp | Ending::Unknown => Rejected::Ended(reason),
        })
    }

    /// A pause needs nothing to be gone on from, and a complete discussion more rounds.
    fn may_resume(&self, stage: &Stage, reason: Reason, change: &Change) -> Result<(), Rejected> {
        match reason.ending() {
            Ending::BrokenOff | Ending::UsedUp => Ok(()),
            Ending::Limit if stage.is_raised(reason, change) => Ok(()),
            Ending::Limit => Err(Rejected::StillAtLimit(reason)),
            Ending::Complete if change.max_rounds > Some(self.max_rounds) => Ok(()),
            Ending::Complete | Ending::GivenUp | Ending::Unknown => Err(Rejected::Complete(reason)),
        }
    }

    fn most(&self) -> Option<u32> {
        Some(Settings::MAX_ROUNDS)
    }

    fn counter(&self, ask: &AskId) -> String {
        match ask.purpose {
            purpose::DECIDE => format!("the decision after {} rounds", ask.turn),
            _ => format!("round {} of {}", ask.turn, self.max_rounds),
        }
    }

    fn notice(&self, stage: &Stage, reason: Reason) -> Option<Arc<str>> {
        let notice = match reason {
            Reason::COMPLETED if self.is_closed => "Discussion completed with a decision.".to_owned(),
            Reason::COMPLETED => format!("Discussion completed after round {}.", self.max_rounds),
            Reason::CANCELLED => "Discussion paused.".to_owned(),
            Reason::CAP_REACHED => {
                format!("Discussion paused: {MAX_TURN_ITERATIONS} turns of agents without a word from a person.")
            }
            limit => format!("Discussion paused: {}.", stage.limit_in_words(limit)?),
        };
        Some(notice.into())
    }

    fn noted(&self, _: &Stage, note: &Note) -> Result<Vec<Event>, Rejected> {
        Ok(vec![Event::decision(Decision::Noted { to: note.to.clone(), text: note.text.trim().into() })])
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::HumanSpoke { .. } => self.prompt.clear(),
            Event::LineSpoken { speaker: Speaker::Agent(name), text, .. } => self.remember(name, text, stage),
            Event::Decided(decision) => {
                if let Some(decision) = decision.open() {
                    self.prompt.clear();
                    self.fold(stage, decision);
                }
            }
            Event::Resumed { change, .. } | Event::Forked { change, .. } => {
                self.agent_turns = 0;
                self.max_rounds = change.max_rounds.unwrap_or(self.max_rounds);
                // What is discussed further is decided anew.
                self.is_closed = self.is_closed && self.turn().is_none();
                self.prompt.clear();
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
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::Ended { .. } => {}
        }
        stage.set_waiting(self.awaited().is_some());
    }
}
