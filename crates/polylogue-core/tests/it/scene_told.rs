//! Who is told what: nobody knows what was never said, nor what is another's.

use std::sync::Arc;

use polylogue_core::{
    Event, Record, Setup,
    ask::Ask,
    format::scene::{AgentMode, Edition, Floor, MODERATOR, TranscriptForm, purpose, read_transcript},
    id::Seq,
    line::Line,
    projection::{plain_text, request_at},
};
use proptest::prelude::*;

use crate::{
    scene::{judged, play, scene, settings},
    support::Play,
};

const NAMES: [&str; 3] = ["alice", "bob", "charlie"];
const GOAL: &str = "Bob admits that he sold the boat";

/// A scene with a goal that nobody knows, a brief for Bob, and a persona for each.
fn secretive(mode: AgentMode, floor: Floor) -> Setup {
    let mut setup = scene(&NAMES, 8);
    let agents = setup.cast.agents().iter().map(|agent| {
        let mut agent = agent.clone();
        agent.persona = Some(format!("The persona of {} alone.", agent.name).into());
        agent
    });
    let crew = setup.cast.crew().to_vec();
    setup.cast = polylogue_core::setup::Cast::new(agents.collect(), Vec::new()).unwrap().with_crew(crew).unwrap();
    let settings = settings(&mut setup);
    settings.prompt = format!("Three heirs in a boathouse. Scene goal: {GOAL}.").into();
    settings.goal = Some(GOAL.into());
    settings.goal_known = false;
    settings.briefs = NAMES.iter().map(|name| (name.parse().unwrap(), brief(name))).collect();
    settings.style = Some("dry, short lines".into());
    settings.agent_mode = mode;
    settings.floor = floor;
    setup
}

fn brief(name: &str) -> Arc<str> {
    format!("The brief of {name} alone.").into()
}

/// The requests to characters, each with the record that begins its beat and the one that sent it.
fn requests(records: &[Record]) -> Vec<(Ask, Seq)> {
    let mut begun = Seq(1);
    let mut requests = Vec::new();
    for record in records {
        if let Event::Asked { ask, .. } = &record.event
            && ask.purpose == purpose::ACT
        {
            requests.push((request_at(records, record.seq).unwrap().ask, begun));
        }
        if matches!(record.event.decided(), Some(polylogue_core::format::scene::Decision::BeatBegun { .. })) {
            begun = record.seq;
        }
    }
    requests
}

/// What nobody said of a line that was cut.
fn unsaid(line: &Line) -> Option<&str> {
    let after = line.cut_after.as_deref()?;
    let at = line.text.find(after)?;
    Some(line.text[at + after.len()..].trim_matches(|c: char| !c.is_alphanumeric()))
}

fn check_truth(play: &Play) -> Result<(), TestCaseError> {
    let lines = play.conversation.stage().transcript().lines();
    for (ask, begun) in requests(&play.records) {
        let request = ask.request.to_string();
        let own = ask.id.agent.as_str();
        for name in NAMES.iter().filter(|name| **name != own) {
            prop_assert!(!request.contains(&*brief(name)), "{own} is shown the brief of {name}");
            prop_assert!(!request.contains(&format!("The persona of {name} alone.")), "{own} is shown who {name} is");
            prop_assert!(!request.contains(&format!("The note to {name} alone.")), "{own} is shown a note to {name}");
        }
        prop_assert!(request.contains(&*brief(own)) && !request.contains("sold the boat"), "{request}");
        for line in lines.iter().filter(|line| line.cut_at.is_some_and(|cut| cut <= begun)) {
            let Some(rest) = unsaid(line) else { continue };
            // A prompt that was written after the cut has the rest nowhere, or says that it was never said.
            let heard = line.heard(Seq(u64::MAX));
            let is_told = request.contains("[CUT: ") && request.contains(&*heard);
            prop_assert!(!request.contains(rest) || is_told, "{own} knows {rest:?}:\n{request}");
            prop_assert!(!ask.request.prompt.contains(rest), "{own} is shown {rest:?} anew");
        }
    }
    Ok(())
}

/// What a character does: one in three cuts somebody off.
fn acted(ask: &Ask, chance: u8) -> String {
    let (own, beat) = (ask.id.agent.as_str(), ask.id.turn);
    let bid = chance % 10;
    match chance % 6 {
        0 | 1 => {
            format!("{bid} [TONE: calm] \"I think that beat {beat} is when {own} wanted to tell secret{beat}{own}.\"")
        }
        2 | 3 => {
            let before = beat.saturating_sub(u32::from(chance % 4 == 2));
            format!("9! [INTERRUPT after \"beat {before} is when\", TONE: angry] \"Never mind {beat}{own}, not now.\"")
        }
        4 => format!("[SILENT, *{own} looks at the water {beat}*]"),
        _ => "[SILENT]".to_owned(),
    }
}

fn any_scene() -> impl Strategy<Value = (bool, bool, Vec<u8>)> {
    (any::<bool>(), any::<bool>(), proptest::collection::vec(any::<u8>(), 24))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn nobody_is_told_what_they_cannot_know((is_fresh, bids, chances) in any_scene()) {
        let mode = if is_fresh { AgentMode::Fresh } else { AgentMode::Thread };
        let floor = if bids { Floor::Bids } else { Floor::Open };
        let played = play(secretive(mode, floor), |ask| {
            let at = NAMES.iter().position(|name| *name == ask.id.agent.as_str());
            Some(match at {
                Some(at) => acted(ask, chances[(ask.id.turn as usize * NAMES.len() + at) % chances.len()]),
                None => {
                    let to = NAMES[ask.id.turn as usize % NAMES.len()];
                    judged(0.2, &format!(r#", "characters": [{{"name": "{to}", "note": "The note to {to} alone."}}]"#))
                }
            })
        });
        check_truth(&played)?;
    }
}

/// A scene with a cut, a silent act, a brief and a note.
fn told() -> Play {
    let mut setup = secretive(AgentMode::Thread, Floor::Open);
    settings(&mut setup).max_beats = 3;
    settings(&mut setup).transcript = TranscriptForm::Full;
    play(setup, |ask| {
        Some(
            match (ask.id.purpose, ask.id.turn, ask.id.agent.as_str()) {
                (purpose::ACT, 0, "bob") => "[TO: Alice, TONE: calm] \"I can explain about the boat, it went to a man from Ems.\"",
                (purpose::ACT, 1, "alice") => "[INTERRUPT after \"I can explain\", TONE: cold] \"You always can.\"",
                (purpose::ACT, 1, "charlie") => "[SILENT, *hangs the oars back on the wall*]",
                (purpose::ACT, _, _) => "[SILENT]",
                (_, 1, _) => {
                    r#"{"progress": 0.2, "goalReached": false, "naturalEnd": false, "characters": [{"name": "Bob", "note": "You are afraid of her."}]}"#
                }
                _ => r#"{"progress": 0.2, "goalReached": false, "naturalEnd": false}"#,
            }
            .to_owned(),
        )
    })
}

#[test]
fn what_each_of_them_reads() {
    let played = told();
    for who in ["alice", "bob", "charlie", MODERATOR] {
        let asked = |record: &&Record| matches!(&record.event, Event::Asked { ask, .. } if ask.agent.as_str() == who);
        let last = played.records.iter().rfind(asked).unwrap();
        let request = request_at(&played.records, last.seq).unwrap().ask.request;
        insta::assert_snapshot!(format!("a_scene_as_{who}_is_told_it"), request);
    }
}

#[test]
fn a_mood_of_which_nothing_is_left_is_not_told() {
    const LINES: [&str; 7] = ["Bread", "The tide", "Eleven boats", "No letter yet", "My hat", "Rain again", "Salt"];
    for (edition, is_told) in [(Edition::Second, true), (Edition::Third, false)] {
        let mut setup = scene(&["alice", "bob"], 7);
        settings(&mut setup).edition = edition;
        let played = play(setup, |ask| {
            Some(match (ask.id.purpose, ask.id.agent.as_str(), ask.id.turn) {
                (purpose::ACT, "bob", 0) => "[TONE: calm] \"Good morning.\"".to_owned(),
                (purpose::ACT, "alice", beat) => format!("\"{}.\"", LINES[beat as usize]),
                (purpose::ACT, _, _) => "[SILENT]".to_owned(),
                _ => judged(0.2, ""),
            })
        });
        let all = played.records.iter().filter(|record| matches!(record.event, Event::Asked { .. }));
        let all: Vec<String> =
            all.map(|record| request_at(&played.records, record.seq).unwrap().ask.request.to_string()).collect();
        assert!(all.iter().any(|request| request.contains("you are calm")), "{edition:?}");
        assert!(all.iter().any(|request| request.contains("Bob seems calm")), "{edition:?}");
        for told in ["you are neutral", "Bob seems neutral", "FEELINGS: Bob neutral"] {
            assert_eq!(all.iter().any(|request| request.contains(told)), is_told, "{edition:?}: {told}");
        }
    }
}

#[test]
fn a_full_transcript_shows_what_is_done_in_silence_and_reads_back() {
    let played = told();
    let text = plain_text(&played.conversation);
    assert!(text.contains("Charlie [SILENT, *hangs the oars back on the wall*]"), "{text}");
    assert!(!text.contains("[SILENT]"), "{text}");
    assert_eq!(read_transcript(&text).unwrap().to_string(), text);
}
