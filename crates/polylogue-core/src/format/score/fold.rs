//! How what happened changes a score that is played.

use std::sync::Arc;

use super::{
    decision::Decision,
    language::Sees,
    playing::{Chair, Instance, Picking, Playing, Said, Standing, State},
    telling::Telling,
    vocabulary::reason,
};
use crate::{event::Event, id::AskId, reason::Reason, thread::Told};

impl Playing {
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

    pub(super) fn fold_decision(&mut self, decision: &Decision) {
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
