//! A score as it is played: where in its phases it is, what was said in each, what every seat was told.
//!
//! Folding works no expression out: which phase begins and for whom, and what a reply came to, are decisions. What a
//! seat is shown follows from what had been said by then.

use std::{collections::BTreeSet, sync::Arc};

use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::{
    Settings,
    blind::Labels,
    compiled::{Compiled, Faulty, Op, Part},
    decision::Decision,
    language::{Sees, Turn, Who},
    log::Log,
    reply,
    telling::{Telling, Variables, View},
    values,
    vocabulary::reason,
};
use crate::{
    event::Event,
    id::{AgentId, AskId, PersonId},
    reason::Reason,
    thread::{Kept, Past, Told},
};

/// The state of a score.
#[derive(Clone, Debug, PartialEq)]
pub struct Playing {
    pub(super) settings: Arc<Settings>,
    pub(super) score: Compiled,
    pub(super) seed: u64,
    pub(super) seats: Vec<Arc<Chair>>,
    /// What was said, in order, whatever the phase.
    pub(super) said: Log<Arc<Said>>,
    /// The phases as they were begun. The last is the one that is played.
    pub(super) played: Log<Instance>,
    /// How often each repeat has gone round.
    pub(super) rounds: Vec<u32>,
    pub(super) standings: Vec<Standing>,
    pub(super) picking: Option<Picking>,
    /// What was just heard, until it is known what came of it.
    heard: Option<(Arc<str>, Option<usize>)>,
    /// The person who is waited for, as it is recorded.
    awaited: Option<Arc<str>>,
    pub(super) over: Option<Reason>,
    /// Why it is over, where that needs words.
    pub(super) why: Option<Arc<str>>,
    pub(super) results: Map<String, Json>,
    /// Whether it is only played to see how much it can come to: nothing ends early, and everybody speaks.
    pub(super) is_rehearsal: bool,
}

/// A seat with what it knows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chair {
    pub(super) name: Arc<str>,
    pub(super) role: Arc<str>,
    pub(super) who: Occupant,
    pub(super) head: Kept,
    /// What templates know of it.
    pub(super) value: Kept<Value>,
    pub(super) past: Past<Telling>,
    /// Up to where it was told everything that was said.
    pub(super) heard: usize,
    /// What it was told beyond that.
    pub(super) told: BTreeSet<u32>,
    pub(super) knows_message: bool,
    pub(super) notes: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Occupant {
    Agent(AgentId),
    Person(PersonId),
}

/// What a seat came to in a phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) seat: usize,
    /// The phase that it belongs to, by its place among those played.
    pub(super) turn: usize,
    /// The line; empty for what nobody hears of.
    pub(super) text: Arc<str>,
    pub(super) reply: Option<Json>,
    pub(super) to: Option<usize>,
}

/// A phase that was begun.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instance {
    pub(super) phase: usize,
    /// How often the repeats around it had gone round, the outermost first.
    pub(super) rounds: Arc<[u32]>,
    /// Where what was said in it begins.
    pub(super) first: usize,
}

/// Where a seat stands in the phase that is played.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standing {
    pub(super) seat: usize,
    pub(super) state: State,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// Others come first.
    Waiting,
    Open {
        told: Told<Telling>,
        is_again: bool,
    },
    Done,
    Failed,
}

/// Somebody chooses who speaks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picking {
    pub(super) by: usize,
    pub(super) from: Vec<usize>,
    pub(super) state: State,
}

impl Playing {
    pub(super) fn new(settings: &Settings, seed: u64) -> Playing {
        let score = settings.compiled();
        let chair = |seat: &super::Seat| {
            let is_person = settings.score.role(&seat.role).is_some_and(|role| role.is_person);
            let who = match is_person {
                true => Occupant::Person(seat.name.parse().expect("a cast has good names")),
                false => Occupant::Agent(seat.name.parse().expect("a cast has good names")),
            };
            Arc::new(Chair {
                name: seat.name.clone(),
                role: seat.role.clone(),
                who,
                head: Kept::default(),
                value: Kept::default(),
                past: Past::default(),
                heard: 0,
                told: BTreeSet::new(),
                knows_message: false,
                notes: Vec::new(),
            })
        };
        Playing {
            seats: settings.seats.iter().map(chair).collect(),
            rounds: vec![1; score.loops()],
            settings: Arc::new(settings.clone()),
            score,
            seed,
            said: Log::default(),
            played: Log::default(),
            standings: Vec::new(),
            picking: None,
            heard: None,
            awaited: None,
            over: None,
            why: None,
            results: Map::new(),
            is_rehearsal: settings.is_rehearsal,
        }
    }

    /// Begins the first phase. It follows from the setup alone.
    pub(super) fn begin(&mut self) {
        for decision in self.advance() {
            self.fold_decision(&decision);
        }
        self.awaited = self.awaiting().map(|chair| chair.name.clone());
    }

    /// The phase that is played.
    pub(super) fn turn(&self) -> Option<&Turn> {
        self.played.last().map(|instance| self.score.turn(instance.phase))
    }

    /// Its running number, from 1.
    pub(super) fn number(&self) -> u32 {
        self.played.len() as u32
    }

    pub(super) fn seat_named(&self, name: &str) -> Option<usize> {
        self.seats.iter().position(|seat| *seat.name == *name)
    }

    pub(super) fn seat_of(&self, agent: &AgentId) -> Option<usize> {
        self.seat_named(agent.as_str())
    }

    /// The person who is waited for.
    pub(super) fn awaiting(&self) -> Option<&Chair> {
        let open = self.standings.iter().find(|standing| standing.state.is_open())?;
        self.waited_for(open.seat).filter(|_| self.over.is_none())
    }

    /// A seat whose turn it is, where a person has it.
    fn waited_for(&self, seat: usize) -> Option<&Chair> {
        let chair = &*self.seats[seat];
        matches!(chair.who, Occupant::Person(_)).then_some(chair)
    }

    /// What is known when the phase that is played is over.
    fn view_after(&self, me: Option<usize>) -> View {
        View { me, turn: self.played.len(), until: self.said.len(), labels: None }
    }

    pub(super) fn view_at(&self, me: Option<usize>, turn: usize, until: usize) -> View {
        let is_blind = self.played.get(turn).is_some_and(|instance| self.score.turn(instance.phase).blind);
        let labels = me.filter(|_| is_blind).map(|me| Labels::drawn(self, me, turn, until));
        View { me, turn, until, labels }
    }

    /// Whether seats speak one after the other.
    fn is_one_by_one(&self) -> bool {
        let has_person = |standing: &Standing| matches!(self.seats[standing.seat].who, Occupant::Person(_));
        self.turn().is_some_and(|turn| turn.one_by_one) || self.standings.iter().any(has_person)
    }

    /// What follows once everybody has had their turn: the next phase, as far as somebody has to be asked in it.
    fn advance(&self) -> Vec<Decision> {
        let mut rounds = self.rounds.clone();
        let mut at = self.played.last().map_or(0, |instance| self.score.place(instance.phase) + 1);
        loop {
            match self.score.ops().get(at) {
                None => return vec![self.conclusion()],
                Some(Op::Enter(nth)) => {
                    rounds[*nth] = 1;
                    at += 1;
                }
                Some(Op::Again(nth)) => {
                    let looped = self.score.looped(*nth);
                    let is_over = match looped.has_end && rounds[*nth] < looped.at_most {
                        true => {
                            let part = Part::Until(*nth);
                            let ends = self.score.holds(&part, self.known(&part, &rounds).value());
                            ends.map(|ends| ends && !self.is_rehearsal)
                        }
                        false => Ok(rounds[*nth] >= looped.at_most),
                    };
                    match is_over {
                        Ok(true) => at += 1,
                        Ok(false) => {
                            rounds[*nth] += 1;
                            at = looped.first;
                        }
                        Err(faulty) => return vec![self.broken(&faulty)],
                    }
                }
                Some(Op::Turn(phase)) => match self.begun(*phase, &rounds) {
                    Ok(Some(begun)) => return begun,
                    Ok(None) => at += 1,
                    Err(faulty) => return vec![self.broken(&faulty)],
                },
            }
        }
    }

    /// What a condition can use now, with the repeats at these rounds.
    fn known(&self, part: &Part, rounds: &[u32]) -> Variables {
        let around = match part {
            Part::Until(nth) => vec![*nth],
            Part::If(phase, _) => self.score.around(*phase).to_vec(),
            _ => Vec::new(),
        };
        let round = around.last().map(|nth| (rounds[*nth], self.score.looped(*nth).at_most));
        self.variables(part, &self.view_after(None), round)
    }

    /// How a phase begins; `None` when nobody has a place in it.
    fn begun(&self, phase: usize, rounds: &[u32]) -> Result<Option<Vec<Decision>>, Faulty> {
        let turn = self.score.turn(phase);
        let number = self.number() + 1;
        let around = self.score.around(phase).iter().map(|nth| rounds[*nth]).collect();
        let begun = |seats: &[usize], by: Option<usize>| Decision::PhaseBegun {
            turn: number,
            phase: turn.name.clone(),
            rounds: around,
            seats: seats.iter().map(|seat| self.seats[*seat].name.clone()).collect(),
            by: by.map(|by| self.seats[by].name.clone()),
        };
        let mut seats: Vec<usize> = Vec::new();
        for (nth, who) in turn.who.iter().enumerate() {
            match who {
                Who::Role { role, only_if } => {
                    let part = Part::If(phase, nth);
                    let known = only_if.as_ref().map(|_| self.known(&part, rounds));
                    for (at, _) in self.of_role(role) {
                        let may = match &known {
                            Some(known) => {
                                let me = self.seat_value(at, &self.view_after(Some(at)));
                                self.score.holds(&part, known.with("me", me))? || self.is_rehearsal
                            }
                            None => true,
                        };
                        if may && !seats.contains(&at) && reply::can(self, turn, at) {
                            seats.push(at);
                        }
                    }
                }
                Who::Pick { by, from, again, .. } => {
                    let last = self.said.last().map(|said| said.seat);
                    let all = from.iter().flat_map(|role| self.of_role(role).map(|(at, _)| at));
                    let mut from: Vec<usize> = all.filter(|at| reply::can(self, turn, *at)).collect();
                    if !again && from.len() > 1 {
                        from.retain(|at| Some(*at) != last);
                    }
                    let Some((by, _)) = self.of_role(by).next() else { return Ok(None) };
                    return Ok(match from.as_slice() {
                        [] => None,
                        // Nobody is asked what is no choice.
                        [only] => Some(vec![begun(&[*only], None)]),
                        several => Some(vec![begun(several, Some(by))]),
                    });
                }
            }
        }
        Ok((!seats.is_empty()).then(|| vec![begun(&seats, None)]))
    }

    pub(super) fn of_role<'a>(&'a self, role: &'a str) -> impl Iterator<Item = (usize, &'a Chair)> {
        self.seats.iter().map(|seat| &**seat).enumerate().filter(move |(_, seat)| *seat.role == *role)
    }

    fn conclusion(&self) -> Decision {
        let mut results = Map::new();
        for (at, yielded) in self.settings.score.results.iter().enumerate() {
            let known = self.variables(&Part::Result(at), &self.view_after(None), None);
            match self.score.result(at, known.value()) {
                Ok(value) => results.insert(yielded.name.to_string(), values::json(&value)),
                Err(faulty) => return self.broken(&faulty),
            };
        }
        Decision::Concluded { results }
    }

    pub(super) fn broken(&self, faulty: &Faulty) -> Decision {
        Decision::Broken { part: self.named(&faulty.part), problem: faulty.problem.clone() }
    }

    /// A part of the score as its file has it.
    pub(super) fn named(&self, part: &Part) -> String {
        let of = |what: &str, phase: &usize| format!("`{what}` of phase `{}`", self.score.turn(*phase).name);
        match part {
            Part::Prompt(phase) => of("prompt", phase),
            Part::Line(phase) => of("line", phase),
            Part::If(phase, _) => of("if", phase),
            Part::Pick(phase) => of("pick", phase),
            Part::Where(phase, _) => of("where", phase),
            Part::Until(_) => "`until` of a repeat".to_owned(),
            Part::Result(at) => format!("the result `{}`", self.settings.score.results[*at].name),
            Part::Persona(at) => format!("`persona` of the role `{}`", self.settings.score.roles[*at].name),
        }
    }

    /// Adds what follows from these events, as far as nobody has to be asked for it. `heard` is what a person has
    /// just said.
    pub(super) fn follow_up(&self, heard: Option<&str>, mut events: Vec<Event>) -> Vec<Event> {
        if let Some(next) = self.next_of_phase(&events) {
            let who = self.waited_for(next).map(|chair| chair.name.clone());
            events.extend((who != self.awaited).then(|| Event::decision(Decision::Awaited { who })));
            return events;
        }
        let mut ahead = self.clone();
        ahead.heard = heard.map(|heard| (heard.into(), None));
        events.iter().for_each(|event| ahead.fold(event));
        if ahead.over.is_none() {
            if let Some(role) = ahead.short_of() {
                ahead.take(&mut events, Decision::TooFew { turn: ahead.number(), role });
            } else if ahead.is_phase_over() {
                for decision in ahead.advance() {
                    ahead.take(&mut events, decision);
                }
            }
        }
        let who = ahead.awaiting().map(|chair| chair.name.clone());
        if who != self.awaited {
            events.push(Event::decision(Decision::Awaited { who }));
        }
        events
    }

    /// The seat whose turn it is after these events, where they only are that another had its turn in the phase.
    fn next_of_phase(&self, events: &[Event]) -> Option<usize> {
        let Some(Decision::Played { seat, .. }) = events.last().and_then(Event::decided) else { return None };
        let others = || self.standings.iter().filter(|standing| *self.seats[standing.seat].name != **seat);
        if others().any(|standing| standing.state == State::Failed) {
            return None;
        }
        let next = others().find(|standing| standing.state.is_open());
        next.or_else(|| others().find(|standing| standing.state == State::Waiting)).map(|standing| standing.seat)
    }

    fn take(&mut self, events: &mut Vec<Event>, decision: Decision) {
        self.fold_decision(&decision);
        events.push(Event::decision(decision));
    }

    fn is_phase_over(&self) -> bool {
        let is_over = |state: &State| matches!(state, State::Done | State::Failed);
        self.picking.as_ref().is_none_or(|picking| is_over(&picking.state))
            && self.standings.iter().all(|standing| is_over(&standing.state))
    }

    /// A role of which so many seats failed that fewer are left than it has at least.
    fn short_of(&self) -> Option<Arc<str>> {
        if !self.is_phase_over() && !self.is_one_by_one() {
            return None;
        }
        let picking = self.picking.iter().map(|picking| (picking.by, &picking.state));
        let standings = self.standings.iter().map(|standing| (standing.seat, &standing.state));
        let failed: Vec<usize> = picking
            .chain(standings)
            .filter(|(_, state)| matches!(state, State::Failed))
            .map(|(seat, _)| seat)
            .collect();
        let is_short = |role: &Arc<str>| {
            let least = self.settings.score.role(role).map_or(0, |role| role.least as usize);
            self.of_role(role).filter(|(at, _)| !failed.contains(at)).count() < least
        };
        failed.iter().map(|seat| &self.seats[*seat].role).find(|role| is_short(role)).cloned()
    }

    pub(super) fn fold(&mut self, event: &Event) {
        match event {
            Event::Answered { ask, text, .. } => self.remember(ask, text),
            Event::LineSpoken { text, to, .. } => {
                let to = to.as_ref().and_then(|to| self.seat_of(to));
                self.heard = Some((text.clone(), to));
            }
            Event::HumanSpoke { text, .. } => self.heard = Some((text.clone(), None)),
            Event::Decided(decision) => {
                if let Some(decision) = decision.open::<Decision>() {
                    self.fold_decision(decision);
                }
            }
            Event::Resumed { .. } | Event::Forked { .. } => {
                self.seats.iter_mut().for_each(|seat| Arc::make_mut(seat).head.clear());
                self.reopen();
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::Ended { .. } => {}
        }
    }

    fn fold_decision(&mut self, decision: &Decision) {
        match decision {
            Decision::PhaseBegun { phase, rounds, seats, by, .. } => {
                self.open_phase(phase, rounds, seats, by.as_deref())
            }
            Decision::Picked { seat, .. } => {
                if let Some(picking) = &mut self.picking {
                    picking.state = State::Done;
                }
                if let Some(seat) = self.seat_named(seat) {
                    self.standings = vec![Standing { seat, state: State::Waiting }];
                    self.open_next();
                }
            }
            Decision::Reasked { ask, problem } => {
                if let Some(state) = self.state_mut(ask)
                    && let State::Open { told, is_again } = state
                {
                    *told = Told::new(told.what.again(problem));
                    *is_again = true;
                }
            }
            Decision::Played { seat, reply, silent, .. } => {
                let heard = self.heard.take().filter(|_| !silent);
                let Some(seat) = self.seat_named(seat) else { return };
                let (text, to) = heard.unwrap_or_default();
                let Some(turn) = self.played.len().checked_sub(1) else { return };
                self.said.push(Arc::new(Said { seat, turn, text, reply: reply.clone(), to }));
                self.close(seat, State::Done);
            }
            Decision::SeatFailed { seat, .. } => {
                if let Some(seat) = self.seat_named(seat) {
                    self.close(seat, State::Failed);
                }
            }
            Decision::Noted { to, text } => {
                let is_told = |seat: &&mut Arc<Chair>| to.as_ref().is_none_or(|to| to.as_str() == &*seat.name);
                let told = self.seats.iter_mut().filter(is_told);
                told.for_each(|seat| Arc::make_mut(seat).notes.push(text.clone()));
                // Whoever has been told already what they are to answer is told anew.
                self.open_again();
            }
            Decision::Awaited { who } => self.awaited = who.clone(),
            Decision::TooFew { role, .. } => {
                let phase = self.turn().map(|turn| turn.name.clone()).unwrap_or_default();
                self.why = Some(format!("Too few of `{role}` are left in `{phase}`.").into());
                self.over = Some(reason::TOO_FEW);
            }
            Decision::Broken { part, problem } => {
                self.why = Some(format!("The score cannot go on: {part}: {problem}.").into());
                self.over = Some(reason::BAD_SCORE);
            }
            Decision::Concluded { results } => {
                self.results = results.clone();
                self.over = Some(Reason::COMPLETED);
            }
        }
    }

    fn open_phase(&mut self, phase: &str, rounds: &[u32], seats: &[Arc<str>], by: Option<&str>) {
        let Some(phase) = self.score.phase(phase) else { return };
        for (nth, round) in self.score.around(phase).to_vec().into_iter().zip(rounds) {
            self.rounds[nth] = *round;
        }
        self.played.push(Instance { phase, rounds: rounds.into(), first: self.said.len() });
        let seats: Vec<usize> = seats.iter().filter_map(|seat| self.seat_named(seat)).collect();
        let by = by.and_then(|by| self.seat_named(by));
        self.standings = Vec::new();
        self.picking = None;
        match by {
            Some(by) => self.open_pick(by, seats),
            None => {
                let waiting = |seat| Standing { seat, state: State::Waiting };
                self.standings = seats.into_iter().map(waiting).collect();
                self.open_next();
            }
        }
    }

    /// Opens everybody's turn, or the next where one comes after the other.
    fn open_next(&mut self) {
        let is_one_by_one = self.is_one_by_one();
        let is_open = |standing: &Standing| matches!(standing.state, State::Open { .. });
        if is_one_by_one && self.standings.iter().any(is_open) {
            return;
        }
        for at in 0..self.standings.len() {
            if self.standings[at].state == State::Waiting {
                let told = Told::new(Telling::turn(self, self.standings[at].seat));
                self.standings[at].state = State::Open { told, is_again: false };
                if is_one_by_one {
                    return;
                }
            }
        }
    }

    /// Opens the turns that are open anew, with what is to be told by now.
    fn open_again(&mut self) {
        for at in 0..self.standings.len() {
            if matches!(self.standings[at].state, State::Open { is_again: false, .. }) {
                let told = Told::new(Telling::turn(self, self.standings[at].seat));
                self.standings[at].state = State::Open { told, is_again: false };
            }
        }
        if let Some(Picking { by, from, state: State::Open { is_again: false, .. } }) = self.picking.clone() {
            self.open_pick(by, from);
        }
    }

    fn open_pick(&mut self, by: usize, from: Vec<usize>) {
        let told = Told::new(Telling::pick(self, by, &from));
        self.picking = Some(Picking { by, from, state: State::Open { told, is_again: false } });
    }

    /// Those who failed where too few were left are asked once more.
    fn reopen(&mut self) {
        if self.over != Some(reason::TOO_FEW) {
            return;
        }
        (self.over, self.why) = (None, None);
        let failed = self.standings.iter_mut().filter(|standing| standing.state == State::Failed);
        failed.for_each(|standing| standing.state = State::Waiting);
        if let Some(Picking { by, from, state: State::Failed }) = self.picking.clone() {
            self.open_pick(by, from);
        }
        self.open_next();
    }

    fn close(&mut self, seat: usize, state: State) {
        if let Some(standing) = self.standings.iter_mut().find(|standing| standing.seat == seat) {
            standing.state = state;
        } else if let Some(picking) = self.picking.as_mut().filter(|picking| picking.by == seat) {
            picking.state = state;
        }
        self.open_next();
    }

    /// Where the seat that an ask goes to stands.
    pub(super) fn state(&self, ask: &AskId) -> Option<&State> {
        let seat = self.seat_of(&ask.agent)?;
        if ask.turn != self.number() {
            return None;
        }
        let picking = self.picking.as_ref().filter(|picking| picking.by == seat && picking.state.is_open());
        let standing = self.standings.iter().find(|standing| standing.seat == seat);
        picking.map(|picking| &picking.state).or_else(|| standing.map(|standing| &standing.state))
    }

    fn state_mut(&mut self, ask: &AskId) -> Option<&mut State> {
        let seat = self.seat_of(&ask.agent)?;
        let picking = self.picking.as_mut().filter(|picking| picking.by == seat && picking.state.is_open());
        match picking {
            Some(picking) => Some(&mut picking.state),
            None => {
                self.standings.iter_mut().find(|standing| standing.seat == seat).map(|standing| &mut standing.state)
            }
        }
    }

    /// What a seat was told and what it answered, as it came, is the past of its next request.
    fn remember(&mut self, ask: &AskId, answer: &Arc<str>) {
        let Some(State::Open { told, .. }) = self.state(ask) else { return };
        let told = told.clone();
        let Some(seat) = self.seat_of(&ask.agent) else { return };
        let turn = self.turn().expect("somebody was asked in a phase");
        let is_all = turn.sees == Sees::All;
        let chair = Arc::make_mut(&mut self.seats[seat]);
        told.what.note(chair, is_all);
        chair.past.push(told, answer.clone());
    }
}

impl State {
    pub(super) fn is_open(&self) -> bool {
        matches!(self, State::Open { .. })
    }
}

/// Whether the first who speaks is a person.
pub(super) fn begins_with_person(settings: &Settings) -> bool {
    let mut playing = Playing::new(settings, 0);
    playing.begin();
    playing.awaiting().is_some()
}
