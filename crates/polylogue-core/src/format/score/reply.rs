//! What a seat replies: the shape that is asked for, and what a reply comes to.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{
    compiled::{Faulty, Part},
    language::{Form, Of, Turn},
    playing::Playing,
    telling::{Telling, View},
    values,
};
use crate::{
    Conversation,
    text::{
        identity::own_line,
        reply::{self, Field, Problem, Repair, Shape},
    },
};

/// The field of a reply that chooses who speaks.
pub(super) const NEXT: &str = "next";

/// What a reply comes to.
#[derive(Debug)]
pub(super) struct Read {
    /// What is heard; empty for what nobody hears of.
    pub(super) text: String,
    pub(super) reply: Option<Json>,
    /// Whom it is for.
    pub(super) to: Option<usize>,
}

/// Why a reply is worth nothing.
#[derive(Debug)]
pub(super) enum Unread {
    Reply(Problem),
    /// The score cannot say what is heard of it.
    Score(Faulty),
}

/// Whether there is something to choose from for a seat, wherever the phase wants a choice.
pub(super) fn can(playing: &Playing, turn: &Turn, seat: usize) -> bool {
    let view = View { me: Some(seat), turn: playing.played.len(), until: playing.said.len(), labels: None };
    turn.reply.iter().all(|field| can_form(playing, &field.form, &view))
}

fn can_form(playing: &Playing, form: &Form, view: &View) -> bool {
    match form {
        Form::Text | Form::YesNo | Form::Number { .. } => true,
        Form::OneOf(of) | Form::Order(of) => seats_of(playing, of, view).is_none_or(|seats| !seats.is_empty()),
        Form::List { of, .. } => can_form(playing, of, view),
    }
}

/// The seats that can be chosen; `None` for words.
fn seats_of(playing: &Playing, of: &Of, view: &View) -> Option<Vec<usize>> {
    let mut seats: Vec<usize> = match of {
        Of::Words(_) => return None,
        Of::Phase(phase) => {
            let said = playing.of_phase(phase, view.turn, view.until);
            said.into_iter().map(|at| playing.said[at].seat).collect()
        }
        Of::Role(role) => (0..playing.seats.len()).filter(|seat| playing.seats[*seat].role == *role).collect(),
    };
    seats.sort_unstable();
    seats.dedup();
    seats.retain(|seat| Some(*seat) != view.me);
    Some(seats)
}

/// The words that can be chosen, by those who choose.
fn choices(playing: &Playing, of: &Of, view: &View) -> Vec<String> {
    let Of::Words(words) = of else {
        return playing.all_called(&seats_of(playing, of, view).unwrap_or_default(), view);
    };
    words.iter().map(|word| word.to_string()).collect()
}

/// The form of the reply that is asked for; `None` for plain text.
pub(super) fn shape(playing: &Playing, telling: &Telling) -> Option<Shape> {
    let view = playing.view_at(Some(telling.seat), telling.turn, telling.until);
    if let Some(from) = &telling.candidates {
        let names = playing.all_called(from, &view);
        return Some(Shape::Object(vec![Field::required(NEXT, Shape::Choice(names))]));
    }
    let turn = playing.score.turn(playing.played[telling.turn].phase);
    if turn.reply.is_empty() {
        return None;
    }
    let field = |name: &Arc<str>, form: &Form| Field::required(name.to_string(), shape_of(playing, form, &view));
    Some(Shape::Object(turn.reply.iter().map(|wanted| field(&wanted.name, &wanted.form)).collect()))
}

fn shape_of(playing: &Playing, form: &Form, view: &View) -> Shape {
    match form {
        Form::Text => Shape::Text { max_chars: None },
        Form::YesNo => Shape::Bool,
        Form::Number { least, most } => Shape::Range(*least, *most),
        Form::OneOf(of) => Shape::Choice(choices(playing, of, view)),
        Form::Order(of) => Shape::Order(choices(playing, of, view)),
        Form::List { of, at_most } => Shape::List(Box::new(shape_of(playing, of, view)), *at_most as usize),
    }
}

/// The form of a reply, as a model is told it.
pub(super) fn in_words(shape: &Shape) -> String {
    let Shape::Object(fields) = shape else { return String::new() };
    let fields: Vec<String> = fields.iter().map(|field| format!("\"{}\": {}", field.name, one(&field.shape))).collect();
    format!("{{{}}}", fields.join(", "))
}

fn one(shape: &Shape) -> String {
    let quoted = |words: &[String]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>();
    match shape {
        Shape::Text { .. } => "\"…\"".to_owned(),
        Shape::Bool => "true or false".to_owned(),
        Shape::Range(least, most) | Shape::Fraction(least, most) => format!("a number from {least} to {most}"),
        Shape::Choice(words) => quoted(words).join(" or "),
        Shape::Number(numbers) => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" or "),
        Shape::Order(words) => format!("[{} in your order, the best first]", quoted(words).join(", ")),
        Shape::List(of, most) => format!("[{}, … at most {most}]", one(of)),
        Shape::Object(_) => in_words(shape),
    }
}

/// Reads a reply of a seat that was told this.
pub(super) fn read(
    playing: &Playing,
    telling: &Telling,
    text: &str,
    is_full: bool,
    is_again: bool,
    repairs: &mut Vec<Repair>,
) -> Result<Read, Unread> {
    let phase = playing.played[telling.turn].phase;
    let Some(shape) = telling.shape(playing) else {
        let text = plain(playing, telling.seat, text, repairs);
        let empty = Problem::Missing("a word".to_owned());
        return if text.is_empty() { Err(Unread::Reply(empty)) } else { Ok(Read { text, reply: None, to: None }) };
    };
    let reading = reply::read(text, &shape).within_limit(is_full && !is_again);
    let value = reading.value.map_err(Unread::Reply)?;
    repairs.extend(reading.repairs);
    let view = playing.view_at(Some(telling.seat), telling.turn, telling.until);
    let turn = playing.score.turn(phase);
    let mut fields = Map::new();
    if telling.candidates.is_some() {
        return Ok(Read { text: String::new(), reply: Some(named(playing, &value, true, &view)), to: None });
    }
    for field in &turn.reply {
        let is_seat = is_of_seats(&field.form);
        if let Some(value) = value.get(&*field.name) {
            fields.insert(field.name.to_string(), named(playing, value, is_seat, &view));
        }
    }
    let to = turn.to.as_ref().and_then(|to| fields.get(&**to)).and_then(Json::as_str);
    let to = to.and_then(|to| playing.seat_named(to));
    let reply = Json::Object(fields);
    let open = View { labels: None, ..view };
    let heard = line(playing, phase, &open, &reply).map_err(Unread::Score)?;
    let text = if heard.trim().is_empty() { String::new() } else { plain(playing, telling.seat, &heard, repairs) };
    Ok(Read { text, reply: Some(reply), to })
}

/// Whether a field of this form names seats.
pub(super) fn is_of_seats(form: &Form) -> bool {
    match form {
        Form::OneOf(of) | Form::Order(of) => !matches!(of, Of::Words(_)),
        Form::List { of, .. } => is_of_seats(of),
        Form::Text | Form::YesNo | Form::Number { .. } => false,
    }
}

/// A value with the seats' own names for the letters that a seat knew them by.
fn named(playing: &Playing, value: &Json, is_seat: bool, view: &View) -> Json {
    match value {
        Json::String(called) if is_seat => {
            let seat = (0..playing.seats.len()).find(|seat| *playing.called(*seat, view) == **called);
            seat.map_or_else(|| value.clone(), |seat| Json::String(playing.seats[seat].name.to_string()))
        }
        Json::Array(items) => Json::Array(items.iter().map(|item| named(playing, item, is_seat, view)).collect()),
        Json::Object(fields) => {
            let field = |(name, field): (&String, &Json)| (name.clone(), named(playing, field, is_seat, view));
            Json::Object(fields.iter().map(field).collect())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
    }
}

/// What is heard of a reply that has a form.
pub(super) fn line(playing: &Playing, phase: usize, view: &View, reply: &Json) -> Result<String, Faulty> {
    let turn = playing.score.turn(phase);
    if turn.line.is_some() {
        let part = Part::Line(phase);
        let known = || playing.variables(&part, view, playing.round_at(view.turn));
        return playing.score.write(&part, || known().with("reply", values::value(reply)));
    }
    let texts: Vec<&str> = turn
        .reply
        .iter()
        .filter(|field| field.form == Form::Text)
        .filter_map(|field| reply.get(&*field.name)?.as_str())
        .collect();
    if let [only] = texts.as_slice() {
        return Ok((*only).to_owned());
    }
    let fields = turn.reply.iter().filter_map(|field| {
        let value = reply.get(&*field.name)?;
        Some(format!("{}: {}", field.name.replace('_', " "), values::in_words(value)))
    });
    Ok(fields.collect::<Vec<_>>().join("; "))
}

/// The words as a seat's own line.
pub(super) fn plain(playing: &Playing, seat: usize, text: &str, repairs: &mut Vec<Repair>) -> String {
    let others = playing.seats.iter().enumerate().filter(|(at, _)| *at != seat);
    let others: Vec<&str> = others.map(|(_, other)| &*other.name).collect();
    own_words(&playing.seats[seat].name, &others, text, repairs)
}

/// The words as the line of one among others.
pub(super) fn own_words(own: &str, others: &[&str], text: &str, repairs: &mut Vec<Repair>) -> String {
    let (text, more) = reply::without_thinking(text);
    repairs.extend(more);
    let own = own_line(&text, own, others, repairs);
    let end = own.char_indices().nth(Conversation::MAX_MESSAGE_CHARS).map_or(own.len(), |(at, _)| at);
    if end < own.len() {
        repairs.push(Repair::Cut);
    }
    own[..end].trim().to_owned()
}
