//! A person directs a scene while it plays.

use polylogue_core::{
    Event, Input, Rejected,
    ask::Ask,
    format::{
        self,
        scene::{Decision, NoteKind, PlayedScene, debug_log, purpose},
    },
    projection::{plain_text, request_behind},
    setup::{BadSetup, Change, Note},
};

use crate::{
    scene::{scene, talkative},
    support::Play,
};

fn note(to: Option<&str>, text: &str) -> format::Decision {
    let to = to.map(|to| to.parse().unwrap());
    Decision::directed(Some(Note { to, text: text.into() }), None)
}

fn happens(event: &str) -> format::Decision {
    Decision::directed(None, Some(event))
}

fn direct(play: &mut Play, decision: format::Decision) -> Result<(), Rejected> {
    play.give(Input::Proposed { decision })
}

fn answer(play: &mut Play, asks: &[Ask]) {
    for ask in asks {
        play.wait_ms(1_000);
        play.answer(ask, &talkative(ask).unwrap());
    }
}

/// Answers the characters and the moderator, and returns what the characters of the next beat are asked.
fn next_beat(play: &mut Play, asks: &[Ask]) -> Vec<Ask> {
    answer(play, asks);
    let judge = play.begin();
    answer(play, &judge);
    play.begin()
}

#[test]
fn a_note_reaches_only_whom_it_is_for_from_the_next_beat_on() {
    let mut play = Play::start(scene(&["alice", "bob"], 6)).unwrap();
    let first = play.begin();
    direct(&mut play, note(Some("bob"), "You are lying.")).unwrap();
    direct(&mut play, note(None, "Faster, please.")).unwrap();
    // What was sent stays as it was sent.
    let again: Vec<String> = play.begin().iter().map(|ask| ask.request.prompt.to_string()).collect();
    assert_eq!(again, first.iter().map(|ask| ask.request.prompt.to_string()).collect::<Vec<_>>());
    let second = next_beat(&mut play, &first);
    for ask in &second {
        let prompt = &ask.request.prompt;
        let is_bob = ask.id.agent.as_str() == "bob";
        assert_eq!(prompt.contains("DIRECTOR NOTE: You are lying."), is_bob, "{prompt}");
        assert!(prompt.contains("DIRECTOR NOTE: Faster, please."), "{prompt}");
    }
    answer(&mut play, &second);
    let judge = play.begin().remove(0);
    let request = &judge.request;
    let thread: String = request.thread.messages().iter().map(|message| &*message.text).collect();
    assert!(!thread.contains("You are lying") && !request.prompt.contains("You are lying"), "it is private");
    answer(&mut play, &[judge]);
    assert!(play.begin().iter().all(|ask| !ask.request.prompt.contains("DIRECTOR NOTE")), "it is said once");
    assert!(!plain_text(&play.conversation).contains("lying"));
    let played = PlayedScene::of(&play.records).unwrap();
    assert_eq!(played.beats[0].notes.iter().map(|note| note.kind).collect::<Vec<_>>(), [NoteKind::Director; 2]);
    assert!(debug_log(&play.records).unwrap().contains("to Bob, director: You are lying."));
}

#[test]
fn what_happens_in_the_world_is_heard_by_all_with_their_next_update() {
    let mut play = Play::start(scene(&["alice", "bob"], 6)).unwrap();
    let first = play.begin();
    direct(&mut play, happens("A dog barks")).unwrap();
    assert_eq!(play.lines(), ["moderator: A dog barks"]);
    let second = next_beat(&mut play, &first);
    assert!(second.iter().all(|ask| ask.request.prompt.matches("[EVENT: A dog barks]").count() == 1), "{second:?}");
    let third = next_beat(&mut play, &second);
    assert!(third.iter().all(|ask| !ask.request.prompt.contains("A dog barks")));
}

#[test]
fn the_moderator_who_is_being_asked_hears_of_it_the_next_time() {
    let mut play = Play::start(scene(&["alice", "bob"], 6)).unwrap();
    let first = play.begin();
    answer(&mut play, &first);
    let judge = play.begin().remove(0);
    direct(&mut play, happens("A dog barks")).unwrap();
    // Asked again for whatever reason, while the first is under way, it is the same request.
    assert_eq!(play.begin().remove(0).request.prompt, judge.request.prompt);
    answer(&mut play, std::slice::from_ref(&judge));
    let second = play.begin();
    answer(&mut play, &second);
    for mut play in [Play::replay(&play.records), play] {
        let next = play.begin().remove(0);
        assert_eq!(next.id.purpose, purpose::JUDGE);
        assert_eq!(next.request.thread.messages()[0].text, judge.request.prompt.shared(), "as it was sent");
        assert_eq!(next.request.prompt.matches("A dog barks").count(), 1, "{}", &*next.request.prompt);
    }
}

#[test]
fn nothing_that_was_directed_is_lost_wherever_the_process_ends() {
    let mut play = Play::start(scene(&["alice", "bob"], 4)).unwrap();
    let first = play.begin();
    answer(&mut play, &first[..1]);
    direct(&mut play, Decision::directed(Some(Note { to: None, text: "Slower.".into() }), Some("It rains"))).unwrap();
    let directed = play.records.len();
    let second = next_beat(&mut play, &first[1..]);
    answer(&mut play, &second);
    for at in directed..=play.records.len() {
        if play.records.get(at).is_some_and(|record| record.event.is_consequence()) {
            continue;
        }
        let mut killed = Play::replay(&play.records[..at]);
        killed.give(Input::ResumePressed { change: Change::default() }).unwrap();
        let killed = killed.run(|ask| talkative(ask).unwrap());
        let lines = killed.conversation.stage().transcript().lines();
        let in_beat =
            |beat: u32| lines.iter().filter(move |line| line.ask.as_ref().is_some_and(|ask| ask.turn == beat));
        for line in in_beat(1) {
            let prompt = request_behind(&killed.records, line.id).unwrap().ask.request.prompt;
            assert_eq!(prompt.matches("DIRECTOR NOTE: Slower.").count(), 1, "killed after {at}: {}", &*prompt);
            assert_eq!(prompt.matches("It rains").count(), 1, "killed after {at}: {}", &*prompt);
        }
        assert_eq!(in_beat(1).count(), 2, "killed after {at}");
        assert_eq!(killed.lines().iter().filter(|line| line.ends_with("It rains")).count(), 1);
    }
    for record in &play.records {
        assert_eq!(Event::decode(&record.event.encode()).as_ref(), Ok(&record.event));
    }
}

#[test]
fn directions_are_bounded_and_refused_in_words() {
    let mut play = Play::start(scene(&["alice", "bob"], 6)).unwrap();
    let first = play.begin();
    let long = "x".repeat(2_001);
    for (decision, problem) in [
        (Decision::directed(None, None), Rejected::EmptyMessage),
        (happens(" "), Rejected::EmptyMessage),
        (note(None, ""), Rejected::EmptyMessage),
        (happens(&long), Rejected::TooLong(2_001, Note::MAX_CHARS)),
        (note(None, &long), Rejected::TooLong(2_001, Note::MAX_CHARS)),
        (note(Some("zoe"), "Go."), BadSetup::NotInCast("zoe".to_owned(), "alice, bob".to_owned()).into()),
        (format::Decision::new(Decision::BeatBegun { beat: 3, notes: Vec::new() }), Rejected::NotForOthers),
    ] {
        assert_eq!(direct(&mut play, decision), Err(problem));
    }
    (0..16).for_each(|_| direct(&mut play, happens("A dog barks")).unwrap());
    assert_eq!(direct(&mut play, happens("A dog barks")), Err(Rejected::TooManyDirections(16)));
    next_beat(&mut play, &first);
    direct(&mut play, happens("Silence falls")).unwrap();
    let mut over = Play::replay(&play.records).run(|ask| talkative(ask).unwrap());
    let reason = over.conversation.stage().ended().unwrap();
    assert_eq!(direct(&mut over, note(None, "Too late.")), Err(Rejected::Ended(reason)));
}
