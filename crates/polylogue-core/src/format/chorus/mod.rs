//! Chorus: all slots answer at once, each comments on one other, those who were commented on reply.
//!
//! Three turns for every message of the person. A slot without a response is out of the other two; one whose
//! comment failed still replies to the comments on it. The others go on. What follows from an answer, up to the beginning of the next turn, is decided together with it.

mod answer;
mod file_name;
mod length;
mod persona;
mod phase;
mod seat;
mod settings;
mod small;
mod view;
mod vocabulary;

use std::sync::Arc;

use minijinja::context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    answer::Verdict,
    seat::{Comment, News, Peer, Seat, Standing},
};
pub use self::{
    persona::Persona,
    phase::Phase,
    settings::{Settings, Slot, SlotId, VoiceProfile},
    view::{ChorusEvent, ChorusStream, Manifest, ManifestLine, NotAChorus, SlotError, SlotTurn},
    vocabulary::{kind, purpose},
};
use super::{Decided, Format, Happened, Hearing, Place, Reaction, Recorded, Remark, Rules, Vocabulary, Wants};
use crate::{
    ask::Request,
    chance::Chance,
    event::{CallFailure, Event, FailureKind, Record},
    id::{AgentId, AskId, LineId, PersonId},
    line::{ClipState, Line},
    reason::{Ending, Reason},
    setup::BadSetup,
    stage::Stage,
    step::Rejected,
};

/// How many comments on one slot are passed on to it.
pub const MAX_FORWARDED: usize = 3;

/// What the draws of a chorus are for; part of their place.
const SHUFFLE: u64 = 1;
const FORWARD: u64 = 2;
const TARGET: u64 = 3;

/// What only a chorus decides. `turn` counts on through the messages of a session: [`Phase::at`] says which of
/// the three it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(rename = "ChorusDecided")]
pub enum Decision {
    /// The second or third turn begins, for these slots. The first begins with the person's message.
    TurnBegun { turn: u32, slots: Vec<SlotId> },
    /// A reply could not be used, and the slot is asked once more, told why.
    Reasked { ask: AskId, problem: String },
    /// A slot named no slot that it may comment on, twice: its comment goes to a drawn one.
    TargetDrawn { slot: SlotId, target: SlotId, problem: String },
    /// A slot has no line in this turn.
    SlotFailed {
        turn: u32,
        slot: SlotId,
        /// What became of the call; `None` when it brought replies that cannot be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<FailureKind>,
        message: String,
    },
    /// Which comments on a slot are passed on to it, and which are only kept.
    Routed { target: SlotId, forwarded: Vec<SlotId>, dropped: Vec<SlotId> },
    /// The texts of a turn are complete; these slots have one.
    TurnEnded { turn: u32, slots: Vec<SlotId> },
    /// The last clip of a turn is made, or has failed.
    TurnVoiced { turn: u32, clips: u32 },
}

impl Decided for Decision {
    fn ask(&self) -> Option<&AskId> {
        match self {
            Decision::Reasked { ask, .. } => Some(ask),
            _ => None,
        }
    }

    fn remark(&self) -> Option<Remark> {
        match self {
            Decision::Reasked { ask, problem } => {
                Some(Remark::info(format!("a reply could not be used and is asked for again: {ask}: {problem}")))
            }
            Decision::SlotFailed { slot, message, kind: None, .. } => {
                Some(Remark::warning(format!("slot {slot} falls out of its turn: {message}")))
            }
            _ => None,
        }
    }
}

impl Recorded for Decision {
    const FORMAT: &'static str = Settings::NAME;
}

impl Format for Settings {
    const NAME: &'static str = "chorus";
    const VOCABULARY: Vocabulary = vocabulary::VOCABULARY;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("chorus_again.j2", include_str!("templates/chorus_again.j2")),
        ("chorus_system.j2", include_str!("templates/chorus_system.j2")),
        ("small/chorus_example.j2", include_str!("templates/small/chorus_example.j2")),
        ("small/chorus_system.j2", include_str!("templates/small/chorus_system.j2")),
        ("small/turn1_response.j2", include_str!("templates/small/turn1_response.j2")),
        ("small/turn2_comment.j2", include_str!("templates/small/turn2_comment.j2")),
        ("small/turn2_comment_select.j2", include_str!("templates/small/turn2_comment_select.j2")),
        ("small/turn3_reply.j2", include_str!("templates/small/turn3_reply.j2")),
        ("small/voice.j2", include_str!("templates/small/voice.j2")),
        ("turn1_response.j2", include_str!("templates/turn1_response.j2")),
        ("turn2_comment_select.j2", include_str!("templates/turn2_comment_select.j2")),
        ("turn3_reply.j2", include_str!("templates/turn3_reply.j2")),
    ];

    type Decision = Decision;
    type Rules = Chorus;

    fn rules(&self, stage: &mut Stage, started: &Record) -> Chorus {
        stage.open_with(started, &self.message);
        Chorus::new(self, stage)
    }
}

/// The state of a chorus.
#[derive(Clone, Debug, PartialEq)]
pub struct Chorus {
    message: Arc<str>,
    /// The turn, counted on through the messages.
    turn: u32,
    seats: Vec<Seat>,
    voices: Arc<[VoiceProfile]>,
    over: Option<Reason>,
}

impl Chorus {
    fn new(settings: &Settings, stage: &Stage) -> Self {
        let mut seats: Vec<Seat> = settings.slots.iter().map(|slot| Seat::new(slot, settings, stage)).collect();
        seats.sort_by_key(|seat| seat.slot);
        let (message, voices) = (settings.message.clone(), settings.voices.clone().into());
        let mut chorus = Chorus { message, turn: 1, seats, voices, over: None };
        chorus.open_first();
        chorus
    }

    fn seat(&self, agent: &AgentId) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.name == *agent)
    }

    fn seat_mut(&mut self, agent: &AgentId) -> Option<&mut Seat> {
        self.seats.iter_mut().find(|seat| seat.name == *agent)
    }

    fn in_slot(&mut self, slot: SlotId) -> Option<&mut Seat> {
        self.seats.iter_mut().find(|seat| seat.slot == slot)
    }

    fn slots(&self, which: impl Fn(&Seat) -> bool) -> Vec<SlotId> {
        self.seats.iter().filter(|seat| which(seat)).map(|seat| seat.slot).collect()
    }

    /// Opens the first turn for every slot.
    fn open_first(&mut self) {
        for seat in &mut self.seats {
            let (peers, received) = (Vec::new(), Vec::new());
            seat.open(News { phase: Phase::Respond, message: self.message.clone(), peers, received }, Vec::new());
        }
    }

    /// Opens the second or third turn for these slots; the others have no place in it.
    fn open(&mut self, stage: &Stage, turn: u32, slots: &[SlotId]) {
        self.turn = turn;
        let responses: Vec<Peer> = self.seats.iter().filter_map(Seat::as_peer).collect();
        for at in 0..self.seats.len() {
            let seat = &self.seats[at];
            if !slots.contains(&seat.slot) {
                self.seats[at].standing = Standing::Out;
                continue;
            }
            let mut peers: Vec<Peer> = responses.iter().filter(|peer| peer.slot != seat.slot).cloned().collect();
            let targets = peers.iter().map(|peer| peer.slot).collect();
            self.chance(stage, SHUFFLE, turn, seat.slot).shuffle(&mut peers);
            let (message, received) = (self.message.clone(), seat.received.clone());
            self.seats[at].open(News { phase: Phase::at(turn), message, peers, received }, targets);
        }
    }

    fn chance(&self, stage: &Stage, purpose: u64, turn: u32, slot: SlotId) -> Chance {
        Chance::new(stage.setup().seed, &[purpose, turn.into(), slot.0.into()])
    }

    /// The slots that a comment of this one may be on.
    fn allowed(&self, slot: SlotId) -> Vec<SlotId> {
        self.slots(|seat| seat.slot != slot && seat.response.is_some())
    }

    /// Adds what follows from these events: the end of the turn and the beginning of the next, as far as
    /// nobody has to be asked for it.
    fn follow_up(&self, stage: &Stage, mut events: Vec<Event>) -> Vec<Event> {
        let mut ahead = self.clone();
        events.iter().for_each(|event| ahead.fold(stage, event));
        while ahead.over.is_none() && !ahead.seats.iter().any(Seat::is_open) {
            for decision in ahead.turn_over(stage, &events) {
                let event = Event::decision(decision);
                ahead.fold(stage, &event);
                events.push(event);
            }
        }
        events
    }

    /// What is decided when the last text of the turn is there.
    fn turn_over(&self, stage: &Stage, events: &[Event]) -> Vec<Decision> {
        let turn = self.turn;
        let slots = self.slots(|seat| seat.standing == Standing::Done);
        let nobody_answers = slots.is_empty();
        let mut decisions = vec![Decision::TurnEnded { turn, slots }];
        let is_spoken_now =
            |event: &Event| matches!(event, Event::LineSpoken { ask: Some(ask), .. } if ask.turn == turn);
        if stage.speaks() && !events.iter().any(is_spoken_now) && !wanted_in(stage, turn, None) {
            decisions.push(Decision::TurnVoiced { turn, clips: made_in(stage, turn) });
        }
        match Phase::at(turn) {
            Phase::Respond if nobody_answers => {}
            Phase::Respond => {
                let commenting = self.slots(|seat| seat.response.is_some() && !self.allowed(seat.slot).is_empty());
                decisions.push(Decision::TurnBegun { turn: turn + 1, slots: commenting });
            }
            Phase::Comment => {
                let routes = self.routes(stage);
                let commented = |slot: SlotId| routes.iter().any(|route| is_to(route, slot));
                let replying = self.slots(|seat| seat.response.is_some() && commented(seat.slot));
                decisions.extend(routes);
                decisions.push(Decision::TurnBegun { turn: turn + 1, slots: replying });
            }
            Phase::Reply => {}
        }
        decisions
    }

    /// Which comments are passed on: at most three to a slot, drawn when there are more.
    fn routes(&self, stage: &Stage) -> Vec<Decision> {
        let mut routes = Vec::new();
        for target in &self.seats {
            let mut forwarded =
                self.slots(|seat| seat.comment.as_ref().is_some_and(|comment| comment.target == target.slot));
            if forwarded.is_empty() {
                continue;
            }
            let mut dropped = Vec::new();
            if forwarded.len() > MAX_FORWARDED {
                self.chance(stage, FORWARD, self.turn, target.slot).shuffle(&mut forwarded);
                dropped = forwarded.split_off(MAX_FORWARDED);
                forwarded.sort_unstable();
                dropped.sort_unstable();
            }
            routes.push(Decision::Routed { target: target.slot, forwarded, dropped });
        }
        routes
    }

    /// Folds what concerns the chorus alone.
    fn fold(&mut self, stage: &Stage, event: &Event) {
        match event {
            Event::HumanSpoke { text, .. } => {
                let before = std::mem::replace(&mut self.message, text.clone());
                self.turn = Phase::first_after(self.turn);
                self.over = None;
                self.seats.iter_mut().for_each(|seat| seat.clear(&before));
                self.open_first();
            }
            Event::Answered { ask, text, .. } => {
                if let Some(seat) = self.seat_mut(&ask.agent) {
                    seat.remember(text);
                }
            }
            Event::LineSpoken { text, ask: Some(ask), to, .. } => {
                let target = to.as_ref().and_then(|to| self.seat(to)).map(|seat| seat.slot);
                if let Some(seat) = self.seat_mut(&ask.agent) {
                    seat.say(Phase::at(ask.turn), text, target);
                }
            }
            Event::Decided(decision) => {
                if let Some(decision) = decision.open() {
                    self.fold_decision(stage, decision);
                }
            }
            Event::Resumed { .. } | Event::Forked { .. } => {
                // When nobody could answer, everybody is asked again; every other end stands.
                if self.over == Some(Reason::FAILED) {
                    self.over = None;
                    self.open_first();
                }
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::LineSpoken { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::LineCut { .. }
            | Event::Ended { .. } => {}
        }
    }

    fn fold_decision(&mut self, stage: &Stage, decision: &Decision) {
        match decision {
            Decision::TurnBegun { turn, slots } => self.open(stage, *turn, slots),
            Decision::Reasked { ask, problem } => {
                if let Some(seat) = self.seat_mut(&ask.agent) {
                    seat.ask_again(problem);
                }
            }
            Decision::SlotFailed { slot, .. } => {
                if let Some(seat) = self.in_slot(*slot) {
                    seat.fail();
                }
            }
            Decision::Routed { target, forwarded, .. } => {
                let received = self.seats.iter().filter(|seat| forwarded.contains(&seat.slot));
                let received: Vec<Comment> = received.filter_map(|seat| seat.comment.clone()).collect();
                if let Some(seat) = self.in_slot(*target) {
                    seat.received = received;
                }
            }
            Decision::TurnEnded { turn, slots } => match Phase::at(*turn) {
                Phase::Respond if slots.is_empty() => self.over = Some(Reason::FAILED),
                Phase::Respond | Phase::Comment => {}
                Phase::Reply => self.over = Some(Reason::COMPLETED),
            },
            Decision::TargetDrawn { .. } | Decision::TurnVoiced { .. } => {}
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str, is_full: bool) -> Reaction {
        let Some(seat) = self.seat(&ask.agent) else { return Reaction::default() };
        let phase = Phase::at(ask.turn);
        let (verdict, repairs) = answer::read(text, is_full, seat, phase, &self.seats);
        let mut events = Vec::new();
        match verdict {
            Verdict::Line { text, voice, target } => {
                events.push(seat.line(ask, phase, text, voice, target));
            }
            Verdict::Unaimed { text, voice, problem } => {
                let allowed = self.allowed(seat.slot);
                match self.chance(stage, TARGET, ask.turn, seat.slot).pick(&allowed) {
                    Some(target) => {
                        let problem = problem.to_string();
                        events.push(Event::decision(Decision::TargetDrawn { slot: seat.slot, target, problem }));
                        events.push(seat.line(ask, phase, text, voice, Some(target)));
                    }
                    None => events.push(seat.failure(ask, None, problem.to_string())),
                }
            }
            Verdict::Again(problem) => {
                let problem = problem.to_string();
                events.push(Event::decision(Decision::Reasked { ask: ask.clone(), problem }));
            }
            Verdict::Failed(problem) => {
                let message = format!("the reply could not be used, twice: {problem}");
                events.push(seat.failure(ask, None, message));
            }
        }
        Reaction { repairs, events: self.follow_up(stage, events) }
    }

    fn failed(&self, stage: &Stage, ask: &AskId, failure: &CallFailure) -> Vec<Event> {
        let Some(seat) = self.seat(&ask.agent) else { return Vec::new() };
        self.follow_up(stage, vec![seat.failure(ask, Some(failure.kind), failure.message.clone())])
    }

    fn clipped(&self, stage: &Stage, line: LineId, is_made: bool) -> Vec<Event> {
        let ask = stage.transcript().get(line).and_then(|line| line.ask.as_ref());
        let Some(turn) = ask.map(|ask| ask.turn) else { return Vec::new() };
        let is_ended = turn < self.turn || self.over.is_some();
        if !is_ended || wanted_in(stage, turn, Some(line)) {
            return Vec::new();
        }
        let clips = made_in(stage, turn) + u32::from(is_made);
        vec![Event::decision(Decision::TurnVoiced { turn, clips })]
    }
}

impl Rules for Chorus {
    fn wants(&self, _: &Stage) -> Wants {
        if let Some(reason) = self.over {
            return Wants::End(reason);
        }
        let open = self.seats.iter().filter(|seat| seat.is_open());
        let purpose = Phase::at(self.turn).purpose();
        Wants::asks(open.map(|seat| Place { purpose, turn: self.turn, agent: seat.name.clone() }).collect())
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        let seat = self.seat(&ask.agent).expect("every agent has a seat");
        seat.request(stage, &self.voices, agent, &self.seats)
    }

    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup> {
        let (templates, text): (_, Arc<str>) = (stage.templates(), "text".into());
        for agent in stage.cast().agents() {
            let seat = self.seat(&agent.name).expect("every agent has a seat");
            templates.try_render("chorus_system.j2", &seat.head(&self.voices, agent, &self.seats))?;
        }
        let seat = &self.seats[0];
        let (slot, agent_id, message) = (seat.slot, seat.agent_id.clone(), self.message.clone());
        let name = Some(text.clone());
        let peer = Peer { slot, agent_id: agent_id.clone(), called: name.clone(), text: text.clone() };
        let comment = Comment { from: slot, from_agent: agent_id, called: name, target: slot, text };
        let mut news = News { phase: Phase::Respond, message, peers: vec![peer], received: vec![comment] };
        for phase in Phase::ALL {
            news.phase = phase;
            templates.try_render(phase.template(), &seat.variables(&self.voices, &news))?;
            seat.try_small(templates, &stage.cast().agents()[0], &news)?;
        }
        templates.try_render("chorus_again.j2", &context! { problem => "problem" }).map(|_| ())
    }

    fn on(&self, stage: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        match happened {
            Happened::Answered { ask, text, is_full } => Ok(self.answered(stage, ask, text, is_full)),
            Happened::Failed { ask, failure } => Ok(Reaction::events(self.failed(stage, ask, failure))),
            Happened::Clipped { line, is_made } => Ok(Reaction::events(self.clipped(stage, line, is_made))),
            Happened::Heard { .. } => Ok(Reaction::default()),
            Happened::Absent { who } => Err(Rejected::NotPassedOver(who.clone())),
            Happened::Proposed(_) => Err(Rejected::NotForOthers),
        }
    }

    /// The person speaks before the chorus and after it, never into it.
    fn hearing(&self, _: &Stage, ask: &AskId) -> Option<Hearing> {
        let own = self.seat(&ask.agent)?.slot;
        Some(answer::hearing(answer::Names::of(own, &self.seats), Phase::at(ask.turn)))
    }

    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        Err(Rejected::NotYourTurn(who.clone()))
    }

    fn may_reopen(&self, _: &Stage, reason: Reason) -> Result<(), Rejected> {
        match reason.ending() {
            Ending::Complete | Ending::BrokenOff => Ok(()),
            Ending::Limit => Err(Rejected::StillAtLimit(reason)),
            Ending::UsedUp | Ending::GivenUp | Ending::Unknown => Err(Rejected::Ended(reason)),
        }
    }

    fn counter(&self, ask: &AskId) -> String {
        format!("turn {} of 3", Phase::at(ask.turn).index())
    }

    fn clip_place(&self, _: &Stage, line: &Line) -> Vec<String> {
        let Some(ask) = &line.ask else { return Vec::new() };
        let Some(seat) = self.seat(&ask.agent) else { return Vec::new() };
        let target = line.to.as_ref().and_then(|to| self.seat(to)).map(|seat| seat.slot);
        let voice = line.voice.as_deref().unwrap_or_default();
        file_name::place(ask.turn, seat.slot, target, seat.agent_id.as_str(), voice)
    }

    fn reworded(&self, line: &Line, _: &str, words: &str) -> String {
        let target = line.to.as_ref().and_then(|to| self.seat(to)).map(|seat| seat.slot);
        answer::written(words, line.voice.as_deref().unwrap_or_default(), target)
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        if let Some(Decision::Reasked { ask, .. }) = record.event.decided() {
            stage.spend_attempt(ask);
        }
        self.fold(stage, &record.event);
    }
}

fn is_to(route: &Decision, slot: SlotId) -> bool {
    matches!(route, Decision::Routed { target, forwarded, .. } if *target == slot && !forwarded.is_empty())
}

/// Whether a clip of this turn, other than `but`, is still to be made.
fn wanted_in(stage: &Stage, turn: u32, but: Option<LineId>) -> bool {
    let mut wanted = stage.wanted_clips().filter(|line| Some(*line) != but);
    wanted.any(|line| stage.transcript().get(line).is_some_and(|line| is_in(line, turn)))
}

fn made_in(stage: &Stage, turn: u32) -> u32 {
    let lines = stage.transcript().lines().iter();
    lines.filter(|line| is_in(line, turn) && matches!(line.clip, ClipState::Made(_))).count() as u32
}

fn is_in(line: &Line, turn: u32) -> bool {
    line.ask.as_ref().is_some_and(|ask| ask.turn == turn)
}
