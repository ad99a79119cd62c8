//! A person plays a character of a scene.

use std::fmt::Write;

use polylogue_core::{
    Awaited, Conversation, Event, Input, Rejected, Setup, Step, Timestamp,
    ask::Ask,
    event::{Awaits, Origin},
    format::scene::{AgentMode, Decision, MODERATOR, PlayedScene, SceneReport, cues, debug_log, part, purpose},
    id::{PersonId, SessionId},
    money::Price,
    projection::{NoRequest, Outcome, Status, fork, plain_text, request_at, request_behind},
    setup::{BadSetup, Cast, Change, ModelRef, Note, Recast},
};

use crate::{
    scene::{decisions, judged, scene, settings, talkative},
    support::{Play, agent, said},
};

pub(crate) fn you() -> PersonId {
    "you".parse().unwrap()
}

/// A scene in which people play these of the characters, each under their character's name but for bob, whom `you` play.
pub(crate) fn with_people(names: &[&str], people: &[&str], max_beats: u32) -> Setup {
    let mut setup = scene(names, max_beats);
    let who = |name: &str| -> PersonId { if name == "bob" { you() } else { name.parse().unwrap() } };
    let mut agents = setup.cast.agents().to_vec();
    for part in agents.iter_mut().filter(|agent| people.contains(&agent.name.as_str())) {
        part.model = ModelRef::of_person(&who(part.name.as_str()));
        part.price = Some(Price::FREE);
    }
    let people = people.iter().map(|name| who(name)).collect();
    setup.cast = Cast::new(agents, people).unwrap().with_crew(vec![agent(MODERATOR)]).unwrap();
    settings(&mut setup).patience = Some(60);
    setup
}

fn acts(ask: &Ask) -> String {
    match (ask.id.purpose, ask.id.turn) {
        (purpose::ACT, 0) => "[TONE: cold] \"You are late again, and the client has left.\"".to_owned(),
        (purpose::ACT, 1) => "[SILENT, *folds her arms*]".to_owned(),
        (purpose::ACT, beat) => format!("[TO: Bob, TONE: tender] \"That was part {beat} of it.\""),
        _ => judged(0.2, ""),
    }
}

/// What bob does, beat by beat, as a person writes it and as a model would answer.
const WRITTEN: [(&str, &str); 4] = [
    ("Look, I can explain all of it.", "[SPEAK] \"Look, I can explain all of it.\""),
    (
        "[INTERRUPT after \"You are late\", TONE: angry] \"No!\"",
        "[INTERRUPT after \"You are late\", TONE: angry] \"No!\"",
    ),
    ("*sits down*", "[REACT, *sits down*]"),
    ("/pass", "[SILENT]"),
];

fn awaited(play: &Play) -> Vec<Awaited> {
    let steps = play.conversation.next().into_iter();
    steps.filter_map(|step| if let Step::AwaitHuman(awaited) = step { Some(awaited) } else { None }).collect()
}

/// Plays to the end; the person speaks last in each beat.
fn play(setup: Setup) -> Play {
    let mut play = Play::start(setup).unwrap();
    let mut beat = 0;
    while play.conversation.stage().ended().is_none() {
        for ask in play.begin() {
            play.wait_ms(1_000);
            let bob = WRITTEN[ask.id.turn as usize % WRITTEN.len()].1;
            let text = if ask.id.agent.as_str() == "bob" { bob.to_owned() } else { acts(&ask) };
            play.answer(&ask, &text);
        }
        if play.conversation.stage().is_waiting() {
            play.wait_ms(5_000);
            play.give(said("you", WRITTEN[beat % WRITTEN.len()].0)).unwrap();
            beat += 1;
        }
    }
    play
}

#[test]
fn a_scene_with_a_person_as_it_is_recorded() {
    let played = play(with_people(&["alice", "bob"], &["bob"], 4));
    insta::assert_snapshot!(played.journal());
    insta::assert_snapshot!(plain_text(&played.conversation));
    insta::assert_snapshot!(debug_log(&played.records).unwrap());
    assert_eq!(Play::replay(&played.records).conversation, played.conversation);
    for record in &played.records {
        assert_eq!(Event::decode(&record.event.encode()).as_ref(), Ok(&record.event));
    }
    let report = SceneReport::of(&PlayedScene::of(&played.records).unwrap());
    assert_eq!(report.character_count, 2);
    assert_eq!(report.dynamics[1].moods[&"bob".parse().unwrap()].word, "upset", "moods follow tones");
    assert!(!report.costs.by_character.contains_key(&"bob".parse().unwrap()), "nobody is paid for a person");
}

/// The requests to everybody but bob.
fn requests(play: &Play) -> Vec<String> {
    let asks = play.records.iter().filter_map(|record| match &record.event {
        Event::Asked { ask, .. } if ask.agent.as_str() != "bob" => Some(record.seq),
        _ => None,
    });
    asks.map(|seq| written(&request_at(&play.records, seq).unwrap().ask)).collect()
}

fn written(ask: &Ask) -> String {
    let Ask { id, request } = ask;
    let mut text = format!("── {id}\n{}\n", &*request.system);
    for message in request.thread.messages() {
        writeln!(text, "<{:?}> {}", message.role, message.text).unwrap();
    }
    text + &request.prompt
}

#[test]
fn the_others_are_asked_as_if_a_model_played() {
    for mode in [AgentMode::Thread, AgentMode::Fresh] {
        let with_mode = |mut setup: Setup| {
            settings(&mut setup).agent_mode = mode;
            setup
        };
        let of_person = play(with_mode(with_people(&["alice", "bob"], &["bob"], 4)));
        let of_model = play(with_mode(scene(&["alice", "bob"], 4)));
        for (of_person, of_model) in requests(&of_person).iter().zip(requests(&of_model)) {
            assert_eq!(*of_person, of_model, "{mode:?}");
        }
        assert_eq!(of_person.lines(), of_model.lines());
        if mode == AgentMode::Thread {
            insta::assert_snapshot!(
                requests(&of_person).into_iter().rev().find(|text| text.contains("alice")).unwrap()
            );
        }
    }
}

#[test]
fn the_time_of_a_person_runs_when_everybody_else_has_had_their_turn() {
    let mut play = Play::start(with_people(&["alice", "bob"], &["bob"], 4)).unwrap();
    let asks = play.begin();
    assert_eq!((asks.len(), awaited(&play)), (1, vec![Awaited::patiently(you())]), "both at once");
    play.wait_ms(100_000);
    assert_eq!(Outcome::of(&play.conversation).status, Status::Running);
    play.answer(&asks[0], &acts(&asks[0]));
    let until = play.conversation.stage().last_at().plus_ms(60_000);
    assert_eq!(awaited(&play), [Awaited { who: you(), until: Some(until) }]);
    assert_eq!(Outcome::of(&play.conversation).status, Status::Waiting);
    let active_ms = play.conversation.stage().active_ms();

    // A wait that is not this one is over for nobody.
    for stale in [Awaited::patiently(you()), Awaited { who: you(), until: Some(Timestamp(1)) }] {
        assert_eq!(play.give(Input::Absent(stale)), Err(Rejected::NotAwaited(you())));
    }
    play.wait_ms(60_000);
    play.give(Input::Absent(Awaited { who: you(), until: Some(until) })).unwrap();
    assert_eq!(play.conversation.stage().active_ms(), active_ms, "a person may take their time");
    let decided = decisions(&play).last().unwrap();
    assert!(matches!(decided, Decision::PassedOver { ask } if ask.agent.as_str() == "bob"), "{decided:?}");
    let judge = play.begin().remove(0);
    assert!(judge.request.prompt.contains("Silent: Bob"), "{}", &*judge.request.prompt);
    assert_eq!(play.give(said("you", "Wait!")), Err(Rejected::NotYourTurn(you())), "it was passed over");
    let played = PlayedScene::of(&play.records).unwrap();
    assert_eq!(played.beats[0].passed_over, ["bob".parse().unwrap()]);
}

#[test]
fn one_who_speaks_first_is_waited_for_no_more() {
    let mut play = Play::start(with_people(&["alice", "bob"], &["bob"], 4)).unwrap();
    let asks = play.begin();
    play.give(said("you", "I know, I know.")).unwrap();
    assert_eq!(awaited(&play), []);
    assert_eq!(play.give(said("you", "And another thing.")), Err(Rejected::NotYourTurn(you())));
    play.answer(&asks[0], &acts(&asks[0]));
    assert_eq!(play.begin()[0].id.purpose, purpose::JUDGE);
    assert_eq!(decisions(&play).filter(|decision| matches!(decision, Decision::WaitBegun { .. })).count(), 0);
}

#[test]
fn what_cannot_be_said_changes_nothing() {
    let mut play = Play::start(with_people(&["alice", "bob"], &["bob"], 4)).unwrap();
    let before = play.records.clone();
    for (who, text, problem) in [
        ("zoe", "Hello.".to_owned(), Rejected::NotInCast("zoe".parse().unwrap())),
        ("you", " ".to_owned(), Rejected::EmptyMessage),
        ("you", "x".repeat(4_001), Rejected::TooLong(4_001, 4_000)),
        ("you", "x".repeat(20_001), Rejected::TooLong(20_001, 20_000)),
    ] {
        assert_eq!(play.give(said(who, &text)), Err(problem));
    }
    assert_eq!(play.records, before);
    // The same words with the same key are heard once, and other words with it not at all.
    let keyed = |text: &str| {
        let origin = Origin { key: Some("k".into()), ..Origin::default() };
        Input::HumanSaid { who: you(), text: text.into(), origin }
    };
    play.give(keyed("/pass")).unwrap();
    let heard = play.records.len();
    play.give(keyed("/pass")).unwrap();
    assert_eq!(play.records.len(), heard);
    assert_eq!(play.give(keyed("No.")), Err(Rejected::KeyUsed));
}

#[test]
fn a_person_sees_what_is_for_them() {
    let mut setup = with_people(&["alice", "bob", "cleo"], &["bob", "cleo"], 4);
    settings(&mut setup).memories = [("bob".parse().unwrap(), vec!["I was late.".into()])].into();
    let mut play = Play::start(setup).unwrap();
    let asks = play.begin();
    let direct = |play: &mut Play, to: Option<&str>, text: &str| {
        let note = Note { to: to.map(|to| to.parse().unwrap()), text: text.into() };
        play.give(Input::Proposed { decision: Decision::directed(Some(note), None) }).unwrap();
    };
    direct(&mut play, Some("bob"), "You are lying.");
    direct(&mut play, Some("alice"), "Be kind.");
    direct(&mut play, None, "Faster.");
    let notes = |play: &Play| -> Vec<(String, Vec<String>)> {
        let cues = cues(&play.conversation).into_iter();
        cues.map(|cue| (cue.who.to_string(), cue.notes.iter().map(ToString::to_string).collect())).collect()
    };
    let told = |notes: &[&str]| -> Vec<String> { notes.iter().map(ToString::to_string).collect() };
    // Nobody has to be asked for them, so they hear it at once.
    assert_eq!(
        notes(&play),
        [("you".to_owned(), told(&["You are lying.", "Faster."])), ("cleo".to_owned(), told(&["Faster."]))]
    );
    play.give(said("you", "I am not.")).unwrap();
    assert_eq!(notes(&play).len(), 1);
    play.answer(&asks[0], "[SILENT]");
    play.give(said("cleo", "Oh my.")).unwrap();
    let judge = play.begin().remove(0);
    play.answer(&judge, &judged(0.1, r#", "characters": [{"name": "Bob", "note": "Look at her."}]"#));
    assert_eq!(notes(&play), [("you".to_owned(), told(&["Look at her."])), ("cleo".to_owned(), told(&[]))]);
    let asks = play.begin();
    assert!(asks[0].request.prompt.contains("Be kind.") && !asks[0].request.prompt.contains("Look at her."));

    let part = part(&play.conversation, &you()).unwrap();
    assert_eq!(
        (&*part.name, part.others, part.memories),
        ("Bob", told(&["Alice", "Cleo"]), vec!["I was late.".into()])
    );
}

#[test]
fn people_remember_by_themselves() {
    let mut setup = with_people(&["alice", "bob"], &["bob"], 1);
    let settings = settings(&mut setup);
    (settings.story, settings.memory) = (Some("office".into()), true);
    let played = play(setup);
    let remembered = |decision: &&Decision| matches!(decision, Decision::Remembered { .. });
    assert_eq!(decisions(&played).filter(remembered).count(), 1, "alice alone");
    assert!(played.conversation.stage().ended().is_some());
}

#[test]
fn a_scene_that_begins_with_a_person_waits_from_the_first_record() {
    let mut setup = with_people(&["alice", "bob"], &["bob"], 2);
    settings(&mut setup).initial_speaker = Some("bob".parse().unwrap());
    let mut play = Play::start(setup).unwrap();
    let until = Some(play.records[0].at.plus_ms(60_000));
    assert_eq!(awaited(&play), [Awaited { who: you(), until }]);
    assert_eq!(play.records[0].event.awaits_person(), Some(Awaits::People { seconds: Some(60) }));
    assert_eq!(cues(&play.conversation)[0].notes, ["You are Bob. Begin the scene.".into()]);
    play.give(said("you", "Good morning.")).unwrap();
    assert_eq!(play.begin()[0].id.purpose, purpose::JUDGE);
}

#[test]
fn who_has_spoken_is_waited_for_no_more() {
    let played = play(with_people(&["alice", "bob"], &["bob"], 4));
    let mut spoke = 0;
    for (at, record) in played.records.iter().enumerate() {
        // What the words come to is not there yet.
        if matches!(record.event, Event::HumanSpoke { .. }) {
            let so_far = Conversation::replay(&played.records[..=at]).unwrap();
            assert_eq!((so_far.awaited(), cues(&so_far)), (vec![], vec![]), "at {}", record.seq);
            assert_eq!(Outcome::of(&so_far).status, Status::Running);
            spoke += 1;
        }
    }
    assert_eq!(spoke, 4);
}

#[test]
fn where_no_time_is_set_the_scene_waits() {
    let mut setup = with_people(&["alice", "bob"], &["bob"], 2);
    settings(&mut setup).patience = None;
    let mut play = Play::start(setup).unwrap();
    let ask = play.begin().remove(0);
    play.answer(&ask, "[SILENT]");
    assert_eq!(awaited(&play), [Awaited::patiently(you())]);
}

#[test]
fn a_wait_begins_anew_when_the_scene_goes_on() {
    let mut play = Play::start(with_people(&["alice", "bob"], &["bob"], 4)).unwrap();
    let ask = play.begin().remove(0);
    play.answer(&ask, "[SILENT]");
    play.wait_ms(3_600_000);
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    let until = play.conversation.stage().last_at().plus_ms(60_000);
    assert_eq!(awaited(&play), [Awaited { who: you(), until: Some(until) }], "nobody could be heard meanwhile");
    assert_eq!(play.begin(), [], "nobody is asked twice");
}

#[test]
fn a_scene_needs_a_model_and_people_who_are_there() {
    let nobody_acts = with_people(&["alice", "bob"], &["alice", "bob"], 4);
    let problem = Conversation::start(nobody_acts, Timestamp(0)).unwrap_err().to_string();
    assert!(problem.contains("a character that a model plays"), "{problem}");
    for (patience, is_good) in [(None, true), (Some(1), true), (Some(0), false), (Some(604_801), false)] {
        let mut setup = with_people(&["alice", "bob"], &["bob"], 4);
        settings(&mut setup).patience = patience;
        assert_eq!(Conversation::start(setup, Timestamp(0)).is_ok(), is_good, "{patience:?}");
    }
    let mut bob = agent("bob");
    bob.model = "person/bob".parse().unwrap();
    assert!(Cast::new(vec![agent("alice"), bob.clone()], vec!["bob".parse().unwrap()]).is_ok(), "a part of one's own");
    let problem = Cast::new(vec![bob], vec![you()]).unwrap_err();
    assert_eq!(problem, BadSetup::NoSuchPerson("bob".to_owned(), "bob".to_owned()));
}

#[test]
fn a_model_that_takes_the_part_over_is_told_what_the_person_did() {
    let mut begun = Play::start(with_people(&["alice", "bob"], &["bob"], 4)).unwrap();
    for written in &WRITTEN[..2] {
        let ask = begun.begin().remove(0);
        begun.answer(&ask, &acts(&ask));
        begun.give(said("you", written.0)).unwrap();
        let judge = begun.begin().remove(0);
        begun.answer(&judge, &judged(0.1, ""));
    }
    let ask = begun.begin().remove(0);
    begun.answer(&ask, &acts(&ask));
    let model: ModelRef = "script/test.yaml".parse().unwrap();
    let recast = Recast { agent: "bob".parse().unwrap(), model, price: Some(Price::FREE), is_small: false };
    let at = begun.conversation.stage().head();
    let change = Change { recast: vec![recast.clone()], ..Change::default() };
    let (_, records) =
        fork(&begun.records, at, SessionId::from_bytes([9; 16]), change, begun.conversation.stage().last_at()).unwrap();
    let mut taken = Play::replay(&records);
    let waits = taken.records.iter().filter_map(|record| record.event.awaits_person()).next_back();
    assert_eq!(waits, Some(Awaits::Nobody), "nobody is waited for any more");
    let asks = taken.begin();
    assert_eq!(asks.iter().map(|ask| ask.id.agent.as_str()).collect::<Vec<_>>(), ["bob"]);
    insta::assert_snapshot!(written(&asks[0]));
    let played = taken.run(|ask| talkative(ask).unwrap());
    assert!(played.lines().len() > begun.lines().len());

    // Nobody else becomes a person in the middle of a scene.
    let recast = Recast { model: "person/zoe".parse().unwrap(), ..recast };
    let change = Change { recast: vec![recast], ..Change::default() };
    let forked = fork(&begun.records, at, SessionId::from_bytes([9; 16]), change, Timestamp(0));
    assert!(forked.is_err_and(|error| error.to_string().contains("`bob` cannot be played by `zoe`")));
}

#[test]
fn nothing_was_asked_for_a_line_of_a_person() {
    let played = play(with_people(&["alice", "bob"], &["bob"], 1));
    let line = &played.conversation.stage().transcript().lines()[1];
    assert_eq!(line.speaker.name(), "bob");
    let none = request_behind(&played.records, line.id).unwrap_err();
    assert_eq!(none, NoRequest::NotAsked(line.id, "bob".to_owned()));
}
