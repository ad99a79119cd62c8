//! The events of one session in its room, record by record.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Event, Record, Timestamp,
    format::collaboration::{Decision, Mode, Settings},
    id::{AgentId, SessionId},
    room::{CallId, RoomCall, RoomPlace, Target},
};

/// What everybody in the room is told. The fields are those of the source document, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoomEvent {
    #[serde(rename = "type")]
    pub kind: RoomEventKind,
    pub sender: Arc<str>,
    pub target: Arc<str>,
    #[schemars(extend("const" = Self::THREAD))]
    pub thread: &'static str,
    pub text: Arc<str>,
    pub call_id: CallId,
    /// Seconds since the Unix epoch.
    pub ts: u64,
    /// Set where agents work together.
    #[serde(flatten)]
    pub round: Option<RoomRound>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomEventKind {
    HumanMessage,
    /// The router passes something on to an agent.
    AgentCall,
    /// An agent, or the router itself, says something to everybody.
    AgentResponse,
}

/// Where in which collaboration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoomRound {
    pub session_id: SessionId,
    /// Counted from 1.
    pub round: u32,
    pub max_rounds: u32,
}

impl RoomEvent {
    /// There is one thread so far, and it is called so.
    pub const THREAD: &str = "default";
    /// A record becomes at most so many events.
    const MAX_OF_A_RECORD: u64 = 2;

    /// The number of an event that its record's place and its own among the record's events make. They go up
    /// from one event of a room to the next, not always by one.
    pub fn number(place: RoomPlace, nth: usize) -> u64 {
        place.0 * Self::MAX_OF_A_RECORD + nth as u64
    }

    /// The number after which only the events of later records come; 0 where nothing was said.
    pub fn last_number(place: RoomPlace) -> u64 {
        if place == RoomPlace(0) { 0 } else { Self::number(place, Self::MAX_OF_A_RECORD as usize - 1) }
    }

    /// The place before the record that this event, and so whatever comes after it, may be of.
    pub fn place_before(number: u64) -> RoomPlace {
        RoomPlace((number / Self::MAX_OF_A_RECORD).saturating_sub(1))
    }
}

/// A session of the room as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomSession {
    pub session_id: SessionId,
    pub call_id: CallId,
    pub mode: Mode,
    pub goal: Arc<str>,
    pub participants: Vec<AgentId>,
    /// Whose turn it is, or was last.
    pub speaker: AgentId,
    /// The round that goes on, counted from 1.
    pub round: u32,
    /// The rounds that were spoken in.
    pub rounds_done: u32,
    pub max_rounds: u32,
    #[serde(skip)]
    pub is_over: bool,
}

/// The fold behind a session's events. It is given every record of the session from the first.
#[derive(Clone, Debug)]
pub struct RoomStream {
    session: RoomSession,
    call: RoomCall,
    person: Arc<str>,
    /// What the next speaker is handed.
    task: Option<Arc<str>>,
    /// The last round that was announced: an ask that is sent again is not a second call.
    called: u32,
}

impl RoomStream {
    /// The stream of a session whose journal begins with this record, and the events that it is. `None` when the
    /// session answers in no room.
    pub fn begin(first: &Record) -> Option<(RoomStream, Vec<RoomEvent>)> {
        let Event::Started { setup, .. } = &first.event else { return None };
        let call = setup.room.clone()?;
        let Settings { goal, speaker, max_rounds, mode, .. } = setup.format.settings::<Settings>()?.clone();
        let session = RoomSession {
            session_id: setup.id,
            call_id: call.call_id,
            mode,
            goal,
            participants: setup.cast.agents().iter().map(|agent| agent.name.clone()).collect(),
            speaker,
            round: 1,
            rounds_done: 0,
            max_rounds,
            is_over: false,
        };
        let person = setup.cast.people().first().map_or("you", |person| person.as_str()).into();
        let stream = RoomStream { session, call, person, task: None, called: 0 };
        let events = stream.opening(first.at);
        Some((stream, events))
    }

    pub fn session(&self) -> &RoomSession {
        &self.session
    }

    /// The events that the next record is.
    pub fn on(&mut self, record: &Record) -> Vec<RoomEvent> {
        let at = record.at;
        let event = match &record.event {
            Event::Asked { ask, .. } => {
                self.session.round = ask.turn;
                self.session.speaker = ask.agent.clone();
                let is_new = ask.turn > self.called;
                self.called = self.called.max(ask.turn);
                is_new.then(|| self.call(&ask.agent, at))
            }
            Event::LineSpoken { speaker, text, .. } => {
                self.session.rounds_done = self.session.round;
                Some(self.event(RoomEventKind::AgentResponse, speaker.name(), Target::All.as_str(), text, at))
            }
            Event::HumanSpoke { who, text, .. } => {
                Some(self.event(RoomEventKind::HumanMessage, who.as_str(), Target::Router.as_str(), text, at))
            }
            Event::Decided(decision) => {
                if let Some(Decision::HandedOver { task, .. }) = decision.open() {
                    self.task = Some(task.clone());
                }
                None
            }
            Event::Resumed { change, .. } => {
                self.session.max_rounds = change.max_rounds.unwrap_or(self.session.max_rounds);
                // That a process ended and another went on is nobody's concern in the room.
                let was_over = std::mem::take(&mut self.session.is_over);
                was_over.then(|| self.router(&format!("{} goes on.", self.session.mode.noun()).into(), at))
            }
            Event::Ended { notice, .. } => {
                self.session.is_over = true;
                notice.as_ref().map(|notice| self.router(notice, at))
            }
            Event::Started { .. }
            | Event::Forked { .. }
            | Event::Answered { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::LineCut { .. } => None,
        };
        event.into_iter().collect()
    }

    /// What the person said, and that a collaboration begins with it.
    fn opening(&self, at: Timestamp) -> Vec<RoomEvent> {
        let RoomSession { goal, mode, participants, speaker, max_rounds, .. } = &self.session;
        let mut events = Vec::new();
        if !self.call.is_repeat {
            events.push(self.event(RoomEventKind::HumanMessage, &self.person, self.call.target.as_str(), goal, at));
        }
        if *mode == Mode::Collaborate {
            let names: Vec<&str> = participants.iter().map(AgentId::as_str).collect();
            let rounds = if *max_rounds == 1 { "1 round".to_owned() } else { format!("up to {max_rounds} rounds") };
            let text = format!("Collaboration started: {}, {rounds}, {speaker} begins.", names.join(" and "));
            events.push(self.router(&text.into(), at));
        }
        events
    }

    fn call(&self, agent: &AgentId, at: Timestamp) -> RoomEvent {
        let text = self.task.as_ref().unwrap_or(&self.session.goal);
        self.event(RoomEventKind::AgentCall, Target::Router.as_str(), agent.as_str(), text, at)
    }

    fn router(&self, text: &Arc<str>, at: Timestamp) -> RoomEvent {
        self.event(RoomEventKind::AgentResponse, Target::Router.as_str(), Target::All.as_str(), text, at)
    }

    fn event(&self, kind: RoomEventKind, sender: &str, target: &str, text: &Arc<str>, at: Timestamp) -> RoomEvent {
        let RoomSession { session_id, mode, round, max_rounds, .. } = self.session;
        let in_round = RoomRound { session_id, round: round.min(max_rounds), max_rounds };
        RoomEvent {
            kind,
            sender: sender.into(),
            target: target.into(),
            thread: RoomEvent::THREAD,
            text: text.clone(),
            call_id: self.call.call_id,
            ts: at.0 / 1_000,
            round: (mode == Mode::Collaborate).then_some(in_round),
        }
    }
}
