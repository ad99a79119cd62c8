//! The rules of a scene, played without a runtime.

use std::sync::Arc;

use polylogue_core::{
    Event, Input, Reason, Rejected, Setup,
    ask::Ask,
    event::{CallFailure, FailureKind},
    format::scene::{AgentMode, Decision, MODERATOR, Scheduled, Settings, WorldEvents, purpose, reason},
    id::SessionId,
    ledger::Usage,
    setup::{BadSetup, Cast, Change, FormatSetup, Limits},
};

use crate::support::{Play, agent};

/// A scene of these characters, called by their names with a capital.
pub(crate) fn scene(names: &[&str], max_beats: u32) -> Setup {
    let capital = |name: &str| -> Arc<str> { format!("{}{}", name[..1].to_uppercase(), &name[1..]).into() };
    let settings = Settings {
        goal: Some("Alice accepts.".into()),
        setting: Some("An office".into()),
        max_beats,
        names: names.iter().map(|name| (name.parse().unwrap(), capital(name))).collect(),
        ..Settings::new("the-test", "Bob apologizes to Alice.")
    };
    let cast = Cast::new(names.iter().map(|name| agent(name)).collect(), Vec::new()).unwrap();
    Setup {
        id: SessionId::from_bytes([0x33; 16]),
        format: FormatSetup::new(settings),
        cast: cast.with_crew(vec![agent(MODERATOR)]).unwrap(),
        limits: Limits::default(),
        seed: 7,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

pub(crate) fn settings(setup: &mut Setup) -> &mut Settings {
    setup.format.settings_mut().expect("a scene")
}

/// A judgement with this progress, and these fields besides.
pub(crate) fn judged(progress: f64, more: &str) -> String {
    format!(r#"{{"progress": {progress}, "goalReached": false, "naturalEnd": false{more}}}"#)
}

/// Plays to the end. `None` is a call that fails.
pub(crate) fn play(setup: Setup, reply: impl Fn(&Ask) -> Option<String>) -> Play {
    run(Play::start(setup).unwrap(), reply)
}

fn run(mut play: Play, reply: impl Fn(&Ask) -> Option<String>) -> Play {
    while play.conversation.stage().ended().is_none() {
        for ask in play.begin() {
            play.wait_ms(1_000);
            match reply(&ask) {
                Some(text) => play.answer(&ask, &text),
                None => fail(&mut play, &ask),
            }
        }
    }
    play
}

fn fail(play: &mut Play, ask: &Ask) {
    let failure = CallFailure { kind: FailureKind::Timeout, message: "Response timeout after 30s".to_owned() };
    let input = Input::AskFailed { ask: ask.id.clone(), failure, usage: Usage::default(), retries: 0 };
    play.give(input).unwrap();
}

pub(crate) fn decisions(play: &Play) -> impl Iterator<Item = &Decision> {
    play.records.iter().filter_map(|record| record.event.decided())
}

/// The notes of each beat, as `beat kind to`.
pub(crate) fn notes(play: &Play) -> Vec<String> {
    let mut told = Vec::new();
    for decision in decisions(play) {
        if let Decision::BeatBegun { beat, notes } = decision {
            told.extend(notes.iter().map(|note| {
                let to = note.to.as_ref().map_or("all", |to| to.as_str());
                format!("{beat} {:?} {to}", note.kind)
            }));
        }
    }
    told
}

pub(crate) fn ended(play: &Play) -> Option<Reason> {
    play.conversation.stage().ended()
}

/// Who is asked for what, in which beat.
pub(crate) fn asked(play: &Play) -> Vec<String> {
    let asks = play.records.iter().filter_map(|record| match &record.event {
        Event::Asked { ask, .. } => Some(format!("{} {} {}", ask.turn, ask.purpose.as_str(), ask.agent)),
        _ => None,
    });
    asks.collect()
}

/// Everybody says something new in every beat.
pub(crate) fn talkative(ask: &Ask) -> Option<String> {
    Some(match ask.id.purpose {
        purpose::ACT => format!("[TONE: calm] \"{}\"", news(ask)),
        _ => judged(0.1, ""),
    })
}

/// A judgement that the goal is reached, with the last words of the beat as its evidence.
pub(crate) fn reached(ask: &Ask) -> String {
    let prompt = &ask.request.prompt;
    let last = prompt.lines().rfind(|line| line.ends_with('"')).and_then(|line| line.split('"').nth(1));
    let line = last.unwrap_or_default();
    format!(
        r#"{{"evidence": [{{"part": 1, "line": "{line}"}}], "progress": 1, "goalReached": true, "naturalEnd": true}}"#
    )
}

/// Words that nobody has said before.
fn news(ask: &Ask) -> String {
    let mut chance = u64::from(ask.id.turn) * 31 + ask.id.agent.as_str().len() as u64 * 1_009;
    let mut word = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let letters = (0..5).map(|at| char::from(b'a' + ((chance >> (at * 9 + 14)) % 26) as u8));
        letters.collect::<String>()
    };
    [word(), word(), word(), word(), word()].join(" ")
}

#[test]
fn a_scene_as_it_is_recorded() {
    let mut setup = scene(&["alice", "bob"], 10);
    settings(&mut setup).initial_speaker = Some("bob".parse().unwrap());
    let played = play(setup, |ask| {
        let said = match (ask.id.purpose, ask.id.turn, ask.id.agent.as_str()) {
            (purpose::ACT, 0, _) => "[TO: Alice, TONE: nervous, *fidgets*] \"Look, I can explain what happened.\"",
            (purpose::ACT, 1, "alice") => "[INTERRUPT after \"I can explain\", TONE: furious] \"No excuses!\"",
            (purpose::ACT, 1, _) => "[SILENT, *looks down*]",
            (purpose::ACT, 2, "alice") => "[REACT, TONE: softening, *sits down*]",
            (purpose::ACT, _, _) => "[TO: Alice, TONE: remorseful] \"I am sorry.\"",
            (_, 0, _) => r#"{"progress": 0.1, "goalReached": false, "naturalEnd": false}"#,
            (_, 1, _) => {
                r#"{"progress": 0.4, "goalReached": false, "naturalEnd": false,
                    "characters": [{"name": "Bob", "arc": "moving", "note": "Say what you mean."}],
                    "relationships": [{"from": "Bob", "to": "Alice", "change": -0.3}]}"#
            }
            (_, _, _) => {
                r#"{"evidence": [{"part": 1, "line": "I am sorry."}], "progress": 1, "goalReached": true, "naturalEnd": false}"#
            }
        };
        Some(said.to_owned())
    });
    insta::assert_snapshot!(played.journal());
    insta::assert_snapshot!("a_scene_as_bob_reads_it", last_request(&played, "bob"));
    insta::assert_snapshot!("a_scene_as_its_moderator_reads_it", last_request(&played, MODERATOR));
}

/// The last request to an agent, rebuilt from the journal.
fn last_request(play: &Play, agent: &str) -> String {
    let last = play
        .records
        .iter()
        .rposition(|record| matches!(&record.event, Event::Asked { ask, .. } if ask.agent.as_str() == agent));
    let mut before = Play::replay(&play.records[..last.unwrap()]);
    let asks = before.begin();
    asks.iter().find(|ask| ask.id.agent.as_str() == agent).unwrap().request.to_string()
}

#[test]
fn a_beat_costs_its_characters_and_one() {
    let mut setup = scene(&["alice", "bob", "charlie"], 3);
    settings(&mut setup).initial_speaker = Some("alice".parse().unwrap());
    let played = play(setup, talkative);
    let wanted = [
        "0 act alice",
        "0 judge moderator",
        "1 act alice",
        "1 act bob",
        "1 act charlie",
        "1 judge moderator",
        "2 act alice",
        "2 act bob",
        "2 act charlie",
        "2 judge moderator",
    ];
    assert_eq!(asked(&played), wanted);
    assert_eq!(ended(&played), Some(reason::MAX_BEATS_EXCEEDED));
}

#[test]
fn why_a_scene_ends() {
    let silent = |ask: &Ask| Some(if ask.id.purpose == purpose::ACT { "[SILENT]".to_owned() } else { judged(0.1, "") });
    let circling = |ask: &Ask| match ask.id.purpose {
        purpose::ACT => Some("[TONE: flat] \"I told you that I did not take the money from the box.\"".to_owned()),
        _ => Some(judged(0.1, "")),
    };
    let short = |ask: &Ask| match ask.id.purpose {
        purpose::ACT => Some("[TONE: flat] \"Yes.\"".to_owned()),
        _ => Some(judged(0.1, "")),
    };
    let after_two = |more: &'static str| {
        move |ask: &Ask| match (ask.id.purpose, ask.id.turn) {
            (purpose::JUDGE, 2) => Some(format!("{{{more}}}")),
            _ => talkative(ask),
        }
    };
    let resolved = r#""progress": 0.85, "goalReached": false, "naturalEnd": false,
        "characters": [{"name": "Alice", "arc": "resolved"}, {"name": "bob", "arc": "resolved"}]"#;
    let early = resolved.replace("0.85", "0.3");
    let early: &'static str = Box::leak(early.into_boxed_str());
    type Reply = Box<dyn Fn(&Ask) -> Option<String>>;
    let cases: Vec<(&str, Reply, Reason, u32)> = vec![
        (
            "goal",
            Box::new(|ask| match (ask.id.purpose, ask.id.turn) {
                (purpose::JUDGE, 2) => Some(reached(ask)),
                _ => talkative(ask),
            }),
            reason::GOAL_ACHIEVED,
            3,
        ),
        (
            "natural",
            Box::new(after_two(r#""progress": 0.5, "goalReached": false, "naturalEnd": true"#)),
            reason::NATURAL_END,
            3,
        ),
        ("arcs", Box::new(after_two(resolved)), reason::NATURAL_END, 3),
        ("arcs too early", Box::new(after_two(early)), reason::MAX_BEATS_EXCEEDED, 12),
        ("silence", Box::new(silent), reason::STALLED, 6),
        ("circles", Box::new(circling), reason::STALLED, 7),
        ("short circles", Box::new(short), reason::STALLED, 7),
        ("beats", Box::new(talkative), reason::MAX_BEATS_EXCEEDED, 12),
        ("nobody", Box::new(|_| None), Reason::FAILED, 3),
        (
            "no moderator",
            Box::new(|ask| talkative(ask).filter(|_| ask.id.purpose == purpose::ACT)),
            reason::MAX_BEATS_EXCEEDED,
            12,
        ),
        (
            "a moderator who rambles",
            Box::new(|ask| match ask.id.purpose {
                purpose::ACT => talkative(ask),
                _ => Some("Lovely scene!".to_owned()),
            }),
            reason::MAX_BEATS_EXCEEDED,
            12,
        ),
    ];
    for (name, reply, reason, beats) in cases {
        let played = play(scene(&["alice", "bob"], 12), reply);
        let last = decisions(&played).filter_map(|decision| match decision {
            Decision::BeatEnded { beat, .. } => Some(beat + 1),
            _ => None,
        });
        assert_eq!((ended(&played), last.last()), (Some(reason), Some(beats)), "{name}");
        let achieved =
            decisions(&played).any(|decision| matches!(decision, Decision::Concluded { goal_achieved: true, .. }));
        assert_eq!(achieved, reason == reason::GOAL_ACHIEVED, "{name}");
    }
}

#[test]
fn what_the_characters_are_told() {
    let judging = |judge: &'static str| {
        move |ask: &Ask| match (ask.id.purpose, ask.id.turn) {
            (purpose::JUDGE, 1) => Some(judge.to_owned()),
            _ => talkative(ask),
        }
    };
    type Reply = Box<dyn Fn(&Ask) -> Option<String>>;
    let cases: Vec<(&str, Reply, Vec<&str>)> = vec![
        ("nothing", Box::new(talkative), vec![]),
        (
            "near the end",
            Box::new(judging(r#"{"progress": "80%", "goalReached": false, "naturalEnd": false}"#)),
            vec!["2 WrapUp all"],
        ),
        (
            "ready to close",
            Box::new(judging(
                r#"{"progress": 0.9, "goalReached": false, "naturalEnd": false, "closing": "Bob shakes hands."}"#,
            )),
            vec!["2 Closing bob"],
        ),
        (
            "drift and direction",
            Box::new(judging(
                r#"{"progress": 0.2, "goalReached": false, "naturalEnd": false, "characters": [
                    {"name": "Alice", "drift": "Alice is too meek."}, {"name": "Bob", "note": "Be bolder.", "drift": "none"},
                    {"name": "Nobody", "note": "?"}]}"#,
            )),
            vec!["2 Drift alice", "2 Direction bob"],
        ),
        (
            "a stall",
            Box::new(|ask| match ask.id.purpose {
                purpose::ACT if ask.id.turn < 3 => Some("[SILENT]".to_owned()),
                _ => talkative(ask),
            }),
            vec!["3 Stall all"],
        ),
        (
            "one who speaks alone",
            Box::new(|ask| match (ask.id.purpose, ask.id.agent.as_str()) {
                (purpose::ACT, "bob") => Some("[SILENT]".to_owned()),
                _ => talkative(ask),
            }),
            vec!["3 Alone alice"],
        ),
    ];
    for (name, reply, told) in cases {
        let played = play(scene(&["alice", "bob"], 5), reply);
        assert_eq!(notes(&played), told, "{name}");
    }
}

#[test]
fn a_note_reaches_only_whom_it_is_for() {
    let mut play = Play::start(scene(&["alice", "bob"], 5)).unwrap();
    for ask in play.begin() {
        play.answer(&ask, "[TONE: calm] \"Hello.\"");
    }
    let judge = &play.begin()[0];
    play.answer(judge, &judged(0.2, r#", "characters": [{"name": "Bob", "drift": "Bob never shouts."}]"#));
    for ask in play.begin() {
        let is_told = ask.request.prompt.contains("Bob never shouts.");
        assert_eq!(is_told, ask.id.agent.as_str() == "bob", "{}", ask.request.prompt);
    }
}

#[test]
fn the_world_acts_when_it_should() {
    type Case = (&'static str, WorldEvents, fn(&Ask) -> Option<String>, &'static [&'static str]);
    const WISH: &str = r#", "event": "A dog barks""#;
    const LOST: &str = r#", "onTrack": false, "event": "A dog barks""#;
    fn on_track(ask: &Ask) -> Option<String> {
        if ask.id.purpose == purpose::JUDGE { Some(judged(0.1, WISH)) } else { talkative(ask) }
    }
    fn off_track(ask: &Ask) -> Option<String> {
        if ask.id.purpose == purpose::JUDGE { Some(judged(0.1, LOST)) } else { talkative(ask) }
    }
    fn quiet(ask: &Ask) -> Option<String> {
        Some(if ask.id.purpose == purpose::JUDGE { judged(0.1, "") } else { "[SILENT]".to_owned() })
    }
    let list =
        || WorldEvents::At([(0, "Rain"), (2, "Snow")].map(|(beat, text)| Scheduled { beat, text: text.into() }).into());
    let cases: [Case; 6] = [
        ("on track", WorldEvents::Auto, on_track, &[]),
        ("off track, with room between", WorldEvents::Auto, off_track, &["A dog barks", "A dog barks"]),
        ("off track, but nothing may happen", WorldEvents::Off, off_track, &[]),
        ("a list", list(), off_track, &["Rain", "Snow"]),
        ("a stall without a wish", WorldEvents::Auto, quiet, &["A phone rings nearby, and stops"]),
        ("a stall, but nothing may happen", WorldEvents::Off, quiet, &[]),
    ];
    for (name, events, reply, happened) in cases {
        let mut setup = scene(&["alice", "bob"], 5);
        settings(&mut setup).events = events;
        let played = play(setup, reply);
        let lines = played.lines();
        let told: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("moderator: ")).collect();
        assert_eq!(told, happened, "{name}");
    }
}

#[test]
fn an_interruption_cuts_what_it_names() {
    type Case = (&'static str, &'static str, Option<&'static str>);
    let cases: [Case; 5] = [
        ("I can explain", "Alice", Some("I can explain")),
        ("i can, EXPLAIN", "Alice", Some("i can, EXPLAIN")),
        ("never said", "Alice", None),
        ("what happened", "Alice", None),
        ("I can explain", "Bob", None),
    ];
    for (phrase, by, cut) in cases {
        let mut setup = scene(&["alice", "bob"], 3);
        settings(&mut setup).initial_speaker = Some("bob".parse().unwrap());
        let played = play(setup, |ask| match (ask.id.purpose, ask.id.turn) {
            (purpose::ACT, 0) => Some("[TONE: tense] \"Look, I can explain what happened.\"".to_owned()),
            (purpose::ACT, 1) if ask.id.agent.as_str() == by.to_lowercase() => {
                Some(format!("[INTERRUPT after \"{phrase}\", TONE: furious] \"No!\""))
            }
            (purpose::ACT, _) => Some("[SILENT]".to_owned()),
            _ => Some(judged(0.1, "")),
        });
        let line = &played.conversation.stage().transcript().lines()[0];
        assert_eq!(line.cut_after.as_deref(), cut, "{phrase} by {by}");
        assert_eq!(&*line.text, "Look, I can explain what happened.", "the journal keeps the whole");
    }
}

#[test]
fn one_who_fails_is_missed_for_a_beat() {
    let played = play(scene(&["alice", "bob"], 4), |ask| match (ask.id.purpose, ask.id.turn, ask.id.agent.as_str()) {
        (purpose::ACT, 1, "bob") => None,
        _ => talkative(ask),
    });
    let missed: Vec<String> = played.lines().into_iter().filter(|line| line.starts_with("moderator")).collect();
    assert_eq!(missed, ["moderator: Bob unable to respond"]);
    let bob_again = asked(&played).iter().any(|ask| ask == "2 act bob");
    assert!(bob_again);
    assert_eq!(ended(&played), Some(reason::MAX_BEATS_EXCEEDED));
}

#[test]
fn a_thread_only_grows_and_a_fresh_one_sees_ten_exchanges() {
    for mode in [AgentMode::Thread, AgentMode::Fresh] {
        let mut setup = scene(&["alice", "bob"], 30);
        settings(&mut setup).agent_mode = mode;
        let mut play = Play::start(setup).unwrap();
        let mut before: Vec<String> = Vec::new();
        for beat in 0..20 {
            let asks = play.begin();
            let messages = |ask: &Ask| -> Vec<String> {
                let thread = ask.request.thread.messages().iter().map(|message| message.text.to_string());
                thread.chain([ask.request.prompt.to_string()]).collect()
            };
            let now = messages(&asks[0]);
            match mode {
                AgentMode::Thread => assert_eq!(now[..before.len()], before[..], "beat {beat}"),
                AgentMode::Fresh => {
                    let told = now[0].lines().filter(|line| line.contains("[TONE: calm]")).count();
                    assert_eq!((now.len(), told), (1, (2 * beat).min(10) + usize::from(beat > 0)), "beat {beat}");
                }
            }
            before = now;
            for ask in &asks {
                let text = talkative(ask).unwrap();
                play.answer(ask, &text);
            }
            let judge = play.begin().remove(0);
            play.answer(&judge, &judged(0.1, ""));
        }
    }
}

#[test]
fn a_scene_goes_on_with_more_beats() {
    let mut played = play(scene(&["alice", "bob"], 3), talkative);
    let same = played.conversation.on(Input::ResumePressed { change: Change::default() });
    assert_eq!(same, Err(Rejected::StillAtLimit(reason::MAX_BEATS_EXCEEDED)));
    let more = Change { max_rounds: Some(5), ..Change::default() };
    played.give(Input::ResumePressed { change: more }).unwrap();
    let played = run(played, talkative);
    assert_eq!(ended(&played), Some(reason::MAX_BEATS_EXCEEDED));
    assert!(asked(&played).contains(&"4 judge moderator".to_owned()));
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let mut setup = scene(&["alice"], 0);
    let wrong = settings(&mut setup);
    wrong.name = " ".into();
    wrong.prompt = "".into();
    wrong.initial_speaker = Some("zoe".parse().unwrap());
    wrong.events = WorldEvents::At(vec![Scheduled { beat: 9, text: " ".into() }]);
    let Err(BadSetup::Settings(problems)) = setup.check() else { panic!("it is bad") };
    insta::assert_snapshot!(problems.join("\n"), @r#"
    Scene name is required
    Scene prompt is required
    A scene has 2 to 5 characters, not 1
    Initial speaker `zoe` is none of the characters: alice
    maxBeats is 0: choose from 1 to 1000
    The event of beat 9 is empty
    The event " " is for beat 9, and there are 0: 0 to 0
    "#);
}

#[test]
fn nothing_is_over_before_everybody_could_speak() {
    let mut setup = scene(&["alice", "bob"], 5);
    settings(&mut setup).initial_speaker = Some("bob".parse().unwrap());
    let reply = |ask: &Ask| if ask.id.purpose == purpose::JUDGE { Some(reached(ask)) } else { talkative(ask) };
    let judgements = |setup| asked(&play(setup, reply)).iter().filter(|ask| ask.contains("judge")).count();
    assert_eq!(judgements(setup.clone()), 2);
    settings(&mut setup).initial_speaker = None;
    assert_eq!(judgements(setup), 1);
}
