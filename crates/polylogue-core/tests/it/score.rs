//! Scores through the machine: the shipped ones, what is wrong with others, and what seats are told.

use std::{collections::BTreeMap, sync::Arc};

use polylogue_core::{
    Reason, Setup,
    ask::Ask,
    format::score::{Bound, SHIPPED, Score, Seat, Settings, read_text},
    id::SessionId,
    setup::{Cast, FormatSetup, Limits},
    text::reply::Shape,
};
use serde_json::{Value, json};

use crate::support::{Play, agent};

pub(crate) fn shipped(name: &str) -> Arc<Score> {
    let (_, text) = SHIPPED.iter().find(|(known, _)| *known == name).unwrap();
    score(text)
}

pub(crate) fn score(text: &str) -> Arc<Score> {
    match read_text(text) {
        Ok(score) => score.into(),
        Err(problems) => {
            panic!("{}", problems.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A session of a score with so many seats for each role: `ann`, `ben`, … where a role has several, else the role.
pub(crate) fn setup(score: Arc<Score>, seats: &[(&str, &[&str])]) -> Setup {
    let places = seats.iter().flat_map(|(role, names)| names.iter().map(move |name| (*role, *name)));
    let seat = |(role, name): (&str, &str)| Seat { name: name.into(), role: role.into() };
    let seats: Vec<Seat> = places.map(seat).collect();
    let is_person = |seat: &&Seat| score.role(&seat.role).is_some_and(|role| role.is_person);
    let people = seats.iter().filter(is_person).map(|seat| seat.name.parse().unwrap());
    let people = std::iter::once("you".parse().unwrap()).chain(people).collect();
    let agents = seats.iter().filter(|seat| !is_person(seat)).map(|seat| agent(&seat.name)).collect();
    Setup {
        id: SessionId::from_bytes([0x55; 16]),
        cast: Cast::new(agents, people).unwrap(),
        format: FormatSetup::new(Settings::new(score, "What is a home?", BTreeMap::new(), seats)),
        limits: Limits::default(),
        seed: 7,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

/// A good reply: the first of every choice, and words that say whose they are.
pub(crate) fn reply(ask: &Ask) -> String {
    let words = format!("{} in {}.", ask.id.agent, ask.id.turn);
    match ask.request.shape.as_deref() {
        None => words,
        Some(shape) => value(shape, &words).to_string(),
    }
}

fn value(shape: &Shape, words: &str) -> Value {
    match shape {
        Shape::Text { .. } => words.into(),
        Shape::Bool => true.into(),
        Shape::Range(least, most) | Shape::Fraction(least, most) => json!(f64::midpoint(*least, *most)),
        Shape::Choice(of) => of[0].clone().into(),
        Shape::Number(of) => of[0].into(),
        Shape::Order(of) => of.clone().into(),
        Shape::List(of, _) => vec![value(of, words)].into(),
        Shape::Object(fields) => {
            fields.iter().map(|field| (field.name.to_string(), value(&field.shape, words))).collect()
        }
    }
}

type Seats = &'static [(&'static str, &'static [&'static str])];

const FEWEST: [(&str, Seats); 9] = [
    ("brainstorm", &[("thinker", &["ann", "ben", "cem"])]),
    ("council", &[("member", &["ann", "ben", "cem"]), ("chair", &["chair"])]),
    ("debate", &[("pro", &["pro"]), ("con", &["con"]), ("jury", &["ann", "ben"])]),
    ("delphi", &[("expert", &["ann", "ben", "cem"])]),
    ("panel", &[("host", &["host"]), ("guest", &["ann", "ben", "cem"])]),
    ("red-team", &[("author", &["author"]), ("attacker", &["ann", "ben"]), ("judge", &["judge"])]),
    ("round-robin", &[("member", &["ann", "ben"])]),
    ("selector", &[("selector", &["selector"]), ("member", &["ann", "ben"])]),
    ("writers-room", &[("writer", &["ann", "ben", "cem"])]),
];

#[test]
fn every_shipped_score_plays_to_its_end_within_its_bound() {
    assert_eq!(FEWEST.map(|(name, _)| name).to_vec(), SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, seats) in FEWEST {
        let setup = setup(shipped(name), seats);
        let bound = Bound::of(setup.format.settings::<Settings>().unwrap(), &setup.cast).unwrap();
        let play = Play::start(setup).unwrap().run(reply);
        assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED), "{name}: {}", play.journal());
        let total = play.conversation.stage().ledger().total();
        assert!(total.calls <= bound.turns && 2 * bound.turns == bound.asks, "{name}: {total:?}, {bound:?}");
        assert!(total.usage.total() < bound.tokens, "{name}: {total:?}, {bound:?}");
        insta::assert_snapshot!(format!("score_{name}"), play.lines().join("\n"));
    }
}

#[test]
fn what_the_members_of_a_council_are_told() {
    let (name, seats) = FEWEST[1];
    let mut play = Play::start(setup(shipped(name), seats)).unwrap();
    let mut told = String::new();
    while play.conversation.stage().ended().is_none() {
        for ask in play.begin() {
            if ["ann", "chair"].contains(&ask.id.agent.as_str()) {
                told.push_str(&format!("=== {}\n{}\n", ask.id, ask.request));
            }
            play.answer(&ask, &reply(&ask));
        }
    }
    insta::assert_snapshot!("score_council_told", told);
    insta::assert_snapshot!("score_council_journal", play.journal());
}
