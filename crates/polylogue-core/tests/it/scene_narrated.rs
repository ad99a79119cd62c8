//! A narrator: heard beside the scene, and nowhere in it.

use polylogue_core::{
    Conversation, Input, Rejected, Setup, Step,
    ask::Ask,
    format::scene::{Scheduled, WorldEvents, purpose},
    id::Seq,
    line::Clip,
    projection::{audible, plain_text, timeline, vtt},
};

use crate::{
    scene::{judged, scene, settings},
    support::Play,
};

fn setup(narrator: Option<&str>) -> Setup {
    let mut setup = Setup { speech: true, ..scene(&["alice", "bob", "carol"], 4) };
    let scene = settings(&mut setup);
    scene.narrator = narrator.map(Into::into);
    scene.events = WorldEvents::At(vec![
        Scheduled { beat: 0, text: "It rains".into() },
        Scheduled { beat: 3, text: "The phone rings.".into() },
    ]);
    setup
}

fn reply(ask: &Ask) -> String {
    let line = match (ask.id.purpose, ask.id.turn, ask.id.agent.as_str()) {
        (purpose::JUDGE, ..) => return judged(0.1, ""),
        (_, 0, "alice") => "[TO: Bob, TONE: stern, *closes the door*] \"Well?\"",
        (_, 0, "bob") => "[TO: Alice, TONE: nervous] \"Look, I can explain what happened with them last week.\"",
        (_, 1, "alice") => {
            return "[INTERRUPT after \"I can explain\", TONE: furious, *hits the table*] \"No excuses!\"".to_owned();
        }
        (_, 1, "carol") => "[TONE: quiet] \"Please.\"",
        (_, 3, "bob") => "[REACT, *reaches for the phone*]",
        (_, 3, "alice") => "[SILENT, *nods*]",
        _ => "[SILENT]",
    };
    line.to_owned()
}

/// Plays to the end; every clip is a second long.
fn played(setup: Setup) -> Play {
    let mut play = Play::start(setup).unwrap();
    while play.conversation.stage().ended().is_none() {
        // Carol answers before Alice comes in.
        let mut asks = play.begin();
        asks.sort_by_key(|ask| std::cmp::Reverse(ask.id.agent.to_string()));
        for ask in asks {
            play.wait_ms(1_000);
            play.answer(&ask, &reply(&ask));
        }
        let clip = |path: String| Clip { path, duration_ms: 1_000, ..Clip::default() };
        for step in play.conversation.next() {
            match step {
                Step::Speak(line) => play.give(Input::ClipMade { line, clip: clip(format!("{line}.wav")) }).unwrap(),
                Step::Narrate(of) => play.give(Input::Narrated { of, clip: clip(format!("n{of}.wav")) }).unwrap(),
                Step::Ask(_) | Step::AwaitHuman(_) | Step::End(_) => {}
            }
        }
    }
    play
}

#[test]
fn a_narrator_is_heard_and_changes_nothing() {
    let (with, without) = (played(setup(Some("deep_grave"))), played(setup(None)));
    assert_eq!(plain_text(&with.conversation), plain_text(&without.conversation));
    assert_eq!(with.lines(), without.lines());
    let digests = |play: &Play| -> Vec<String> {
        let asked = play.records.iter().filter_map(|record| match &record.event {
            polylogue_core::Event::Asked { ask, digest, .. } => Some(format!("{ask} {digest:?}")),
            _ => None,
        });
        asked.collect()
    };
    assert_eq!(digests(&with), digests(&without));
    assert!(without.conversation.stage().narrations().is_empty());

    let told: Vec<String> = timeline(&audible(&with.conversation))
        .iter()
        .map(|placed| format!("{:>5}-{:<5} {}: {}", placed.start_ms, placed.end_ms, placed.name, placed.words))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    assert!(vtt(&timeline(&audible(&with.conversation))).contains("<v Narrator>Alice closes the door."));
    // What is recorded says all of it.
    assert_eq!(Conversation::replay(&with.records).unwrap(), with.conversation);
}

#[test]
fn what_nobody_wants_narrated_is_refused_and_a_silent_session_wants_nothing() {
    let mut play = Play::start(setup(Some("deep_grave"))).unwrap();
    assert!(play.conversation.next().contains(&Step::Narrate(Seq(1))));
    let not = play.give(Input::NotNarrated { of: Seq(9), error: String::new() });
    assert_eq!(not, Err(Rejected::NotToNarrate(Seq(9))));
    play.give(Input::NotNarrated { of: Seq(1), error: "hoarse".to_owned() }).unwrap();
    assert!(!play.conversation.next().contains(&Step::Narrate(Seq(1))));
    let silent = Play::start(Setup { speech: false, ..setup(Some("deep_grave")) }).unwrap();
    assert!(silent.conversation.stage().narrations().is_empty());
}
