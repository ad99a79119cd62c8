//! The course of a score: what follows once somebody has had their turn, as far as nobody has to be asked for it.
//!
//! Here expressions are worked out. What they come to is decided, so that folding works none out.

use std::sync::Arc;

use serde_json::Map;

use super::{
    compiled::{Faulty, Op, Part},
    decision::Decision,
    language::Who,
    playing::{Playing, State},
    reply,
    telling::Variables,
    values,
};
use crate::event::Event;

impl Playing {
    /// What follows once everybody has had their turn: the next phase, as far as somebody has to be asked in it.
    pub(super) fn advance(&self) -> Vec<Decision> {
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
}
