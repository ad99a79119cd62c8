//! What a listener is told of a reply while it arrives, in every format.

use polylogue_core::{
    Setup,
    ask::Ask,
    format::{interview, scene::purpose},
    id::{LineId, SessionId},
    projection::request_behind,
    setup::{Cast, FormatSetup},
};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    scene::{scene, talkative},
    support::{Play, agent, chorus, collaboration, discussion, spoken},
};

/// How a format has these words said.
type Written = fn(&str) -> String;

/// A session whose first ask is open, for each way of writing a reply.
fn sessions() -> Vec<(&'static str, Play, Written)> {
    let mut second_turn = Play::start(chorus(2)).unwrap();
    for ask in second_turn.begin() {
        second_turn.answer(&ask, &spoken("A home is a place to come back to."));
    }
    let played = Play::start(scene(&["alice", "bob"], 3)).unwrap().run(|ask| talkative(ask).unwrap());
    let insight = request_behind(&played.records, LineId(2)).unwrap();
    let line = played.conversation.stage().transcript().get(LineId(2)).unwrap();
    let of = played.conversation.stage().setup();
    let asked = Setup {
        id: SessionId::from_bytes([0x44; 16]),
        format: FormatSetup::new(interview::Settings::about(of.id, line, &insight, "Why?")),
        cast: Cast::new(vec![agent(insight.ask.id.agent.as_str())], vec!["you".parse().unwrap()]).unwrap(),
        ..of.clone()
    };
    let start = |setup| Play::start(setup).unwrap();
    vec![
        ("chorus", start(chorus(2)), |words| json!({"text": words, "voice_profile": "playful"}).to_string()),
        ("chorus, fenced", start(chorus(2)), |words| {
            format!("Here it is:\n```json\n{}\n```", json!({"voice_profile": "playful", "text": words}))
        }),
        ("comment", second_turn, |words| {
            json!({"targetSlotId": 2, "comment": words, "voice_profile": "playful"}).to_string()
        }),
        ("collaboration", start(collaboration(&["ann", "ben"], 3)), |words| {
            json!({"message": words, "handoff": {"to": "ben", "task": "Go on."}}).to_string()
        }),
        ("collaboration, handing over first", start(collaboration(&["ann", "ben"], 3)), |words| {
            json!({"handoff": {"to": "ben", "task": "Go on."}, "message": words}).to_string()
        }),
        ("scene", start(scene(&["alice", "bob"], 3)), |words| {
            let words = words.replace('\\', "\\\\").replace('"', "\\\"");
            format!("[TO: bob, TONE: calm, *looks up*] \"{words}\"")
        }),
        ("scene, interrupting", start(scene(&["alice", "bob"], 3)), |words| {
            let words = words.replace('\\', "\\\\").replace('"', "\\\"");
            format!("[INTERRUPT after \"so it\", TONE: sharp] \"{words}\"")
        }),
        ("discussion", start(discussion(&["leader=ann", "specialist=ben"], 2)), str::to_owned),
        ("discussion, named", start(discussion(&["leader=ann", "specialist=ben"], 2)), |words| {
            format!("ann (leader): {words}\nben: And I say no.")
        }),
        ("interview", start(asked), str::to_owned),
    ]
}

/// Every beginning of a text.
fn beginnings(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, _)| &text[..at]).chain([text])
}

fn first(play: &mut Play) -> Ask {
    play.begin().into_iter().next().unwrap()
}

/// Words as people speak them, with what has to be escaped.
fn words() -> impl Strategy<Value = String> {
    "([A-Za-z][a-z]{0,8}( |, |\\. |! |é|😀| \"| \\\\| ann|\n)){1,8}[a-z]{1,4}[.!?]".prop_map(|words| {
        // A quote that nothing closes is nobody's words.
        if words.matches('"').count() % 2 == 0 { words } else { words.replace('"', "") }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_beginning_of_a_reply_tells_a_beginning_of_its_line(words in words()) {
        for (name, mut play, write) in sessions() {
            let ask = first(&mut play);
            let reply = write(&words);
            let hearing = play.conversation.hearing(&ask.id).unwrap();
            let told: Vec<String> = beginnings(&reply).map(|partial| hearing.words(partial)).collect();
            play.answer(&ask, &reply);
            let lines = play.conversation.stage().transcript().lines();
            let line = lines.iter().find(|line| line.ask.as_ref() == Some(&ask.id)).unwrap().text.to_string();
            for (before, after) in told.iter().zip(&told[1..]) {
                prop_assert!(after.starts_with(before.trim_end()), "{}: {:?} then {:?}", name, before, after);
            }
            for words in &told {
                prop_assert!(line.starts_with(words.trim_end()), "{}: {:?} of {:?}", name, words, line);
            }
            prop_assert_eq!(told.last().unwrap().trim(), line.trim(), "{} of {:?}", name, reply);
        }
    }

    #[test]
    fn whatever_arrives_is_read_without_a_panic(text in any::<String>(), form in "([\\[\\]\"{}:,*\\\\u <>/]|think|TO|message|text|ann){0,40}") {
        for (_, mut play, write) in sessions() {
            let ask = first(&mut play);
            let hearing = play.conversation.hearing(&ask.id).unwrap();
            for text in [&text, &form, &write(&form)] {
                beginnings(text).for_each(|partial| drop(hearing.words(partial)));
            }
        }
    }
}

#[test]
fn what_nobody_hears_is_not_told() {
    let mut play = Play::start(scene(&["alice", "bob"], 3)).unwrap();
    let mut asked = Vec::new();
    while play.conversation.stage().ended().is_none() {
        for ask in play.begin() {
            asked.push((ask.id.purpose, play.conversation.hearing(&ask.id).is_some()));
            play.answer(&ask, &talkative(&ask).unwrap());
        }
    }
    assert!(asked.contains(&(purpose::ACT, true)) && asked.contains(&(purpose::JUDGE, false)));
    assert!(asked.iter().all(|(purpose, is_heard)| *is_heard == (*purpose == purpose::ACT)));
}

#[test]
fn a_silent_act_tells_no_words() {
    let mut play = Play::start(scene(&["alice", "bob"], 3)).unwrap();
    let ask = first(&mut play);
    let hearing = play.conversation.hearing(&ask.id).unwrap();
    for reply in ["[SILENT, *looks \"away\"*]", "[REACT, TONE: sad, *nods*]", "I would rather not.", "{\"text\": \"No"]
    {
        assert!(beginnings(reply).all(|partial| hearing.words(partial).is_empty()), "{reply}");
    }
}
