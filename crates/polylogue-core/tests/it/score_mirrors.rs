//! The chorus and the discussion written as scores: the same lines, targets and order as the built-in ones, on the same
//! replies and seeds.

use polylogue_core::{ask::Ask, format::chorus, line::Speaker};
use serde_json::json;

use crate::{
    score::{score, setup},
    support::{Play, chorus as built_in_chorus, discussion as built_in_discussion, said},
};

const CHORUS: &str = include_str!("mirrors/chorus.yaml");

/// Whom each slot comments on: most on the third, so that some comments are drawn out.
fn target(slot: u8) -> u8 {
    match slot {
        3 => 1,
        4 => 2,
        _ => 3,
    }
}

fn number(name: &str) -> u8 {
    name.strip_prefix("slot-").unwrap().parse().unwrap()
}

fn words(ask: &Ask) -> String {
    format!("Words {} of {}.", ask.id.turn, ask.id.agent)
}

/// Speaker, words and whom they are for, but for the person's.
fn heard(play: &Play) -> Vec<(String, String, Option<String>)> {
    let lines = play.conversation.stage().transcript().lines().iter();
    let by_agents = lines.filter(|line| matches!(line.speaker, Speaker::Agent(_)));
    let of = |line: &polylogue_core::line::Line| {
        (line.speaker.to_string(), line.text.to_string(), line.to.as_ref().map(ToString::to_string))
    };
    by_agents.map(of).collect()
}

#[test]
fn a_chorus_is_a_score_too() {
    for slots in 1..=6u8 {
        let mut built_in = built_in_chorus(slots);
        built_in.speech = false;
        let built_in = Play::start(built_in).unwrap().run(|ask| {
            let slot = number(ask.id.agent.as_str());
            let target = if target(slot) > slots { if slot == 1 { 2 } else { 1 } } else { target(slot) };
            match ask.id.turn {
                2 => json!({"targetSlotId": target, "comment": words(ask), "voice_profile": "playful"}).to_string(),
                _ => json!({"text": words(ask), "voice_profile": "playful"}).to_string(),
            }
        });
        let names: Vec<String> = (1..=slots).map(|slot| format!("slot-{slot}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut shown = Vec::new();
        let mut mirror = Play::start(setup(score(CHORUS), &[("voice", &names)])).unwrap();
        while mirror.conversation.stage().ended().is_none() {
            for ask in mirror.begin() {
                let slot = number(ask.id.agent.as_str());
                let target = if target(slot) > slots { if slot == 1 { 2 } else { 1 } } else { target(slot) };
                let reply = match ask.request.shape {
                    Some(_) => json!({"about": format!("slot-{target}"), "comment": words(&ask)}).to_string(),
                    None => words(&ask),
                };
                if ask.id.turn == 3 {
                    shown.push((slot, ask.request.prompt.to_string()));
                }
                mirror.answer(&ask, &reply);
            }
        }
        assert_eq!(heard(&built_in), heard(&mirror), "{slots} slots");
        // The same three comments are passed on where there are more.
        for record in &built_in.records {
            let Some(chorus::Decision::Routed { target, forwarded, dropped }) = record.event.decided() else {
                continue;
            };
            let (_, prompt) = shown.iter().find(|(slot, _)| *slot == target.number()).unwrap();
            let is_shown = |from: &chorus::SlotId| prompt.contains(&format!("Words 2 of slot-{}.", from.number()));
            assert!(forwarded.iter().all(is_shown) && !dropped.iter().any(is_shown), "{slots}: {target:?}: {prompt}");
        }
    }
}

const DISCUSSION: &str = include_str!("mirrors/discussion.yaml");

#[test]
fn a_discussion_is_a_score_too() {
    let people_speak = |mut play: Play| {
        while play.conversation.stage().ended().is_none() {
            let asks = play.begin();
            for ask in &asks {
                play.answer(ask, &format!("Words of {}.", ask.id.agent));
            }
            if asks.is_empty() && play.conversation.stage().ended().is_none() {
                play.give(said("ada", "And mine.")).unwrap();
            }
        }
        let lines = play.conversation.stage().transcript().lines().iter();
        // The score begins with a message, and a discussion with its title.
        let lines = lines.filter(|line| !matches!(line.speaker, Speaker::Router) && &*line.text != "What is a home?");
        lines.map(|line| format!("{}: {}", line.speaker, line.text)).collect::<Vec<_>>()
    };
    let seats = ["manager=ann", "user=ada", "specialist=ben", "specialist=cem"];
    let built_in = people_speak(Play::start(built_in_discussion(&seats, 3)).unwrap());
    let score = score(DISCUSSION);
    let places: [(&str, &[&str]); 3] = [("manager", &["ann"]), ("guest", &["ada"]), ("specialist", &["ben", "cem"])];
    let mirror = people_speak(Play::start(setup(score, &places)).unwrap());
    assert_eq!(built_in.len(), 12);
    assert_eq!(built_in, mirror);
}
