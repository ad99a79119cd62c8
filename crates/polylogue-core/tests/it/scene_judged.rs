//! The moderator of a scene, and what is asked for when all is over.

use polylogue_core::{
    Reason,
    ask::Ask,
    format::scene::{Decision, MODERATOR, PlayedScene, STAND_IN, SceneReport, purpose, reason},
};

use crate::{
    scene::{asked, decisions, ended, play, scene, settings, talkative},
    support::{Play, agent},
};

#[test]
fn a_moderator_that_fails_three_times_is_replaced() {
    let mut setup = scene(&["alice", "bob"], 6);
    setup.cast = setup.cast.clone().with_crew(vec![agent(STAND_IN)]).unwrap();
    let played = play(setup, |ask| match ask.id.agent.as_str() {
        MODERATOR => None,
        STAND_IN if ask.id.turn == 4 => Some(r#"{"progress": 1, "goalReached": true, "naturalEnd": false}"#.to_owned()),
        _ => talkative(ask),
    });
    let judges: Vec<String> = asked(&played).into_iter().filter(|ask| ask.contains("judge")).collect();
    let wanted = [
        "0 judge moderator",
        "1 judge moderator",
        "2 judge moderator",
        "3 judge moderator-fallback",
        "4 judge moderator-fallback",
    ];
    assert_eq!(judges, wanted);
    assert_eq!(ended(&played), Some(reason::GOAL_ACHIEVED));
}

#[test]
fn a_judgement_is_asked_for_once_more() {
    let mut play = Play::start(scene(&["alice", "bob"], 2)).unwrap();
    for ask in play.begin() {
        play.answer(&ask, "[SILENT]");
    }
    let first = play.begin().remove(0);
    play.answer(&first, r#"{"progress": "half", "goalReached": false}"#);
    let second = play.begin().remove(0);
    assert_eq!((second.id.attempt, second.id.turn), (2, 0));
    assert!(second.request.prompt.contains("`progress` must be a number from 0 to 1"), "{}", second.request.prompt);
    play.answer(&second, "no");
    assert!(decisions(&play).any(|decision| matches!(decision, Decision::Unjudged { beat: 0, .. })));
    assert_eq!(play.begin().len(), 2, "the scene goes on with both characters");
}

#[test]
fn a_judgement_that_broke_off_is_asked_for_once_more_with_more_room() {
    let mut play = Play::start(scene(&["alice", "bob"], 3)).unwrap();
    for ask in play.begin() {
        play.answer(&ask, &talkative(&ask).unwrap());
    }
    let half = r#"{"progress": 0.5, "goalReached": false, "naturalEnd": false, "event": "A phone"#;
    for (attempt, room) in [(1, 800), (2, 3_200)] {
        let ask = play.begin().remove(0);
        assert_eq!((ask.id.purpose, ask.id.attempt), (purpose::JUDGE, attempt));
        assert_eq!(ask.request.max_output_tokens(), room);
        play.answer_in_part(&ask, half);
    }
    assert!(decisions(&play).any(|decision| matches!(decision, Decision::Judged { .. })), "what can be read is taken");
}

#[test]
fn what_is_remembered_is_asked_for_when_all_is_over() {
    let reply = |ask: &Ask| match ask.id.purpose {
        purpose::REMEMBER if ask.id.agent.as_str() == "bob" => None,
        purpose::REMEMBER => Some(format!("I remember it, {}.", "very well ".repeat(90))),
        _ => talkative(ask),
    };
    let mut setup = scene(&["alice", "bob"], 2);
    settings(&mut setup).memory = true;
    assert!(!asked(&play(setup.clone(), reply)).iter().any(|ask| ask.contains("remember")), "no story, no memory");
    settings(&mut setup).story = Some("office".into());
    let played = play(setup.clone(), reply);
    assert_eq!(ended(&played), Some(reason::MAX_BEATS_EXCEEDED));
    let kept: Vec<&Decision> = decisions(&played)
        .filter(|decision| matches!(decision, Decision::Remembered { .. } | Decision::NotRemembered { .. }))
        .collect();
    let [Decision::Remembered { character, text }, Decision::NotRemembered { .. }] = kept[..] else {
        panic!("{kept:?}");
    };
    assert_eq!(character.as_str(), "alice");
    assert!(text.chars().count() <= 600);
    // It is a warning: nobody was missed in the scene for it.
    let report = SceneReport::of(&PlayedScene::of(&played.records).unwrap());
    assert_eq!(report.errors, []);
    assert!(report.warnings.iter().any(|warning| warning.contains("Bob remembers nothing")), "{:?}", report.warnings);

    // A limit in the way of what is remembered does not change why the scene ended.
    let mut short = setup;
    let used = played.conversation.stage().ledger().total().usage.total();
    short.limits.max_tokens = used;
    let played = play(short, talkative);
    assert!(matches!(ended(&played), Some(reason::MAX_BEATS_EXCEEDED | Reason::LIMIT_TOKENS)));
}
