//! Score: a format in a file. It says in a page of YAML who speaks when, what they see, what they answer with and when
//! it is over; everything else is the engine's.
//!
//! The score is recorded whole with the session. Everything in it has a bound, so the most that a session can ask is
//! known before its first call.

mod blind;
mod bound;
mod compiled;
mod decision;
mod language;
mod log;
mod playing;
mod reader;
mod rehearsal;
mod reply;
mod settings;
mod shipped;
mod small;
mod telling;
mod values;
mod vocabulary;
mod votes;

use std::sync::Arc;

use minijinja::{Value, context};
use serde_json::{Value as Json, json};

pub use self::{
    bound::{Bound, PhaseBound},
    decision::Decision,
    language::{Form, Of, Phase, Repeat, ReplyField, Role, Score, Seen, Sees, Setting, Times, Turn, Who, Yield},
    playing::Playing,
    reader::{Content, Key, Node, Problem, read, read_text},
    settings::{Seat, Settings},
    shipped::SHIPPED,
    vocabulary::{purpose, reason},
};
use self::{
    playing::{Occupant, State},
    reply::Unread,
    telling::{PICK, Telling},
};
use super::{Format, Happened, Hearing, Place, Reaction, Rules, Vocabulary, Wants};
use crate::{
    ask::{Request, Text},
    chance::Chance,
    event::{CallFailure, Event, Record},
    id::{AgentId, AskId, PersonId},
    line::{Delivery, Line, LineKind, Speaker},
    reason::Reason,
    setup::{Agent, BadSetup, Note},
    stage::Stage,
    step::Rejected,
    text::{
        identity::settled,
        reply::{text_so_far, thought_through},
    },
    thread::Told,
};

impl Format for Settings {
    const NAME: &'static str = "score";
    const VOCABULARY: Vocabulary = vocabulary::VOCABULARY;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("score_again.j2", include_str!("templates/score_again.j2")),
        ("score_system.j2", include_str!("templates/score_system.j2")),
        ("score_turn.j2", include_str!("templates/score_turn.j2")),
        ("small/score_field.j2", include_str!("templates/small/score_field.j2")),
        ("small/score_system.j2", include_str!("templates/small/score_system.j2")),
        ("small/score_turn.j2", include_str!("templates/small/score_turn.j2")),
    ];

    type Decision = Decision;
    type Rules = Playing;

    fn rules(&self, stage: &mut Stage, started: &Record) -> Playing {
        stage.open_with(started, &self.message);
        let mut playing = Playing::new(self, stage.setup().seed);
        playing.begin();
        stage.set_waiting(playing.awaiting().is_some());
        playing
    }
}

impl Playing {
    /// What the fixed head of a seat's requests is filled with.
    fn head(&self, seat: usize, agent: &Agent) -> Value {
        let (score, chair) = (&self.settings.score, &self.seats[seat]);
        context! {
            score => score.name.replace('-', " "),
            about => score.about.trim(),
            name => &*chair.name,
            role => &*chair.role,
            part => self.persona(seat).unwrap_or_default(),
            persona => agent.persona.as_deref().map(str::trim),
        }
    }

    /// What a seat that is asked was told.
    fn told(&self, ask: &AskId) -> Option<&State> {
        self.state(ask).filter(|state| state.is_open())
    }

    /// The request with which an agent is told this.
    fn request_of(&self, stage: &Stage, agent: &Agent, told: &Told<Telling>) -> Request {
        if agent.is_small {
            return self.small_request(stage, agent, &told.what);
        }
        let templates = stage.templates();
        let write = |telling: &Telling| -> Text { telling.write(self, templates) };
        let seat = told.what.seat;
        let chair = &self.seats[seat];
        Request {
            model: agent.model.clone(),
            system: chair.head.get(|| templates.render("score_system.j2", &self.head(seat, agent))),
            thread: chair.past.thread(write),
            prompt: told.text(write),
            shape: told.what.shape(self),
            grammar: None,
            plan: None,
            sampling: agent.sampling.clone(),
        }
    }

    fn answered(&self, ask: &AskId, text: &str, is_full: bool) -> Reaction {
        let Some(State::Open { told, is_again }) = self.told(ask) else { return Reaction::default() };
        let mut repairs = Vec::new();
        let read = reply::read(self, &told.what, text, is_full, *is_again, &mut repairs);
        let events = match read {
            Ok(read) => match &told.what.candidates {
                Some(from) => self.picked(ask, from, read.reply.as_ref()),
                None => self.played(ask, read),
            },
            Err(Unread::Score(faulty)) => vec![Event::decision(self.broken(&faulty))],
            Err(Unread::Reply(problem)) if !is_again => {
                vec![Event::decision(Decision::Reasked { ask: ask.clone(), problem: problem.to_string() })]
            }
            Err(Unread::Reply(problem)) => match &told.what.candidates {
                Some(from) => self.drawn(from, problem.to_string()),
                None => self.left_out(ask, None, format!("the reply could not be used, twice: {problem}")),
            },
        };
        repairs.sort_unstable();
        repairs.dedup();
        Reaction { repairs, events: self.follow_up(None, events) }
    }

    fn played(&self, ask: &AskId, read: reply::Read) -> Vec<Event> {
        let reply::Read { text, reply, to } = read;
        let (silent, turn, seat) = (text.is_empty(), ask.turn, ask.agent.as_str().into());
        let to = to.and_then(|to| match &self.seats[to].who {
            Occupant::Agent(agent) => Some(agent.clone()),
            Occupant::Person(_) => None,
        });
        let line = Event::LineSpoken {
            speaker: Speaker::Agent(ask.agent.clone()),
            kind: LineKind::MESSAGE,
            text: text.into(),
            ask: Some(ask.clone()),
            to,
            voice: None,
            delivery: Delivery::default(),
        };
        let played = Event::decision(Decision::Played { turn, seat, reply, silent });
        if silent { vec![played] } else { vec![line, played] }
    }

    fn picked(&self, ask: &AskId, from: &[usize], reply: Option<&Json>) -> Vec<Event> {
        let name = reply.and_then(|reply| reply.get(reply::NEXT)).and_then(Json::as_str).unwrap_or_default();
        match self.seat_named(name).filter(|seat| from.contains(seat)) {
            Some(_) => {
                let (turn, seat) = (ask.turn, name.into());
                vec![Event::decision(Decision::Picked { turn, seat, problem: None })]
            }
            None => self.drawn(from, format!("`{name}` cannot be chosen")),
        }
    }

    fn drawn(&self, from: &[usize], problem: String) -> Vec<Event> {
        let turn = self.number();
        let drawn = Chance::new(self.seed, &[PICK, turn.into()]).pick(from);
        let seat = drawn.map(|seat| self.seats[seat].name.clone());
        seat.map(|seat| Event::decision(Decision::Picked { turn, seat, problem: Some(problem) })).into_iter().collect()
    }

    fn left_out(&self, ask: &AskId, kind: Option<crate::event::FailureKind>, message: String) -> Vec<Event> {
        let (turn, seat) = (ask.turn, ask.agent.as_str().into());
        vec![Event::decision(Decision::SeatFailed { turn, seat, kind, message })]
    }

    fn failed(&self, ask: &AskId, failure: &CallFailure) -> Vec<Event> {
        if self.told(ask).is_none() {
            return Vec::new();
        }
        self.follow_up(None, self.left_out(ask, Some(failure.kind), failure.message.clone()))
    }

    /// The field of a reply that is heard as it is, where one is.
    fn heard_field(&self) -> Option<&str> {
        let turn = self.turn()?;
        match &turn.line {
            Some(line) => compiled::expression(line).strip_prefix("reply."),
            None => {
                let mut texts = turn.reply.iter().filter(|field| field.form == Form::Text);
                let only = texts.next().map(|field| &*field.name);
                only.filter(|_| texts.next().is_none())
            }
        }
    }

    /// Everything that is told, filled once: the heads, and a turn with all that a turn can have.
    fn try_shared(&self, stage: &Stage) -> Result<(), BadSetup> {
        let templates = stage.templates();
        for agent in stage.cast().agents() {
            if let Some(seat) = self.seat_of(&agent.name) {
                templates.try_render("score_system.j2", &self.head(seat, agent))?;
            }
        }
        let line = context! { name => "name", text => "text", to => "to" };
        let (seen, notes, form) = (vec![line], vec!["note"], "{\"text\": \"…\"}");
        let sample = context! { message => "message", seen, notes, prompt => "prompt", form };
        templates.try_render("score_turn.j2", &sample)?;
        templates.try_render("score_again.j2", &context! { problem => "problem", form })?;
        self.try_small(stage)
    }
}

impl Rules for Playing {
    fn wants(&self, _: &Stage) -> Wants {
        if let Some(reason) = self.over {
            return Wants::End(reason);
        }
        let turn = self.number();
        if let Some(picking) = self.picking.as_ref().filter(|picking| picking.state.is_open())
            && let Occupant::Agent(agent) = &self.seats[picking.by].who
        {
            return Wants::asks(vec![Place { purpose: purpose::PICK, turn, agent: agent.clone() }]);
        }
        let mut places = Vec::new();
        for standing in self.standings.iter().filter(|standing| standing.state.is_open()) {
            match &self.seats[standing.seat].who {
                Occupant::Agent(agent) => places.push(Place { purpose: purpose::PLAY, turn, agent: agent.clone() }),
                Occupant::Person(person) => return Wants::person(person.clone()),
            }
        }
        if places.is_empty() { Wants::End(reason::BAD_SCORE) } else { Wants::asks(places) }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        let Some(State::Open { told, .. }) = self.told(ask) else { unreachable!("only open turns are asked for") };
        self.request_of(stage, agent, told)
    }

    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup> {
        self.try_shared(stage)
    }

    fn on(&self, _: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        match happened {
            Happened::Answered { ask, text, is_full } => Ok(self.answered(ask, text, is_full)),
            Happened::Failed { ask, failure } => Ok(Reaction::events(self.failed(ask, failure))),
            Happened::Heard { who, text } => {
                let Some(seat) = self.awaiting().filter(|chair| *chair.name == *who.as_str()) else {
                    return Ok(Reaction::default());
                };
                let (turn, seat) = (self.number(), seat.name.clone());
                let played = Event::decision(Decision::Played { turn, seat, reply: None, silent: false });
                Ok(Reaction::events(self.follow_up(Some(text), vec![played])))
            }
            Happened::Absent { who } => Err(Rejected::NotPassedOver(who.clone())),
            Happened::Clipped { .. } => Ok(Reaction::default()),
            Happened::Proposed(_) => Err(Rejected::NotForOthers),
        }
    }

    fn hearing(&self, _: &Stage, ask: &AskId) -> Option<Hearing> {
        let State::Open { told, .. } = self.told(ask)? else { return None };
        let turn = self.turn().filter(|_| told.what.candidates.is_none())?;
        if !turn.reply.is_empty() {
            let field = self.heard_field()?.to_owned();
            return Some(Hearing::new(move |partial| text_so_far(partial, &field)));
        }
        let own = self.seats[told.what.seat].name.clone();
        let all: Vec<Arc<str>> = self.seats.iter().map(|chair| chair.name.clone()).collect();
        Some(Hearing::new(move |partial| {
            let partial = thought_through(partial);
            let names: Vec<&str> = all.iter().map(|name| &**name).collect();
            let others: Vec<&str> = names.iter().copied().filter(|name| **name != *own).collect();
            reply::own_words(&own, &others, settled(&partial, &names), &mut Vec::new())
        }))
    }

    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        match self.awaiting() {
            Some(chair) if *chair.name == *who.as_str() => Ok(()),
            Some(_) | None => Err(Rejected::NotYourTurn(who.clone())),
        }
    }

    fn asked(&self, _: &Stage, who: &PersonId) -> Option<String> {
        self.turn()?.prompt.as_ref()?;
        let chair = self.awaiting().filter(|chair| *chair.name == *who.as_str())?;
        let seat = self.seat_named(&chair.name)?;
        let standing = self.standings.iter().find(|standing| standing.seat == seat)?;
        let State::Open { told, .. } = &standing.state else { return None };
        let view = self.view_at(Some(seat), told.what.turn, told.what.until);
        let asked = told.what.body(self, &view).ok()?;
        Some(asked.trim().to_owned()).filter(|asked| !asked.is_empty())
    }

    fn counter(&self, ask: &AskId) -> String {
        let Some(name) = self.phase(ask.turn) else { return format!("phase {}", ask.turn) };
        match self.round_at(ask.turn as usize - 1) {
            Some((round, rounds)) => format!("{name}, round {round} of {rounds}"),
            None => name.to_string(),
        }
    }

    fn phase(&self, turn: u32) -> Option<Arc<str>> {
        let instance = self.played.get((turn as usize).checked_sub(1)?)?;
        Some(self.score.turn(instance.phase).name.clone())
    }

    fn notice(&self, _: &Stage, reason: Reason) -> Option<Arc<str>> {
        if Some(reason) != self.over {
            return None;
        }
        let results = self.results.iter().map(|(name, value)| format!("{name}: {}", values::in_words(value)));
        let results = results.collect::<Vec<_>>().join("\n");
        self.why.clone().or_else(|| (!results.is_empty()).then(|| results.into()))
    }

    fn reworded(&self, line: &Line, reply: &str, words: &str) -> String {
        let Some(turn) = line.ask.as_ref().and_then(|ask| self.played.get(ask.turn as usize - 1)) else {
            return words.to_owned();
        };
        let turn = self.score.turn(turn.phase);
        if turn.reply.is_empty() {
            return words.to_owned();
        }
        // The words stand for the text that was heard, or else for the first.
        let mut value = crate::text::reply::first_object(reply).unwrap_or_else(|| json!({}));
        let texts: Vec<&str> =
            turn.reply.iter().filter(|field| field.form == Form::Text).map(|field| &*field.name).collect();
        let heard = texts.iter().find(|name| value[**name].as_str().is_some_and(|text| text.trim() == &*line.text));
        if let Some(name) = heard.or(texts.first()) {
            value[*name] = words.into();
        }
        value.to_string()
    }

    fn noted(&self, _: &Stage, note: &Note) -> Result<Vec<Event>, Rejected> {
        Ok(vec![Event::decision(Decision::Noted { to: note.to.clone(), text: note.text.trim().into() })])
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        if let Some(Decision::Reasked { ask, .. }) = record.event.decided() {
            stage.spend_attempt(ask);
        }
        self.fold(&record.event);
        stage.set_waiting(self.awaiting().is_some());
    }
}

/// The name of an agent that a seat is called.
fn agent_of(chair: &playing::Chair) -> Option<&AgentId> {
    match &chair.who {
        Occupant::Agent(agent) => Some(agent),
        Occupant::Person(_) => None,
    }
}
