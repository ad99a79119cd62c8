//! A scene that is gone on with: nothing that was to happen is lost by it.

use polylogue_core::{
    Conversation, Input, Reason,
    ask::Ask,
    format::scene::{PlayedScene, Scheduled, WorldEvents, purpose},
    id::SessionId,
    projection::fork,
    setup::Change,
};

use crate::{
    scene::{judged, play, scene, settings},
    support::Play,
};

const RAIN: &str = "It starts to rain";

/// A scene that failed after three beats in which nobody could be reached, with rain in this beat.
fn failed(beat: u32) -> Play {
    let mut setup = scene(&["alice", "bob"], 9);
    settings(&mut setup).events = WorldEvents::At(vec![Scheduled { beat, text: RAIN.into() }]);
    let unreachable = |ask: &Ask| (ask.id.purpose == purpose::JUDGE).then(|| judged(0.1, ""));
    let play = play(setup, unreachable);
    assert_eq!(play.conversation.stage().ended(), Some(Reason::FAILED));
    play
}

#[test]
fn what_was_to_happen_happens_when_a_failed_scene_goes_on() {
    for (beat, happens) in [(3, true), (4, false)] {
        let over = failed(beat);
        let stage = over.conversation.stage();
        let id = SessionId::from_bytes([9; 16]);
        let (_, forked) = fork(&over.records, stage.head(), id, Change::default(), stage.last_at()).unwrap();
        let mut resumed = Play::replay(&over.records);
        resumed.give(Input::ResumePressed { change: Change::default() }).unwrap();
        for mut play in [resumed, Play::replay(&forked)] {
            assert_eq!(Conversation::replay(&play.records).unwrap(), play.conversation);
            let rained = play.lines().iter().filter(|line| line.ends_with(RAIN)).count();
            assert_eq!(rained, usize::from(happens));
            let asked = play.begin();
            assert!(asked.iter().all(|ask| ask.id.turn == 3) && asked.len() == 2, "{asked:?}");
            assert!(asked.iter().all(|ask| ask.request.prompt.contains(RAIN) == happens), "they are told: {asked:?}");
            let shown = PlayedScene::of(&play.records).unwrap();
            let lines = shown.beats.get(3).map_or(0, |beat| beat.lines.len());
            assert_eq!(lines, usize::from(happens), "it is part of the beat");
        }
    }
}
