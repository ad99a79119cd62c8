//! A floor that is bid for: who speaks in a beat, and that nobody starves.

use std::collections::BTreeMap;

use polylogue_core::{
    Cut, Event, Halt, Input, Setup,
    ask::Ask,
    format::scene::{Decision, Floor, WorldEvents, purpose},
    setup::Change,
};

use crate::{
    scene::{asked, decisions, judged, play, scene, settings, talkative},
    support::Play,
};

const CAST: [&str; 5] = ["alice", "bob", "charlie", "daria", "emil"];

fn bidding(names: &[&str], beats: u32) -> Setup {
    let mut setup = scene(names, beats);
    settings(&mut setup).floor = Floor::Bids;
    settings(&mut setup).events = WorldEvents::Off;
    setup
}

/// Always wants to speak, this much.
fn wants(ask: &Ask, bid: &str) -> String {
    match ask.id.purpose {
        purpose::ACT => format!("{bid} {}", talkative(ask).unwrap()),
        _ => judged(0.1, ""),
    }
}

/// Who spoke in each beat.
fn spoke(play: &Play) -> Vec<Vec<String>> {
    let mut beats: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in play.conversation.stage().transcript().lines() {
        if let Some(ask) = &line.ask {
            beats.entry(ask.turn).or_default().push(ask.agent.to_string());
        }
    }
    beats.into_values().collect()
}

#[test]
fn five_who_always_want_to_speak_say_two_lines_a_beat_and_nobody_starves() {
    // How much each wants: all the same, one who hardly dares, those who never say how much.
    type Bids = fn(&Ask) -> &'static str;
    let cases: [(&str, Bids, usize); 3] = [
        ("all the most", |_| "9", 3),
        ("one hardly", |ask| if ask.id.agent.as_str() == "emil" { "1" } else { "9!" }, 6),
        ("nobody says", |_| "", 3),
    ];
    for (name, bid, longest_wait) in cases {
        let played = play(bidding(&CAST, 30), |ask| Some(wants(ask, bid(ask))));
        let beats = spoke(&played);
        let lines: usize = beats.iter().map(Vec::len).sum();
        assert_eq!(beats.len(), 30, "{name}");
        assert!(lines <= 2 * beats.len(), "{name}: {lines} lines in {} beats", beats.len());
        for who in CAST {
            let spoken = beats.iter().map(|beat| beat.iter().any(|one| one == who));
            let spoken: Vec<bool> = spoken.collect();
            let longest = spoken.split(|spoke| *spoke).map(<[bool]>::len).max().unwrap();
            assert!(longest < longest_wait, "{name}: {who} was silent for {longest} beats");
        }
        // One call for each in each beat, as with an open floor.
        assert_eq!(asked(&played).len(), 30 * 6, "{name}");
    }
}

#[test]
fn those_who_want_it_most_speak_and_of_equals_the_first() {
    for (names, bids, who) in [
        (&CAST[..2], &["3", "8"][..], &["bob"][..]),
        (&CAST[..2], &["5", "5"], &["alice"]),
        (&CAST[..3], &["2", "5", "5!"], &["charlie"]),
        (&CAST[..5], &["9", "1", "9", "9", "2"], &["alice", "charlie"]),
        (&CAST[..5], &["1", "1", "1", "1", "7"], &["alice", "emil"]),
    ] {
        let played = play(bidding(names, 1), |ask| {
            let at = names.iter().position(|name| *name == ask.id.agent.as_str()).unwrap_or_default();
            Some(wants(ask, bids[at]))
        });
        assert_eq!(spoke(&played), [who], "{bids:?}");
        let granted = decisions(&played).filter_map(|decision| match decision {
            Decision::FloorGranted { to, .. } => Some(to.len()),
            _ => None,
        });
        assert_eq!(granted.collect::<Vec<_>>(), [who.len()]);
        let waited = decisions(&played).filter(|decision| matches!(decision, Decision::Waited { .. })).count();
        assert_eq!(waited, names.len() - who.len(), "{bids:?}");
    }
}

#[test]
fn what_is_done_without_a_word_needs_no_floor_and_whoever_cuts_in_is_heard_first() {
    let played = play(bidding(&CAST, 2), |ask| {
        Some(match (ask.id.purpose, ask.id.turn, ask.id.agent.as_str()) {
            (purpose::ACT, 0, "alice") => "7 [TO: Bob, TONE: calm] \"I was there when it all began.\"".to_owned(),
            (purpose::ACT, 1, "bob") => "6 [TONE: calm] \"Go on.\"".to_owned(),
            (purpose::ACT, 1, "daria") => {
                "6! [INTERRUPT after \"I was there\", TONE: angry] \"You were not.\"".to_owned()
            }
            (purpose::ACT, 1, "emil") => "0 [REACT, TONE: shocked, *gasps*]".to_owned(),
            (purpose::ACT, _, _) => "0 [SILENT, *waits*]".to_owned(),
            _ => judged(0.1, ""),
        })
    });
    let said: Vec<String> = played.lines().iter().map(|line| line.chars().take(12).collect()).collect();
    assert_eq!(said, ["alice: I was", "emil: gasps", "daria: You w", "bob: Go on."]);
    let cut = played.conversation.stage().transcript().lines()[0].cut_by.clone();
    assert_eq!(cut.map(|by| by.to_string()).as_deref(), Some("daria"));
}

#[test]
fn who_had_to_wait_has_said_nothing_and_is_told_all_of_it_again() {
    let mut play = Play::start(bidding(&["alice", "bob"], 4)).unwrap();
    let first = play.begin();
    for ask in &first {
        let text = wants(ask, if ask.id.agent.as_str() == "bob" { "9" } else { "2" });
        play.answer(ask, &text);
    }
    let judge = play.begin().remove(0);
    assert!(judge.request.prompt.contains("Wanted to speak and had to wait: Alice"), "{}", &*judge.request.prompt);
    play.answer(&judge, &judged(0.1, ""));
    let second = play.begin();
    let messages = |name: &str| {
        let ask = second.iter().find(|ask| ask.id.agent.as_str() == name).unwrap();
        ask.request.thread.messages().len()
    };
    assert_eq!((messages("alice"), messages("bob")), (0, 2), "what was not said is in no thread");
}

#[test]
fn a_floor_that_was_bid_for_is_granted_as_it_was_wherever_the_process_ends() {
    let reply = |ask: &Ask| wants(ask, if ask.id.agent.as_str() < "c" { "4" } else { "6" });
    let whole = play(bidding(&CAST, 4), |ask| Some(reply(ask)));
    for at in 1..whole.records.len() - 1 {
        if whole.records[at].event.is_consequence() {
            continue;
        }
        for stops in [false, true] {
            let mut killed = Play::replay(&whole.records[..at]);
            if stops {
                let open = killed.begin();
                let cut =
                    open.into_iter().map(|ask| Cut { ask: ask.id, partial: "7 [TO".into(), usage: None }).collect();
                killed.give(Input::Halted { why: Halt::StopPressed, cut }).unwrap();
            }
            killed.give(Input::ResumePressed { change: Change::default() }).unwrap();
            let killed = killed.run(reply);
            assert_eq!(spoke(&killed), spoke(&whole), "ended after {at}");
        }
    }
    for record in &whole.records {
        assert_eq!(Event::decode(&record.event.encode()).as_ref(), Ok(&record.event));
    }
}
