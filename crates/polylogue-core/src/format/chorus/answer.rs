//! What a slot replies: the shapes that are asked for, and what a reply comes to.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{length::within, phase::Phase, seat::Seat, settings::SlotId};
use crate::{
    format::Hearing,
    text::{
        identity::{own_line, settled},
        reply::{self, Field, Problem, Repair, Shape},
    },
};

pub(super) const TEXT: &str = "text";
pub(super) const COMMENT: &str = "comment";
pub(super) const TARGET: &str = "targetSlotId";
pub(super) const VOICE: &str = "voice_profile";

/// `SpokenResponse`: what is said in the first and third turn.
pub(super) fn spoken(voices: &[Arc<str>]) -> Shape {
    Shape::Object(vec![Field::required(TEXT, text()), Field::required(VOICE, choice(voices))])
}

/// `CommentSelection`: what is said in the second turn, about one of these slots.
pub(super) fn comment(voices: &[Arc<str>], targets: &[SlotId]) -> Shape {
    let targets = targets.iter().map(|slot| slot.0.into()).collect();
    Shape::Object(vec![
        Field::required(TARGET, Shape::Number(targets)),
        Field::required(COMMENT, text()),
        Field::required(VOICE, choice(voices)),
    ])
}

fn text() -> Shape {
    Shape::Text { max_chars: None }
}

fn choice(voices: &[Arc<str>]) -> Shape {
    Shape::Choice(voices.iter().map(|voice| voice.to_string()).collect())
}

/// The reply that says this, about a slot or to everybody.
pub(super) fn written(words: &str, voice: &str, target: Option<SlotId>) -> String {
    let reply = match target {
        Some(target) => json!({TARGET: target.0, "comment": words, VOICE: voice}),
        None => json!({"text": words, VOICE: voice}),
    };
    reply.to_string()
}

/// What a reply comes to.
#[derive(Debug)]
pub(super) enum Verdict {
    Line {
        text: String,
        voice: Arc<str>,
        target: Option<SlotId>,
    },
    /// A good comment on nobody who can be commented on, for the second time.
    Unaimed {
        text: String,
        voice: Arc<str>,
        problem: Problem,
    },
    /// To be asked once more.
    Again(Problem),
    /// It was asked once more already.
    Failed(Problem),
}

/// Reads a reply of `seat`. A voice that there is not costs nobody their turn: the slot's usual one is used. One that
/// broke off at the output limit is not good enough for the first time.
pub(super) fn read(text: &str, is_full: bool, seat: &Seat, phase: Phase, seats: &[Seat]) -> (Verdict, Vec<Repair>) {
    let Some(Shape::Object(fields)) = seat.shape() else {
        return (Verdict::Failed(Problem::NoObject), Vec::new());
    };
    let mut extra = Vec::new();
    let read = |shape: &Shape| reply::read(text, shape).within_limit(is_full && !seat.is_asked_again());
    let mut reading = read(&Shape::Object(fields.clone()));
    if let Err(problem) = &reading.value
        && problem.at() == Some(VOICE)
    {
        extra.push(Repair::Voice);
        reading = read(&without(&fields, VOICE));
    }
    let mut unaimed = None;
    if let Err(problem) = &reading.value
        && problem.at() == Some(TARGET)
        && seat.is_asked_again()
    {
        let relaxed = without(&fields, TARGET);
        let Shape::Object(fields) = &relaxed else { unreachable!("it was made of fields") };
        let mut again = reply::read(text, &relaxed);
        if again.value.as_ref().is_err_and(|problem| problem.at() == Some(VOICE)) {
            extra.push(Repair::Voice);
            again = reply::read(text, &without(fields, VOICE));
        }
        unaimed = Some(problem.clone());
        reading = again;
    }
    let value = match reading.value {
        Ok(value) => value,
        Err(problem) if seat.is_asked_again() => return (Verdict::Failed(problem), Vec::new()),
        Err(problem) => return (Verdict::Again(problem), Vec::new()),
    };
    let mut repairs = reading.repairs;
    repairs.extend(extra);
    let words = value.get(TEXT).or_else(|| value.get(COMMENT)).and_then(Value::as_str).unwrap_or_default();
    let text = as_line(words, &Names::of(seat.slot, seats), phase, &mut repairs);
    let chosen = value.get(VOICE).and_then(Value::as_str);
    let voice = chosen.map_or_else(|| usual_voice(seat), Arc::from);
    let target = value.get(TARGET).and_then(Value::as_u64).and_then(|slot| SlotId::try_from(slot as u8).ok());
    repairs.sort_unstable();
    repairs.dedup();
    match unaimed {
        Some(problem) => (Verdict::Unaimed { text, voice, problem }, repairs),
        None => (Verdict::Line { text, voice, target }, repairs),
    }
}

/// What a slot and the others are called where they are spoken of: by their slots, by their names, and by both.
pub(super) struct Names {
    own: Vec<String>,
    others: Vec<String>,
}

impl Names {
    pub(super) fn of(own: SlotId, seats: &[Seat]) -> Names {
        let mut names = Names { own: Vec::new(), others: Vec::new() };
        for seat in seats {
            let whose = if seat.slot == own { &mut names.own } else { &mut names.others };
            whose.push(format!("Slot {}", seat.slot));
            if let Some(name) = &seat.called {
                whose.push(format!("{name} (slot {}", seat.slot));
                whose.push(name.to_string());
            }
        }
        names
    }
}

/// The words as one spoken line of this slot's own, within the length of its turn.
fn as_line(words: &str, names: &Names, phase: Phase, repairs: &mut Vec<Repair>) -> String {
    let others: Vec<&str> = names.others.iter().map(String::as_str).collect();
    // Only the last cuts where others begin: what goes before them may still have a name of its own before it.
    let (last, first) = names.own.split_last().expect("a slot is called by its number at least");
    let words = first.iter().fold(words, |words, name| own_line(words, name, &[], repairs));
    let own = own_line(words, last, &others, repairs);
    let one_line = own.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = within(&one_line, phase);
    if kept.len() < one_line.len() {
        repairs.push(Repair::Cut);
    }
    kept
}

/// How the reply of a slot reads while it arrives.
pub(super) fn hearing(names: Names, phase: Phase) -> Hearing {
    let field = if phase == Phase::Comment { COMMENT } else { TEXT };
    Hearing::new(move |partial| {
        let all: Vec<&str> = names.own.iter().chain(&names.others).map(String::as_str).collect();
        let words = reply::text_so_far(partial, field);
        as_line(settled(&words, &all), &names, phase, &mut Vec::new())
    })
}

/// The slot's own voice, or the one that stands at its number in the list.
fn usual_voice(seat: &Seat) -> Arc<str> {
    seat.voices[(usize::from(seat.slot.0) - 1) % seat.voices.len()].clone()
}

fn without(fields: &[Field], name: &str) -> Shape {
    Shape::Object(fields.iter().filter(|field| field.name != name).cloned().collect())
}
