//! The moderator of a scene, and what is asked for when all is over.

use polylogue_core::{
    Event, Reason, Record, Setup,
    ask::Ask,
    format::scene::{AgentMode, Decision, MODERATOR, PlayedScene, STAND_IN, SceneReport, purpose, reason},
    projection::request_at,
};

use crate::{
    scene::{asked, decisions, ended, judged, notes, play, reached, scene, settings, talkative},
    support::{Play, agent},
};

#[test]
fn a_moderator_that_fails_three_times_is_replaced() {
    let mut setup = scene(&["alice", "bob"], 6);
    setup.cast = setup.cast.clone().with_crew(vec![agent(STAND_IN)]).unwrap();
    let played = play(setup, |ask| match ask.id.agent.as_str() {
        MODERATOR => None,
        STAND_IN if ask.id.turn == 4 => Some(reached(ask)),
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

/// The seed's own test scene.
fn apology() -> Setup {
    let mut setup = scene(&["alice", "bob", "charlie"], 6);
    let settings = settings(&mut setup);
    settings.prompt =
        "Bob missed an important project deadline, causing the team to lose a client. Alice, his manager, \
                       confronts him. Charlie is present as a team lead. Scene goal: Bob gives sincere apology, Alice \
                       accepts, they agree on accountability measures."
            .into();
    settings.goal = Some("Bob gives sincere apology, Alice accepts, they agree on accountability measures".into());
    settings.initial_speaker = Some("alice".parse().unwrap());
    setup
}

/// What is said in it: Bob's promise is cut off, and given again.
fn said(ask: &Ask) -> &'static str {
    match (ask.id.turn, ask.id.agent.as_str()) {
        (0, "alice") => "[TO: Bob, TONE: stern] \"Henderson called. They have signed with Lindqvist.\"",
        (1, "bob") => "[TO: Alice, TONE: remorseful] \"I'm sorry, Alice. I will write to you every Thursday at nine.\"",
        (2, "alice") => "[INTERRUPT after \"I'm sorry, Alice\", TONE: tired] \"I accept that. And then?\"",
        (3, "bob") => "[TO: Alice, TONE: earnest] \"Weekly check-ins, with the real numbers.\"",
        (3, "charlie") => "[SILENT, *writes it down*]",
        _ => "[SILENT]",
    }
}

#[test]
fn a_goal_counts_as_reached_only_with_evidence_for_every_part() {
    const PARTS: &str =
        r#""parts": ["Bob gives a sincere apology", "Alice accepts", "They agree on accountability measures"]"#;
    let proof = |of: &[(u8, &str)]| {
        let items: Vec<String> =
            of.iter().map(|(part, line)| format!(r#"{{"part": {part}, "line": "{line}"}}"#)).collect();
        format!(r#""evidence": [{}]"#, items.join(", "))
    };
    let (sorry, accept, plan) = ((1, "I'm sorry, Alice."), (2, "I accept that."), (3, "Weekly check-ins"));
    let cases = [
        ("no evidence at all", PARTS, proof(&[]), false),
        ("evidence for two of three", PARTS, proof(&[sorry, accept]), false),
        ("words that nobody said", PARTS, proof(&[sorry, accept, (3, "We agree on monthly reports.")]), false),
        (
            "words that were cut off",
            PARTS,
            proof(&[sorry, accept, (3, "I will write to you every Thursday at nine")]),
            false,
        ),
        ("the same part three times", PARTS, proof(&[sorry, sorry, sorry]), false),
        ("parts that there are not", PARTS, proof(&[(4, "I accept that."), (5, "I accept that.")]), false),
        ("evidence for every part", PARTS, proof(&[sorry, accept, plan]), true),
        ("what was done in silence", PARTS, proof(&[sorry, accept, (3, "*writes it down*")]), true),
        ("quoted with its speaker", PARTS, proof(&[sorry, (2, "Alice: I accept that. And then?"), plan]), true),
        ("a goal of one part", r#""onTrack": true"#, proof(&[(1, plan.1)]), true),
        ("a goal of one part without evidence", r#""onTrack": true"#, proof(&[]), false),
    ];
    for (name, first, evidence, is_reached) in cases {
        let judge = |ask: &Ask| match ask.id.turn {
            0 => format!(r#"{{{first}, "progress": 0.1, "goalReached": false, "naturalEnd": false}}"#),
            // What is claimed once is claimed again.
            3.. => format!(r#"{{{evidence}, "progress": 1, "goalReached": true, "naturalEnd": true}}"#),
            _ => judged(0.5, ""),
        };
        let played = play(apology(), |ask| match ask.id.purpose {
            purpose::ACT => Some(said(ask).to_owned()),
            _ => Some(judge(ask)),
        });
        let reason = if is_reached { reason::GOAL_ACHIEVED } else { reason::MAX_BEATS_EXCEEDED };
        assert_eq!(ended(&played), Some(reason), "{name}");
        let told = asked_of_moderator(&played);
        assert_eq!(told.contains("The goal does not count as reached"), !is_reached, "{name}: {told}");
    }
}

/// The last request to the moderator.
fn asked_of_moderator(played: &Play) -> String {
    let asked = |record: &&Record| matches!(&record.event, Event::Asked { ask, .. } if ask.purpose == purpose::JUDGE);
    let last = played.records.iter().rfind(asked).unwrap();
    request_at(&played.records, last.seq).unwrap().ask.request.to_string()
}

#[test]
fn evidence_is_gathered_over_the_beats_and_lost_with_what_is_cut() {
    // Two parts are shown as they happen, the last at the end; the first line is cut after it was quoted.
    for (quote, is_reached) in [("I'm sorry, Alice.", true), ("I will write to you every Thursday", false)] {
        let judge = |ask: &Ask| {
            match ask.id.turn {
            0 => r#"{"parts": ["Bob", "Alice"], "progress": 0.1, "goalReached": false, "naturalEnd": false}"#.to_owned(),
            1 => format!(r#"{{"evidence": [{{"part": 1, "line": "{quote}"}}], "progress": 0.4, "goalReached": false, "naturalEnd": false}}"#),
            2 => r#"{"evidence": [{"part": 2, "line": "I accept that"}], "progress": 1, "goalReached": true, "naturalEnd": false}"#.to_owned(),
            _ => judged(0.5, ""),
        }
        };
        let played = play(apology(), |ask| match ask.id.purpose {
            purpose::ACT => Some(said(ask).to_owned()),
            _ => Some(judge(ask)),
        });
        let shown = decisions(&played).any(
            |decision| matches!(decision, Decision::Judged { beat: 1, judgement } if judgement.evidence.len() == 1),
        );
        assert!(shown, "it was heard when it was quoted");
        assert_eq!(ended(&played) == Some(reason::GOAL_ACHIEVED), is_reached, "{quote}");
    }
}

#[test]
fn the_end_is_announced_once_and_to_whom_it_concerns() {
    let near = |ask: &Ask| {
        let arc = if ask.id.turn >= 1 { "resolved" } else { "moving" };
        let closing = match ask.id.turn {
            2 | 3 => r#", "closing": "Bob writes it down.""#,
            _ => "",
        };
        judged(0.85, &format!(r#", "characters": [{{"name": "Alice", "arc": "{arc}"}}]{closing}"#))
    };
    let mut setup = scene(&["alice", "bob", "charlie"], 7);
    settings(&mut setup).goal = Some("They agree.".into());
    let played = play(setup.clone(), |ask| match ask.id.purpose {
        purpose::ACT => talkative(ask),
        _ => Some(near(ask)),
    });
    assert_eq!(notes(&played), ["1 WrapUp all", "3 Closing bob"]);
    // Whoever has come to its final position already need not be told.
    let later = |ask: &Ask| {
        if ask.id.turn == 0 {
            judged(0.3, r#", "characters": [{"name": "Alice", "arc": "resolved"}]"#)
        } else {
            judged(0.9, "")
        }
    };
    let played = play(setup, |ask| match ask.id.purpose {
        purpose::ACT => talkative(ask),
        _ => Some(later(ask)),
    });
    assert_eq!(notes(&played), ["2 WrapUp bob", "2 WrapUp charlie"]);
}

#[test]
fn the_moderator_sees_its_notes_again() {
    for mode in [AgentMode::Thread, AgentMode::Fresh] {
        let judge = |ask: &Ask| match ask.id.turn {
            0 => judged(0.1, r#", "characters": [{"name": "Bob", "note": "Look at her."}]"#),
            1 => judged(0.1, r#", "characters": [{"name": "Bob", "followed": false}]"#),
            2 => judged(0.1, r#", "characters": [{"name": "Bob", "followed": true}]"#),
            _ => judged(0.1, ""),
        };
        let mut setup = scene(&["alice", "bob"], 5);
        settings(&mut setup).agent_mode = mode;
        let played = play(setup, |ask| match ask.id.purpose {
            purpose::ACT => talkative(ask),
            _ => Some(judge(ask)),
        });
        let asked = played.records.iter().filter_map(|record| match &record.event {
            Event::Asked { ask, .. } if ask.purpose == purpose::JUDGE => {
                Some(request_at(&played.records, record.seq).unwrap().ask.request.prompt.to_string())
            }
            _ => None,
        });
        let told: Vec<Option<String>> =
            asked.map(|prompt| prompt.lines().find(|line| line.starts_with("YOUR NOTE")).map(str::to_owned)).collect();
        let wanted = [
            None,
            Some("YOUR NOTE: Bob was told: \"Look at her.\" Say whether it was followed."),
            Some("YOUR NOTE: Bob was told in beat 1, and has not followed it: \"Look at her.\""),
            None,
            None,
        ];
        assert_eq!(told, wanted.map(|note| note.map(str::to_owned)), "{mode:?}");
    }
}
