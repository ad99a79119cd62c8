//! Rooms: the events of a session in its room, what is said of it to whoever comes next, and single calls.

use crate::support::{Play, agent, chorus, collaboration, handoff, said, settings};
use polylogue_core::{
    Event, Halt, Input, Reason, Record, Setup,
    event::{CallFailure, FailureKind, VERSION},
    format::collaboration::{Mode, Quote, Recent, RoomEvent, RoomStream, Settings, reason},
    id::{LineId, Seq, SessionId},
    ledger::Usage,
    projection::{fork, plain_text, request_behind},
    room::{CallId, RoomCall, Target},
    setup::{BadSetup, Cast, Change},
};
use serde_json::Value;

fn in_room(mut setup: Setup, target: &str) -> Setup {
    let (room, call_id) = ("lobby".parse().unwrap(), CallId::from_random([9; 16]));
    setup.room = Some(RoomCall { room, call_id, target: target.parse().unwrap(), is_repeat: false });
    setup
}

/// A single call to the first of these.
fn call(names: &[&str]) -> Setup {
    let mut setup = in_room(collaboration(names, Settings::SINGLE_CALL_ROUNDS), names[0]);
    settings(&mut setup).mode = Mode::Single;
    settings(&mut setup).goal = "What is a cloud?".into();
    setup
}

fn events(records: &[Record]) -> Vec<RoomEvent> {
    let (mut stream, mut events) = RoomStream::begin(&records[0]).unwrap();
    for record in &records[1..] {
        let more = stream.on(record);
        assert!(more.len() <= 1);
        events.extend(more);
    }
    assert_eq!(stream.session().is_over, matches!(records.last().unwrap().event, Event::Ended { .. }));
    events
}

/// The events, a line each, without what is the same in all of them.
fn told(records: &[Record]) -> String {
    let told = events(records).into_iter().map(|event| {
        let value = serde_json::to_value(&event).unwrap();
        assert_eq!((&value["thread"], &value["ts"].is_u64()), (&Value::from("default"), &true));
        assert_eq!(value["call_id"], "09090909-0909-4909-8909-090909090909");
        let round = event.round.map(|round| format!(" {}/{}", round.round, round.max_rounds)).unwrap_or_default();
        let kind = value["type"].as_str().unwrap();
        format!("{kind} {} to {}{round}: {}\n", event.sender, event.target, event.text)
    });
    told.collect()
}

#[test]
fn the_events_of_a_collaboration() {
    let setup = in_room(collaboration(&["claude", "gpt"], 4), "router");
    let play = Play::start(setup).unwrap().run(|ask| match ask.id.turn {
        1 => handoff("Once upon a time.", "gpt", "Edit this."),
        2 => handoff("Edited.", "claude", "Write the end."),
        _ => r#"{"message": "Done.", "final": true}"#.to_owned(),
    });
    insta::assert_snapshot!(told(&play.records), @r"
    human_message you to router 1/4: Write a fairy tale.
    agent_response router to all 1/4: Collaboration started: claude and gpt, up to 4 rounds, claude begins.
    agent_call router to claude 1/4: Write a fairy tale.
    agent_response claude to all 1/4: Once upon a time.
    agent_call router to gpt 2/4: Edit this.
    agent_response gpt to all 2/4: Edited.
    agent_call router to claude 3/4: Write the end.
    agent_response claude to all 3/4: Done.
    agent_response router to all 3/4: Collaboration ended: claude finished it in round 3 of 4.
    ");
    let first = serde_json::to_string(&events(&play.records)[0]).unwrap();
    insta::assert_snapshot!(first, @r#"{"type":"human_message","sender":"you","target":"router","thread":"default","text":"Write a fairy tale.","call_id":"09090909-0909-4909-8909-090909090909","ts":1700000000,"session_id":"11111111-1111-1111-1111-111111111111","round":1,"max_rounds":4}"#);
}

#[test]
fn a_stop_is_told_and_so_is_going_on_and_a_crash_is_not() {
    let mut play = Play::start(in_room(collaboration(&["claude", "gpt"], 1), "claude")).unwrap();
    play.begin();
    // The process ends, and the next one asks again.
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    play.begin();
    play.give(said("you", "Make it short.")).unwrap();
    play.give(Input::Halted { why: Halt::StopPressed, cut: vec![] }).unwrap();
    play.give(Input::ResumePressed { change: Change { max_rounds: Some(2), ..Change::default() } }).unwrap();
    let play = play.run(|_| handoff("More.", "gpt", "Go on."));
    insta::assert_snapshot!(told(&play.records), @r"
    human_message you to claude 1/1: Write a fairy tale.
    agent_response router to all 1/1: Collaboration started: claude and gpt, 1 round, claude begins.
    agent_call router to claude 1/1: Write a fairy tale.
    human_message you to router 1/1: Make it short.
    agent_response router to all 1/1: Collaboration canceled by user.
    agent_response router to all 1/2: Collaboration goes on.
    agent_response claude to all 1/2: More.
    agent_call router to gpt 2/2: Go on.
    agent_response gpt to all 2/2: More.
    agent_response router to all 2/2: Collaboration ended: all 2 rounds are used.
    ");
}

/// What single calls look like in the room, and why they ended.
#[test]
fn a_single_call_is_answered_and_handed_over_once_at_most() {
    let to_claude = handoff("Water.", "claude", "Say it in verse.");
    let cases: &[(&[&str], [&str; 2], &str, Reason)] = &[
        (&["gpt", "claude"], [r#"{"message": "Water."}"#, ""], "gpt: Water.", reason::NO_HANDOFF),
        (&["gpt", "claude"], [r#"{"message": "Water.", "final": true}"#, ""], "gpt: Water.", reason::FINAL),
        (
            &["gpt", "claude"],
            [&to_claude, r#"{"message": "Drops!"}"#],
            "gpt: Water. | claude <- Say it in verse. | claude: Drops!",
            reason::NO_HANDOFF,
        ),
        (
            &["gpt", "claude"],
            [&to_claude, &handoff("Drops!", "gpt", "And now?")],
            "gpt: Water. | claude <- Say it in verse. | claude: Drops!",
            Reason::CAP_REACHED,
        ),
        (&["gpt", "claude"], ["Water, in prose.", ""], "gpt: Water, in prose.", reason::MALFORMED_REPLY),
        (&["gpt"], [r#"{"message": "Water."}"#, ""], "gpt: Water.", reason::NO_HANDOFF),
    ];
    for (cast, replies, expected, reason) in cases {
        let play = Play::start(call(cast)).unwrap().run(|ask| replies[ask.id.turn as usize - 1].to_owned());
        assert_eq!(play.conversation.stage().ended(), Some(*reason), "{replies:?}");
        assert!(plain_text(&play.conversation).starts_with("Call to gpt (script/test.yaml)\n"));
        let events = events(&play.records);
        assert!(events.iter().all(|event| event.round.is_none()), "a single call has no rounds");
        assert_eq!((&*events[0].sender, &*events[0].target), ("you", "gpt"));
        assert_eq!((&*events[1].sender, &*events[1].target, &*events[1].text), ("router", "gpt", "What is a cloud?"));
        let rest = events[2..].iter().map(|event| match &*event.sender {
            "router" => format!("{} <- {}", event.target, event.text),
            agent => format!("{agent}: {}", event.text),
        });
        assert_eq!(rest.collect::<Vec<_>>().join(" | "), *expected);
    }
}

#[test]
fn a_single_call_that_comes_to_nothing_says_so() {
    let start = || {
        let mut play = Play::start(call(&["gpt"])).unwrap();
        let ask = play.begin().remove(0).id;
        (play, ask)
    };
    let last = |play: &Play| events(&play.records).last().unwrap().text.to_string();
    let (mut play, _) = start();
    play.give(Input::Halted { why: Halt::StopPressed, cut: vec![] }).unwrap();
    assert_eq!(last(&play), "Call canceled by user.");
    let (mut play, ask) = start();
    let failure = CallFailure { kind: FailureKind::Unauthorized, message: "no".into() };
    play.give(Input::AskFailed { ask, failure, usage: Usage::default(), retries: 0 }).unwrap();
    play.begin();
    assert_eq!(last(&play), "Call ended: gpt could not be reached.");
}

#[test]
fn whoever_is_called_is_told_what_was_said_before() {
    let said = |name: &str, to: Option<&str>, text: &str| Quote {
        name: name.into(),
        to: to.map(Into::into),
        text: text.into(),
    };
    let mut setup = call(&["gpt", "claude"]);
    settings(&mut setup).background = vec![said("you", Some("claude"), "Hello."), said("claude", None, "Hi!")];
    let play = Play::start(setup).unwrap().run(|ask| match ask.id.turn {
        1 => handoff("Water.", "claude", "Say it in verse."),
        _ => r#"{"message": "Drops!"}"#.to_owned(),
    });
    let request = |line| request_behind(&play.records, LineId(line)).unwrap().ask.request.to_string();
    insta::assert_snapshot!("the_first_call", request(2));
    insta::assert_snapshot!("the_second_call", request(4));
    let alone = Play::start(call(&["gpt"])).unwrap().begin().remove(0).request.to_string();
    assert!(!alone.contains("handoff"), "{alone}");

    let mut setup = collaboration(&["claude", "gpt"], 2);
    settings(&mut setup).background = vec![said("gpt", None, "It rains.")];
    let prompt = Play::start(setup).unwrap().begin().remove(0).request.prompt;
    assert!(
        prompt.contains("Said in the room before that, oldest first:\ngpt: It rains.\n\nRound 1 of 2."),
        "{prompt}"
    );
}

#[test]
fn what_was_said_lately_leaves_out_what_goes_on() {
    let session =
        |n: u8, play: Play| play.records.into_iter().map(move |record| (SessionId::from_bytes([n; 16]), record));
    let answered = || Play::start(call(&["gpt", "claude"])).unwrap().run(|_| r#"{"message": "Water."}"#.to_owned());
    let mut repeat = call(&["claude", "gpt"]);
    repeat.room.as_mut().unwrap().is_repeat = true;
    let repeat = Play::start(repeat).unwrap().run(|_| r#"{"message": "Ice."}"#.to_owned());
    let mut open = Play::start(call(&["gpt"])).unwrap();
    open.begin();
    let log: Vec<(SessionId, Record)> =
        session(1, answered()).chain(session(2, open)).chain(session(3, repeat)).collect();
    let recent = |log: &[(SessionId, Record)]| {
        let mut recent = Recent::default();
        for (session, record) in log.iter().rev() {
            if !recent.add(*session, record) {
                break;
            }
        }
        recent.said().iter().map(|said| format!("{}: {}", said.name, said.text)).collect::<Vec<_>>()
    };
    assert_eq!(recent(&log), ["you: What is a cloud?", "gpt: Water.", "claude: Ice."]);
    let many: Vec<_> = (1..=9).flat_map(|n| session(n, answered())).collect();
    assert_eq!(recent(&many).len(), Quote::MAX_RECENT);
}

#[test]
fn a_fork_goes_its_way_outside_the_room() {
    let play = Play::start(in_room(collaboration(&["claude", "gpt"], 2), "router"))
        .unwrap()
        .run(|_| handoff("More.", "gpt", "Go on."));
    let id = SessionId::from_bytes([3; 16]);
    let (_, copy) = fork(&play.records, Seq(4), id, Change::default(), play.records[0].at).unwrap();
    assert!(matches!(&copy[0].event, Event::Started { version: VERSION, setup } if setup.room.is_none()));
    assert!(RoomStream::begin(&copy[0]).is_none());
}

#[test]
fn a_room_that_cannot_work_is_refused() {
    let mut setup = chorus(2);
    setup.room = in_room(collaboration(&["a", "b"], 2), "all").room;
    assert_eq!(Play::start(setup).err(), Some(BadSetup::NotForRooms));
    let mut setup = call(&["gpt"]);
    settings(&mut setup).mode = Mode::Collaborate;
    assert_eq!(
        Play::start(setup).err(),
        Some(BadSetup::settings("a collaboration is between two agents or more: name another with --between"))
    );
    assert_eq!(Cast::new(vec![agent("all")], vec![]), Err(BadSetup::Reserved("all".into())));
    assert_eq!("All".parse::<Target>(), Ok(Target::All));
}

/// Numbers name events, and a listener that has heard one hears the rest from its record on.
#[test]
fn the_numbers_of_events_go_up() {
    use polylogue_core::room::RoomPlace;
    let numbers: Vec<u64> =
        (1..=3).flat_map(|place| (0..2).map(move |nth| RoomEvent::number(RoomPlace(place), nth))).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]) && numbers[0] > 0, "{numbers:?}");
    for (number, place) in numbers.iter().zip([0, 0, 1, 1, 2, 2]) {
        assert_eq!(RoomEvent::place_before(*number), RoomPlace(place));
    }
    assert_eq!(RoomEvent::place_before(0), RoomPlace(0));
}
