//! Blind phases: everybody else has a letter, drawn for each seat. Names, and the order of the seats, are nowhere in
//! what it is told.

use std::sync::Arc;

use minijinja::{Value, context};
use serde_json::Value as Json;

use super::{
    language::Sees,
    playing::{Playing, Said},
    reply,
    telling::{SHUFFLE, View},
    values,
};
use crate::chance::Chance;

/// The letters of the others, for one seat, in the order of the letters.
#[derive(Clone, Debug)]
pub(super) struct Labels(Vec<(usize, Arc<str>)>);

impl Labels {
    /// Those who are seen come first, in an order that is drawn. A letter that is somebody's name is nobody's letter.
    pub(super) fn drawn(playing: &Playing, me: usize, turn: usize, until: usize) -> Labels {
        let mut others: Vec<usize> = (0..playing.seats.len()).filter(|seat| *seat != me).collect();
        Chance::new(playing.seed, &[SHUFFLE, turn as u64 + 1, me as u64 + 1]).shuffle(&mut others);
        let sees = &playing.score.turn(playing.played[turn].phase).sees;
        let is_seen = |seat: &usize| match sees {
            Sees::All => playing.said.iter().take(until).any(|said| said.seat == *seat),
            Sees::These(seen) => seen.iter().any(|seen| {
                playing.of_phase(&seen.phase, turn, until).iter().any(|at| playing.said[*at].seat == *seat)
            }),
        };
        others.sort_by_key(|seat| !is_seen(seat));
        let is_free = |letter: &Arc<str>| !playing.seats.iter().any(|chair| chair.name.eq_ignore_ascii_case(letter));
        Labels(others.into_iter().zip((0..).map(letter).filter(is_free)).collect())
    }

    /// The place of a seat among the letters; behind all of them for whoever looks.
    pub(super) fn place(&self, seat: usize) -> usize {
        self.0.iter().position(|(other, _)| *other == seat).unwrap_or(self.0.len())
    }

    /// The letter of a seat; `None` for whoever looks.
    fn of(&self, seat: usize) -> Option<&Arc<str>> {
        self.0.get(self.place(seat)).map(|(_, letter)| letter)
    }
}

/// A to Z, then A1, B1 and so on.
fn letter(nth: usize) -> Arc<str> {
    let letter = char::from(b'A' + (nth % 26) as u8);
    if nth < 26 { letter.to_string().into() } else { format!("{letter}{}", nth / 26).into() }
}

impl Playing {
    /// What a seat is called by whoever looks.
    pub(super) fn called(&self, seat: usize, view: &View) -> Arc<str> {
        let letter = view.labels.as_ref().and_then(|labels| labels.of(seat));
        letter.unwrap_or(&self.seats[seat].name).clone()
    }

    /// What these seats are called, in an order that says nothing of theirs where they have letters.
    pub(super) fn all_called(&self, seats: &[usize], view: &View) -> Vec<String> {
        let mut seats = seats.to_vec();
        if let Some(labels) = &view.labels {
            seats.sort_by_key(|seat| labels.place(*seat));
        }
        seats.into_iter().map(|seat| self.called(seat, view).to_string()).collect()
    }

    /// Something that was said, as templates know it.
    pub(super) fn line(&self, at: usize, view: &View) -> Value {
        let said = &self.said[at];
        let reply = self.reply_shown(said, view);
        let (name, to) = (self.called(said.seat, view), said.to.map(|to| self.called(to, view)));
        let text = self.text(said, reply.as_ref(), view);
        let reply = reply.as_ref().map(values::value);
        // The only one of a role is known by it.
        match view.labels {
            Some(_) => context! { name, text, to, reply },
            None => context! { name, text, to, reply, role => self.seats[said.seat].role.clone() },
        }
    }

    /// The same as far as it is heard: who says it, what, and to whom; and whether whoever looks has said it.
    pub(super) fn heard(&self, at: usize, view: &View) -> Value {
        let said = &self.said[at];
        let reply = view.labels.as_ref().and_then(|_| self.reply_shown(said, view));
        let (name, to) = (self.called(said.seat, view), said.to.map(|to| self.called(to, view)));
        let is_own = view.me == Some(said.seat);
        context! { name, text => self.text(said, reply.as_ref(), view), to, is_own }
    }

    /// A reply with everybody called as whoever looks calls them. Words that are somebody's name by chance stay.
    fn reply_shown(&self, said: &Said, view: &View) -> Option<Json> {
        let mut reply = said.reply.clone()?;
        if view.labels.is_some() {
            let turn = self.score.turn(self.played[said.turn].phase);
            for field in turn.reply.iter().filter(|field| reply::is_of_seats(&field.form)) {
                if let Some(value) = reply.get_mut(&*field.name) {
                    self.relabel(value, view);
                }
            }
        }
        Some(reply)
    }

    fn relabel(&self, value: &mut Json, view: &View) {
        match value {
            Json::String(name) => {
                if let Some(seat) = self.seat_named(name) {
                    *value = self.called(seat, view).to_string().into();
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.relabel(item, view)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {}
        }
    }

    /// The words of a line. Where names are letters, a line that was made of a reply is made anew.
    fn text(&self, said: &Said, reply: Option<&Json>, view: &View) -> Arc<str> {
        let (Some(_), Some(reply), false) = (&view.labels, reply, said.text.is_empty()) else {
            return said.text.clone();
        };
        let instance = &self.played[said.turn];
        let view = View { me: Some(said.seat), turn: said.turn, until: instance.first, labels: view.labels.clone() };
        let line = reply::line(self, instance.phase, &view, reply).unwrap_or_default();
        reply::plain(self, said.seat, &line, &mut Vec::new()).into()
    }

    /// A seat as templates know it. Whoever looks knows of one with a letter nothing but that.
    pub(super) fn seat_value(&self, seat: usize, view: &View) -> Value {
        let of = |name: &Arc<str>, role: &Arc<str>, number: usize| context! { name, role, number };
        if let Some(labels) = &view.labels
            && let Some(letter) = labels.of(seat)
        {
            return of(letter, letter, labels.place(seat) + 1);
        }
        let chair = &self.seats[seat];
        let number = || self.seats[..=seat].iter().filter(|other| other.role == chair.role).count();
        chair.value.get(|| of(&chair.name, &chair.role, number()))
    }
}
