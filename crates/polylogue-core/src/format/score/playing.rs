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
    compiled::Compiled,
    language::Turn,
    log::Log,
    telling::{Telling, View},
};
use crate::{
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
    pub(super) heard: Option<(Arc<str>, Option<usize>)>,
    /// The person who is waited for, as it is recorded.
    pub(super) awaited: Option<Arc<str>>,
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
    pub(super) fn waited_for(&self, seat: usize) -> Option<&Chair> {
        let chair = &*self.seats[seat];
        matches!(chair.who, Occupant::Person(_)).then_some(chair)
    }

    /// What is known when the phase that is played is over.
    pub(super) fn view_after(&self, me: Option<usize>) -> View {
        View { me, turn: self.played.len(), until: self.said.len(), labels: None }
    }

    pub(super) fn view_at(&self, me: Option<usize>, turn: usize, until: usize) -> View {
        let is_blind = self.played.get(turn).is_some_and(|instance| self.score.turn(instance.phase).blind);
        let labels = me.filter(|_| is_blind).map(|me| Labels::drawn(self, me, turn, until));
        View { me, turn, until, labels }
    }

    /// Whether seats speak one after the other.
    pub(super) fn is_one_by_one(&self) -> bool {
        let has_person = |standing: &Standing| matches!(self.seats[standing.seat].who, Occupant::Person(_));
        self.turn().is_some_and(|turn| turn.one_by_one) || self.standings.iter().any(has_person)
    }

    pub(super) fn of_role<'a>(&'a self, role: &'a str) -> impl Iterator<Item = (usize, &'a Chair)> {
        self.seats.iter().map(|seat| &**seat).enumerate().filter(move |(_, seat)| *seat.role == *role)
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
