//! What a turn of a score costs in the core, beside the built-in format that it mirrors: on the same replies, in turn,
//! so that what else the machine does is shared by both. It fails where a score is more than 1.3 times as dear.

#[path = "../tests/it/support.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod support;

use std::{
    collections::BTreeMap,
    process::ExitCode,
    time::{Duration, Instant},
};

use polylogue_core::{
    Setup, Step,
    ask::Ask,
    format::score::{Seat, Settings, read_text},
    id::AgentId,
    setup::{Cast, FormatSetup},
};
use serde_json::json;
use support::{Play, agent, chorus, discussion, said};

/// How much dearer a turn of a score may be.
const MOST: f64 = 1.3;
/// How often both are played, in turn.
const TIMES: usize = 200;
const ROUNDS: u32 = 60;

struct Case {
    name: &'static str,
    built_in: fn() -> Setup,
    mirror: fn() -> Setup,
    reply: fn(&Ask) -> String,
}

const CASES: [Case; 2] = [
    Case {
        name: "chorus",
        built_in: || Setup { speech: false, ..chorus(6) },
        mirror: || {
            let slots: Vec<String> = (1..=6).map(|slot| format!("slot-{slot}")).collect();
            let places = slots.iter().map(|slot| ("voice", slot.as_str()));
            mirror(include_str!("../tests/it/mirrors/chorus.yaml"), places.collect(), &[])
        },
        reply: sings,
    },
    Case {
        name: "discussion",
        built_in: || discussion(&["manager=ann", "user=ada", "specialist=ben", "specialist=cem"], ROUNDS),
        mirror: || {
            let places = vec![("manager", "ann"), ("guest", "ada"), ("specialist", "ben"), ("specialist", "cem")];
            mirror(include_str!("../tests/it/mirrors/discussion.yaml"), places, &[("rounds", ROUNDS)])
        },
        reply: |ask| format!("What {} has to say in its turn {}, at some length.", ask.id.agent, ask.id.turn),
    },
];

/// A session of a score with the limits, the seed and the agents of the built-in one.
fn mirror(text: &str, places: Vec<(&str, &str)>, values: &[(&str, u32)]) -> Setup {
    let score = read_text(text).expect("the mirrors can be played");
    let seat = |(role, name): &(&str, &str)| Seat { name: (*name).into(), role: (*role).into() };
    let seats: Vec<Seat> = places.iter().map(seat).collect();
    let is_person = |seat: &&Seat| score.role(&seat.role).is_some_and(|role| role.is_person);
    let people = seats.iter().filter(is_person).map(|seat| seat.name.parse().unwrap());
    let people = std::iter::once("you".parse().unwrap()).chain(people).collect();
    let agents = seats.iter().filter(|seat| !is_person(seat)).map(|seat| agent(&seat.name)).collect();
    let values: BTreeMap<_, _> = values.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
    Setup {
        cast: Cast::new(agents, people).unwrap(),
        format: FormatSetup::new(Settings::new(score.into(), "What is a home?", values, seats)),
        speech: false,
        ..chorus(1)
    }
}

/// What a voice of a chorus says, in the form that is asked for.
fn sings(ask: &Ask) -> String {
    let number = |agent: &AgentId| agent.as_str().trim_start_matches("slot-").parse::<u8>().unwrap();
    let to = number(&ask.id.agent) % 6 + 1;
    let words = format!("What {} has to say of it, at some length.", ask.id.agent);
    let is_built_in = ask.request.system.contains("voice_profile") || ask.request.prompt.contains("voice_profile");
    match (ask.id.turn, is_built_in) {
        (2, true) => json!({"targetSlotId": to, "comment": words, "voice_profile": "playful"}).to_string(),
        (_, true) => json!({"text": words, "voice_profile": "playful"}).to_string(),
        (2, false) => json!({"about": format!("slot-{to}"), "comment": words}).to_string(),
        (_, false) => words,
    }
}

/// Plays a session as the loop does, one thing after the other, and tells the time of an agent's turn.
#[expect(clippy::disallowed_methods, reason = "a bench looks at the clock")]
fn played(setup: Setup, reply: fn(&Ask) -> String) -> (Duration, u32) {
    let mut play = Play::start(setup).unwrap();
    let (mut time, mut turns, mut open) = (Duration::ZERO, 0, Vec::<Ask>::new());
    loop {
        let begun = Instant::now();
        let steps = play.conversation.next();
        let mut new = Vec::new();
        for step in &steps {
            play.record(play.conversation.begin(step));
            if let Step::Ask(ask) = step
                && !open.iter().any(|open| open.id == ask.id)
            {
                new.push(ask.clone());
            }
        }
        time += begun.elapsed();
        if play.conversation.stage().ended().is_some() {
            return (time, turns);
        }
        open.extend(new);
        let input = match steps.iter().find_map(|step| if let Step::AwaitHuman(who) = step { Some(who) } else { None })
        {
            Some(awaited) => said(awaited.who.as_str(), "What a person has to say to it."),
            None => {
                turns += 1;
                let ask = open.remove(0);
                let text = reply(&ask).into();
                let answer = polylogue_core::Answer { text, ..polylogue_core::Answer::default() };
                polylogue_core::Input::Answered { ask: ask.id, answer }
            }
        };
        let begun = Instant::now();
        play.give(input).unwrap();
        time += begun.elapsed();
    }
}

/// The time of a turn in microseconds: that of the session in the middle.
fn median(mut times: Vec<Duration>, turns: u32) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6 / f64::from(turns)
}

fn main() -> ExitCode {
    let mut worst: f64 = 0.0;
    for Case { name, built_in, mirror, reply } in CASES {
        let (mut of_built_in, mut of_mirror, mut turns) = (Vec::new(), Vec::new(), (0, 0));
        for _ in 0..TIMES {
            let (time, count) = played(built_in(), reply);
            of_built_in.push(time);
            let (mirrored, mirror_count) = played(mirror(), reply);
            of_mirror.push(mirrored);
            turns = (count, mirror_count);
        }
        assert_eq!(turns.0, turns.1, "{name}: both have the same turns");
        let (built_in, mirror) = (median(of_built_in, turns.0), median(of_mirror, turns.1));
        let ratio = mirror / built_in;
        println!(
            "score {name}: {turns} turns, {built_in:.2} us built in, {mirror:.2} us as a score, {ratio:.2} times",
            turns = turns.0
        );
        worst = worst.max(ratio);
    }
    if worst <= MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
