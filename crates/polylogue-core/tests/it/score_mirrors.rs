//! The chorus and the discussion written as scores: the same lines, targets and order as the built-in ones, on the same
//! replies and seeds.

use polylogue_core::{ask::Ask, format::chorus, line::Speaker};
use serde_json::json;

use crate::{
    score::{score, setup},
    support::{Play, chorus as built_in_chorus, discussion as built_in_discussion, said},
};

const CHORUS: &str = r#"
score: chorus-mirror
roles:
  voice: { seats: 1..6 }
phases:
  - respond:
      who: voice
      sees: message
      prompt: Answer the visitor.
  - comment:
      who: { role: voice, if: "{{ respond | by(me) }}" }
      sees: respond
      reply:
        about: { one_of: respond }
        comment: text
      line: "{{ reply.comment }}"
      to: about
      prompt: Say to one of them what a friend would say.
  - answer:
      who: { role: voice, if: "{{ comment | selectattr('to', 'eq', me.name) }}" }
      sees:
        phase: comment
        where: "{{ line.to == me.name }}"
        at_most: 3
        drawn: true
      prompt: Answer what was said to you.
"#;

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
            let (_, prompt) = shown.iter().find(|(slot, _)| *slot.to_string() == target.to_string()).unwrap();
            let is_shown = |from: &chorus::SlotId| prompt.contains(&format!("Words 2 of slot-{from}."));
            assert!(forwarded.iter().all(is_shown) && !dropped.iter().any(is_shown), "{slots}: {target:?}: {prompt}");
        }
    }
}

const DISCUSSION: &str = r#"
score: discussion-mirror
roles:
  manager: { seats: 1 }
  user: { seats: 1, person: true }
  specialist: { seats: 1..4 }
settings: { rounds: 3 }
phases:
  - repeat:
      at_most: "{{ rounds }}"
      phases:
        - speak:
            who: [manager, guest, specialist]
            order: one_by_one
            prompt: Round {{ round }}. It is your turn, {{ me.name }}.
"#;

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
    let score = score(&DISCUSSION.replace("  user: {", "  guest: {"));
    let places: [(&str, &[&str]); 3] = [("manager", &["ann"]), ("guest", &["ada"]), ("specialist", &["ben", "cem"])];
    let mirror = people_speak(Play::start(setup(score, &places)).unwrap());
    assert_eq!(built_in.len(), 12);
    assert_eq!(built_in, mirror);
}
