//! Which lines are still being said: an audience sees no more of them than is heard in any case, and never a word that
//! is cut off later.

use polylogue_core::{
    Conversation, Event, Halt, Input, Record, Setup,
    event::{CallFailure, FailureKind},
    format::scene::{Decision, Floor, MODERATOR, Watcher, being_said},
    id::{LineId, Seq},
    ledger::Usage,
    setup::Change,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    scene::{judged, play, scene, settings},
    scene_person::with_people,
    support::{Play, said},
};

const NAMES: [&str; 3] = ["alice", "bob", "charlie"];
const NOW: Seq = Seq(u64::MAX);

const LOOK: (&str, &str) = ("bob", "[TONE: calm] \"Look, I can explain it all.\"");
const ENOUGH: (&str, &str) = ("alice", "[INTERRUPT after \"i CAN\", TONE: cold] \"Enough of that, Bob.\"");
const SILENT: &str = "[SILENT]";
/// What stands for a reply where there is none.
const FAILS: &str = "it cannot be reached";
const ENDS: (&str, &str) = (MODERATOR, r#"{"progress": 0.9, "goalReached": false, "naturalEnd": true}"#);

/// A scene, and in each of its beats who answers what, one after the other. It is stopped after the last.
struct Case {
    name: &'static str,
    setup: Setup,
    beats: &'static [&'static [(&'static str, &'static str)]],
    audience: &'static [&'static str],
}

fn bob_begins(max_beats: u32) -> Setup {
    let mut setup = scene(&NAMES, max_beats);
    settings(&mut setup).initial_speaker = Some("bob".parse().unwrap());
    setup
}

fn cases() -> Vec<Case> {
    let bids = |mut setup: Setup| {
        settings(&mut setup).floor = Floor::Bids;
        setup
    };
    vec![
        Case {
            name: "the last of the next beat cuts it",
            setup: bob_begins(9),
            beats: &[&[LOOK], &[("bob", SILENT), ("charlie", SILENT), ENOUGH]],
            audience: &[
                "bob: Look …",
                "beat 1",
                "alice: Enough …",
                "bob: Look, I can—",
                "beat 2",
                "stopped",
                "alice: Enough of that, Bob.",
            ],
        },
        Case {
            name: "the first of the next beat cuts it",
            setup: bob_begins(9),
            beats: &[
                &[LOOK],
                &[ENOUGH, ("charlie", SILENT), ("bob", "[TONE: low] \"Let me finish.\"")],
                &[("alice", SILENT), ("bob", SILENT), ("charlie", SILENT)],
            ],
            audience: &[
                "bob: Look …",
                "beat 1",
                "alice: Enough …",
                "bob: Look, I can—",
                "bob: Let …",
                "beat 2",
                "alice: Enough of that, Bob.",
                "bob: Let me finish.",
                "beat 3",
                "stopped",
            ],
        },
        Case {
            name: "nobody comes in",
            setup: bob_begins(9),
            beats: &[&[LOOK], &[("alice", SILENT), ("charlie", "[TONE: calm] \"And then what?\""), ("bob", SILENT)]],
            audience: &[
                "bob: Look …",
                "beat 1",
                // Bob alone is left, and does not interrupt himself.
                "bob: Look, I can explain it all.",
                "charlie: And …",
                "beat 2",
                "stopped",
                "charlie: And then what?",
            ],
        },
        Case {
            name: "an interruption that finds nothing to cut",
            setup: bob_begins(9),
            beats: &[
                &[LOOK],
                &[
                    ("bob", SILENT),
                    ("charlie", SILENT),
                    ("alice", "[INTERRUPT after \"never said\", TONE: cold] \"Enough of that, Bob.\""),
                ],
            ],
            audience: &[
                "bob: Look …",
                "beat 1",
                "alice: Enough …",
                "bob: Look, I can explain it all.",
                "beat 2",
                "stopped",
                "alice: Enough of that, Bob.",
            ],
        },
        Case {
            name: "what cannot be cut off is never open",
            setup: bob_begins(9),
            beats: &[
                &[("bob", "[TONE: calm] \"No…\"")],
                &[
                    ("alice", "[REACT, *drops the mug*]"),
                    ("charlie", "[TONE: calm] \"\u{201c}Well\u{201d}.\""),
                    ("bob", SILENT),
                ],
            ],
            audience: &[
                "bob: No…",
                "beat 1",
                "alice: drops the mug",
                "charlie: \u{201c}Well\u{201d}.",
                "beat 2",
                "stopped",
            ],
        },
        Case {
            name: "in the last beat only those who have not answered can come in",
            setup: scene(&NAMES[..2], 1),
            beats: &[&[LOOK, ("alice", SILENT)]],
            audience: &["bob: Look …", "bob: Look, I can explain it all.", "stopped"],
        },
        Case {
            name: "who fails comes into nothing",
            setup: scene(&NAMES[..2], 1),
            beats: &[&[LOOK, ("alice", FAILS)]],
            audience: &[
                "bob: Look …",
                "bob: Look, I can explain it all.",
                "moderator: Alice unable to respond",
                "stopped",
            ],
        },
        Case {
            name: "the scene comes to its end",
            setup: scene(&NAMES[..2], 9),
            beats: &[&[LOOK, ("alice", SILENT), ENDS]],
            audience: &["bob: Look …", "bob: Look, I can explain it all.", "stopped"],
        },
        Case {
            name: "the floor is bid for",
            setup: bids(bob_begins(9)),
            beats: &[
                &[("bob", "7 [TONE: calm] \"Look, I can explain it all.\"")],
                &[
                    ("bob", "1 [SILENT]"),
                    ("alice", "9! [INTERRUPT after \"I can\", TONE: cold] \"Enough of that, Bob.\""),
                    ("charlie", "2 [TONE: calm] \"And then what?\""),
                ],
            ],
            audience: &[
                "bob: Look …",
                "beat 1",
                "alice: Enough …",
                "bob: Look, I can—",
                "beat 2",
                "stopped",
                "alice: Enough of that, Bob.",
            ],
        },
        Case {
            name: "in scripts and signs of all kinds",
            setup: bob_begins(9),
            beats: &[
                &[("bob", "[TONE: calm] \"我想说明一下，请听我说。\"")],
                &[
                    ("alice", "[INTERRUPT after \"说明\", TONE: cold] \"\u{201c}मैं\u{201d} समझा सकता हूँ।\""),
                    ("bob", "[INTERRUPT after \"dont\", TONE: cold] \"No.\""),
                    ("charlie", "[TONE: calm] \"\u{2014}Cafe\u{301}, s'il vous plaît.\""),
                ],
                &[
                    ("bob", "[INTERRUPT after \"मैं, समझा!\", TONE: cold] \"I don't\u{2014}don\u{2019}t know.\""),
                    ("alice", "[INTERRUPT after \"CAFE\u{301} sil\", TONE: cold] \"Das weiß ich.\""),
                    ("charlie", "[INTERRUPT after \"dont dont\", TONE: cold] \"Nein.\""),
                ],
            ],
            audience: &[
                "bob: 我 …",
                "beat 1",
                "alice: \u{201c}मैं …",
                "bob: 我想说明—",
                "bob: No.",
                "charlie: \u{2014}Cafe\u{301} …",
                "beat 2",
                "bob: I …",
                "alice: \u{201c}मैं\u{201d} समझा—",
                "alice: Das …",
                "charlie: \u{2014}Cafe\u{301}, s'il—",
                "charlie: Nein.",
                "bob: I don't\u{2014}don\u{2019}t—",
                "beat 3",
                "stopped",
                "alice: Das weiß ich.",
            ],
        },
        Case {
            name: "a person plays bob",
            setup: with_people(&NAMES[..2], &["bob"], 9),
            beats: &[
                &[("alice", "[TONE: calm] \"You are late again.\""), ("you", "Look, I can explain it all.")],
                &[ENOUGH, ("you", "[INTERRUPT after \"Enough\"] \"Let me finish.\"")],
            ],
            audience: &[
                "alice: You …",
                "bob: Look …",
                "beat 1",
                "alice: Enough …",
                "bob: Look, I can—",
                "bob: Let …",
                "alice: You are late again.",
                "alice: Enough—",
                "beat 2",
                "stopped",
                "bob: Let me finish.",
            ],
        },
    ]
}

fn perform(case: &Case) -> Play {
    let mut play = Play::start(case.setup.clone()).unwrap();
    for beat in case.beats {
        let mut asks = play.begin();
        for (who, reply) in *beat {
            if *who == "you" {
                play.give(said("you", reply)).unwrap();
                continue;
            }
            if *who == MODERATOR {
                asks = play.begin();
            }
            let ask = asks.iter().find(|ask| ask.id.agent.as_str() == *who).unwrap().clone();
            if *reply == FAILS {
                let failure = CallFailure { kind: FailureKind::Timeout, message: "no sign of life".to_owned() };
                let input = Input::AskFailed { ask: ask.id, failure, usage: Usage::default(), retries: 0 };
                play.give(input).unwrap();
            } else {
                play.answer(&ask, reply);
            }
        }
        if beat.last().is_some_and(|(who, _)| *who != MODERATOR) {
            let judge = play.begin().remove(0);
            play.answer(&judge, &judged(0.1, ""));
        }
    }
    match play.conversation.stage().ended() {
        Some(_) => {}
        None => play.give(Input::Halted { why: Halt::StopPressed, cut: Vec::new() }).unwrap(),
    }
    play
}

/// After each record, the lines that are still being said.
fn open(records: &[Record], watcher: Watcher) -> Vec<(Conversation, Vec<LineId>)> {
    let mut conversation = Conversation::replay(&records[..1]).unwrap();
    let mut after = Vec::new();
    for record in records {
        if record.seq > conversation.stage().head() {
            conversation.apply(record);
        }
        after.push((conversation.clone(), being_said(&conversation, watcher)));
    }
    after
}

/// What is seen, as it is seen: lines as they begin, and as they are settled.
fn seen(records: &[Record], watcher: Watcher) -> Vec<String> {
    let (mut seen, mut before, mut known) = (Vec::new(), Vec::new(), 0);
    for (record, (conversation, now)) in records.iter().zip(open(records, watcher)) {
        match (&record.event, record.event.decided()) {
            (_, Some(Decision::BeatBegun { beat, .. })) => seen.push(format!("beat {beat}")),
            (Event::Ended { .. }, _) => seen.push("stopped".to_owned()),
            _ => {}
        }
        let lines = conversation.stage().transcript().lines();
        for line in lines {
            let is_new = line.id.0 as usize > known;
            match (is_new || before.contains(&line.id), now.contains(&line.id)) {
                (true, true) if is_new => seen.push(format!("{}: {}", line.speaker, line.beginning())),
                (true, false) => seen.push(format!("{}: {}", line.speaker, line.heard(NOW))),
                (false, true) => panic!("{} was settled", line.text),
                (true, true) | (false, false) => {}
            }
        }
        (before, known) = (now, lines.len());
    }
    seen
}

#[test]
fn a_line_is_settled_when_nobody_can_come_into_it_any_more() {
    for case in cases() {
        assert_eq!(seen(&perform(&case).records, Watcher::Audience), case.audience, "{}", case.name);
    }
}

#[test]
fn who_plays_sees_whole_lines_when_it_is_their_turn_and_their_own_always() {
    let cases = cases();
    let case = cases.iter().find(|case| case.name == "a person plays bob").unwrap();
    assert_eq!(
        seen(&perform(case).records, Watcher::Player),
        [
            "alice: You are late again.",
            "bob: Look, I can explain it all.",
            "beat 1",
            "alice: Enough of that, Bob.",
            "bob: Let me finish.",
            "beat 2",
            "stopped",
        ]
    );
    let mut first = bob_begins(9);
    first.cast = with_people(&NAMES, &["charlie"], 9).cast;
    let alone = Case { name: "bob alone", setup: first, beats: &[&[LOOK]], audience: &[] };
    let seen = seen(&perform(&alone).records, Watcher::Player);
    assert_eq!(seen[..3], ["bob: Look …", "beat 1", "bob: Look, I can explain it all."].map(str::to_owned), "{seen:?}");
}

#[test]
fn what_was_settled_by_a_stop_stays_so_when_the_scene_goes_on() {
    let case = Case { name: "stopped", setup: bob_begins(9), beats: &[&[LOOK]], audience: &[] };
    let mut play = perform(&case);
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    assert_eq!(being_said(&play.conversation, Watcher::Audience), []);
    let asks = play.begin();
    let alice = asks.iter().find(|ask| ask.id.agent.as_str() == "alice").unwrap();
    play.answer(alice, ENOUGH.1);
    // It can be cut all the same, and what is said from now on is open.
    let lines = play.conversation.stage().transcript().lines();
    assert_eq!(&*lines[0].heard(NOW), "Look, I can—");
    assert_eq!(being_said(&play.conversation, Watcher::Audience), [lines[1].id]);
    // Who takes it over from a process that is gone has not seen the end of anything.
    let killed = Play::replay(&perform(&case).records[..4]);
    assert_eq!(being_said(&killed.conversation, Watcher::Audience).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is said: what an audience was shown of a line is never taken back.
    #[test]
    fn nothing_that_was_shown_is_cut_off(
        bids in any::<bool>(),
        begins in any::<bool>(),
        chances in proptest::collection::vec(any::<u8>(), 24),
    ) {
        let mut setup = if begins { bob_begins(8) } else { scene(&NAMES, 8) };
        settings(&mut setup).floor = if bids { Floor::Bids } else { Floor::Open };
        let played = play(setup, |ask| {
            let at = NAMES.iter().position(|name| *name == ask.id.agent.as_str());
            let Some(at) = at else { return Some(judged(0.2, "")) };
            let (own, beat) = (NAMES[at], ask.id.turn);
            let chance = chances[(beat as usize * NAMES.len() + at) % chances.len()];
            let bid = if bids { format!("{} ", chance % 10) } else { String::new() };
            Some(match chance % 5 {
                0 | 1 => format!("{bid}[TONE: calm] \"In beat {beat} it was {own} who had this to say.\""),
                2 => format!("{bid}[INTERRUPT after \"In beat {}\"] \"Not so, says {own} {beat}.\"", beat.saturating_sub(1)),
                3 => format!("{bid}[INTERRUPT after \"In beat {beat}\"] \"Not so, says {own} {beat}.\""),
                _ => SILENT.to_owned(),
            })
        });
        let mut before: Vec<LineId> = Vec::new();
        for (record, (conversation, now)) in played.records.iter().zip(open(&played.records, Watcher::Audience)) {
            if let Event::LineCut { line, .. } = &record.event {
                prop_assert!(before.contains(line), "{line:?} was settled before it was cut");
            }
            let said = conversation.stage().transcript().lines().last().filter(|line| line.seq == record.seq);
            prop_assert!(now.iter().all(|line| before.contains(line) || said.is_some_and(|said| said.id == *line)));
            before = now;
        }
        prop_assert_eq!(before, []);
    }
}

/// The page has the same rule in its own words. Its tests read what the core says of these scenes here, and hold the page
/// to it.
#[test]
fn the_page_is_held_to_the_same() {
    let scenes: Vec<String> = cases()
        .iter()
        .map(|case| {
            let mut play = perform(case);
            // One that was stopped goes on.
            if play.give(Input::ResumePressed { change: Change::default() }).is_ok() {
                play.begin();
            }
            let ids = |watcher: Watcher| -> Vec<Vec<u32>> {
                let open = open(&play.records, watcher).into_iter();
                open.map(|(_, lines)| lines.iter().map(|line| line.0).collect()).collect()
            };
            let lines = play.conversation.stage().transcript().lines().iter();
            let lines: Vec<Value> =
                lines.map(|line| json!({"heard": line.heard(NOW), "beginning": line.beginning()})).collect();
            json!({
                "name": case.name,
                "journal": play.records,
                "audience": ids(Watcher::Audience),
                "player": ids(Watcher::Player),
                "lines": lines,
            })
            .to_string()
        })
        .collect();
    insta::assert_snapshot!("said", format!("[\n{}\n]", scenes.join(",\n")));
}
