//! Discussions: the order, the rounds, the person's turn, and what is made of replies that are none.

use crate::support::{Play, discussion, said, seats, text};
use polylogue_core::{
    Answer, Awaited, Conversation, Cut, Halt, Input, Reason, Rejected, Setup, Step,
    ask::Role as Told,
    event::{CallFailure, FailureKind, Origin},
    format::discussion::{Decision, DiscussionState, DiscussionStatus, MAX_TURN_ITERATIONS, Settings},
    id::SessionId,
    ledger::Usage,
    projection::{Outcome, Status, fork, plain_text},
    setup::{BadSetup, Cast, Change, Limits},
    text::reply::Repair,
};

const ORDER: [&str; 4] = ["user=ada", "manager=max", "specialist=sue", "specialist=sam"];

/// What an agent says that only says whose turn it is.
fn turn(ask: &polylogue_core::ask::Ask) -> String {
    format!("{} in round {}.", ask.id.agent, ask.id.turn)
}

impl Play {
    /// Lets the agents speak until a person is waited for, or it is over.
    fn agents(&mut self, reply: impl Fn(&polylogue_core::ask::Ask) -> String) {
        loop {
            let asks = self.begin();
            if asks.is_empty() {
                return;
            }
            for ask in asks {
                self.wait_ms(1_000);
                let text = reply(&ask);
                self.answer(&ask, &text);
            }
        }
    }

    fn fail(&mut self, kind: FailureKind) {
        let ask = self.begin().remove(0).id;
        let failure = CallFailure { kind, message: "no".into() };
        self.give(Input::AskFailed { ask, failure, usage: Usage::default(), retries: 0 }).unwrap();
    }

    fn state(&self) -> DiscussionState {
        DiscussionState::of(&self.records).unwrap()
    }

    /// The entries as `round.turn speaker: content`.
    fn entries(&self) -> Vec<String> {
        let entry = |entry: &polylogue_core::format::discussion::DiscussionEntry| {
            format!("{}.{} {}: {}", entry.round_number, entry.turn_index, entry.speaker, entry.content)
        };
        self.state().entries.iter().map(entry).collect()
    }
}

/// A discussion played to its end.
fn whole() -> Play {
    let mut play = Play::start(discussion(&ORDER, 2)).unwrap();
    for words in ["It leaks.", "And the cost?"] {
        play.give(said("ada", words)).unwrap();
        play.agents(turn);
    }
    play
}

#[test]
fn everybody_speaks_in_order_until_the_rounds_are_over() {
    let play = whole();
    assert_eq!(
        play.entries(),
        [
            "1.0 ada: It leaks.",
            "1.1 max: max in round 1.",
            "1.2 sue: sue in round 1.",
            "1.3 sam: sam in round 1.",
            "2.0 ada: And the cost?",
            "2.1 max: max in round 2.",
            "2.2 sue: sue in round 2.",
            "2.3 sam: sam in round 2.",
        ]
    );
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
    let state = play.state();
    assert_eq!((state.project.status, state.next_speaker), (DiscussionStatus::Completed, None));
    assert_eq!((state.project.current_turn_index, state.project.current_round), (3, 2));
    assert!(state.counts.values().all(|count| *count == 2));
    let late = play.conversation.on(said("ada", "One more thing."));
    assert_eq!(late, Err(Rejected::Ended(Reason::COMPLETED)));
    assert_eq!(play.conversation.next(), []);
    insta::assert_snapshot!(play.journal());
    insta::assert_snapshot!(plain_text(&play.conversation));
}

#[test]
fn the_answer_of_the_api() {
    let mut play = Play::start(discussion(&ORDER[..2], 1)).unwrap();
    play.give(said("ada", "It leaks.")).unwrap();
    play.agents(|_| "max: I see.\n\nada: Do you?".to_owned());
    insta::assert_json_snapshot!(play.state());
}

#[test]
fn a_thread_only_grows_at_its_end() {
    let mut play = Play::start(discussion(&ORDER, 3)).unwrap();
    let mut last: Option<polylogue_core::ask::Request> = None;
    for round in 1..=3 {
        play.give(said("ada", &format!("Round {round}."))).unwrap();
        let ask = play.begin().remove(0);
        if let Some(last) = &last {
            let (before, now) = (last.thread.messages(), ask.request.thread.messages());
            assert_eq!(before, &now[..before.len()]);
            assert_eq!((now[before.len()].role, &*now[before.len()].text), (Told::User, &*last.prompt));
            assert_eq!(now.len(), before.len() + 2);
            assert_eq!(last.system, ask.request.system);
        }
        assert_eq!(ask.request.sampling.stop, Settings::DEFAULT_STOP, "they are sent");
        last = Some(ask.request.clone());
        play.answer(&ask, "I see.");
        play.agents(turn);
    }
    insta::assert_snapshot!(last.unwrap());
}

/// What the reply of the first agent, and of the second try where there is one, leads to.
#[test]
fn a_reply_is_one_turn_or_none() {
    let cases: &[(&[&str], &str, Option<Repair>)] = &[
        (&["I see."], "I see.", None),
        (&["I see.\nsue: So do I.\nada: Good."], "I see.", Some(Repair::OtherSpeaker)),
        (&["I see.\n\nsue: So do I."], "I see.", Some(Repair::OtherSpeaker)),
        (&["First.\n\nSecond."], "First.", Some(Repair::Stop)),
        (&["[nods] I see.", "I see."], "I see.", None),
        (&["", "I see."], "I see.", None),
        (&["[nods]", "[nods again]"], "", Some(Repair::Stop)),
        (&["  ", "\n"], "", None),
    ];
    for (replies, content, repair) in cases {
        let mut play = Play::start(discussion(&ORDER, 1)).unwrap();
        play.give(said("ada", "It leaks.")).unwrap();
        for (reply, attempt) in replies.iter().zip(1..) {
            let ask = play.begin().remove(0);
            assert_eq!((ask.id.agent.as_str(), ask.id.attempt), ("max", attempt), "{replies:?}");
            assert_eq!(ask.request.prompt.contains("cannot be used"), attempt == 2, "{replies:?}");
            play.answer(&ask, reply);
        }
        assert_eq!(play.begin()[0].id.agent.as_str(), "sue", "the turn passes on: {replies:?}");
        let entry = &play.state().entries[1];
        assert_eq!((&*entry.content, entry.metadata.repairs.first()), (*content, repair.as_ref()), "{replies:?}");
        assert_eq!(entry.metadata.failure.is_some(), content.is_empty(), "{replies:?}");
    }
}

#[test]
fn a_failed_turn_is_on_record_and_passes_on() {
    let mut play = Play::start(discussion(&ORDER, 2)).unwrap();
    play.give(said("ada", "It leaks.")).unwrap();
    play.fail(FailureKind::Unauthorized);
    // What may have been an empty reply is asked for once more.
    play.fail(FailureKind::BadResponse);
    play.fail(FailureKind::BadResponse);
    play.agents(turn);
    assert_eq!(play.entries()[1..], ["1.1 max: ", "1.2 sue: ", "1.3 sam: sam in round 1."]);
    let failures: Vec<_> = play.state().entries.iter().map(|entry| entry.metadata.failure.clone()).collect();
    assert_eq!(failures[1].as_ref().unwrap().message, "no");
    assert_eq!(failures[2].as_ref().unwrap().message, "nothing was said, twice: no");
    assert!(failures[0].is_none() && failures[3].is_none());
    assert!(matches!(play.conversation.next().as_slice(), [Step::AwaitHuman(_)]));
    // Who could not answer hears all of it at the next turn.
    play.give(said("ada", "Max?")).unwrap();
    let prompt = play.begin().remove(0).request.prompt;
    assert!(prompt.contains("ada (user): It leaks.\nsam (specialist): sam in round 1.\nada (user): Max?"), "{prompt}");
}

#[test]
fn only_whose_turn_it_is_may_speak_and_nothing_changes_otherwise() {
    let mut play = Play::start(discussion(&["user=ada", "leader=lea", "user=bob"], 2)).unwrap();
    let turned_away = |play: &mut Play, who: &str, expected: Rejected| {
        let before = play.conversation.clone();
        assert_eq!(play.give(said(who, "Hello.")), Err(expected));
        assert_eq!(play.conversation, before);
    };
    let not_yours = |who: &str| Rejected::NotYourTurn(who.parse().unwrap());
    turned_away(&mut play, "bob", not_yours("bob"));
    turned_away(&mut play, "eve", Rejected::NotInCast("eve".parse().unwrap()));
    play.give(said("ada", "Hello.")).unwrap();
    turned_away(&mut play, "ada", not_yours("ada"));
    play.agents(turn);
    turned_away(&mut play, "ada", not_yours("ada"));
    assert_eq!(Outcome::of(&play.conversation).status, Status::Waiting);
    play.give(said("bob", "Hello.")).unwrap();
    // The next is a person again.
    assert_eq!(play.conversation.next(), [Step::AwaitHuman(Awaited::patiently("ada".parse().unwrap()))]);
    for (words, expected) in
        [(" \n", Rejected::EmptyMessage), (&*"x".repeat(20_001), Rejected::TooLong(20_001, 20_000))]
    {
        assert_eq!(play.conversation.on(said("ada", words)), Err(expected));
    }
}

#[test]
fn the_same_key_is_the_same_message() {
    let keyed = |words: &str, key: &str| Input::HumanSaid {
        who: "ada".parse().unwrap(),
        text: text(words),
        origin: Origin { key: Some(key.into()), ..Origin::default() },
    };
    let mut play = Play::start(discussion(&ORDER, 1)).unwrap();
    play.give(keyed("It leaks.", "k1")).unwrap();
    assert_eq!(play.conversation.on(keyed("It leaks.", "k1")), Ok(vec![]), "while the others speak");
    assert_eq!(play.conversation.on(keyed("It drips.", "k1")), Err(Rejected::KeyUsed));
    assert!(matches!(play.conversation.on(keyed("It leaks.", "k2")), Err(Rejected::NotYourTurn(_))));
    play.agents(turn);
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
    assert_eq!(play.conversation.on(keyed("It leaks.", "k1")), Ok(vec![]), "and when all is over");
    assert_eq!(play.state().entries[0].metadata.idempotency_key.as_deref(), Some("k1"));
    // A fork is another discussion.
    let id = SessionId::from_bytes([9; 16]);
    let more = Change { max_rounds: Some(2), ..Change::default() };
    let (forked, _) = fork(&play.records, play.conversation.stage().head(), id, more, Default::default()).unwrap();
    assert!(forked.on(keyed("It leaks.", "k1")).is_ok_and(|events| events.len() == 2));
}

#[test]
fn a_pause_takes_no_words_asks_nobody_and_is_gone_on_from() {
    let mut play = Play::start(discussion(&ORDER, 2)).unwrap();
    play.give(said("ada", "It leaks.")).unwrap();
    let ask = play.begin().remove(0);
    let cut = vec![Cut { ask: ask.id.clone(), partial: text("I s"), usage: None }];
    play.give(Input::Halted { why: Halt::StopPressed, cut }).unwrap();
    assert_eq!(
        (play.state().project.status, play.state().next_speaker.as_deref()),
        (DiscussionStatus::Paused, Some("max"))
    );
    assert_eq!(play.conversation.next(), []);
    assert_eq!(play.conversation.on(said("ada", "Hello?")), Err(Rejected::Paused));
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    let again = play.begin().remove(0);
    assert_eq!((again.id.attempt, again.request), (2, ask.request));
    assert_eq!(play.state().project.status, DiscussionStatus::Active);
    // While a person is waited for, it is the same.
    let mut play = Play::start(discussion(&ORDER, 2)).unwrap();
    play.give(Input::Halted { why: Halt::StopPressed, cut: Vec::new() }).unwrap();
    assert_eq!(play.conversation.on(said("ada", "Hello?")), Err(Rejected::Paused));
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    play.give(said("ada", "Hello.")).unwrap();
}

#[test]
fn a_person_may_take_days() {
    let mut setup = discussion(&ORDER, 2);
    setup.limits.max_seconds = 10;
    let mut play = Play::start(setup).unwrap();
    for words in ["It leaks.", "And the cost?"] {
        assert_eq!(play.conversation.stage().deadline(), None);
        play.wait_ms(5 * 86_400_000);
        play.give(said("ada", words)).unwrap();
        assert!(play.conversation.stage().deadline().is_some());
        play.agents(turn);
    }
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
    assert_eq!(play.conversation.stage().active_ms(), 6_000);
}

#[test]
fn agents_alone_pause_after_twenty_turns() {
    let mut play = Play::start(discussion(&["manager=max", "specialist=sue", "specialist=sam"], 10)).unwrap();
    play.agents(turn);
    assert_eq!(play.conversation.stage().ended(), Some(Reason::CAP_REACHED));
    assert_eq!(play.entries().len(), MAX_TURN_ITERATIONS as usize);
    assert_eq!(play.state().project.status, DiscussionStatus::Paused);
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    play.agents(turn);
    assert_eq!((play.conversation.stage().ended(), play.entries().len()), (Some(Reason::COMPLETED), 30));
}

#[test]
fn who_takes_part_can_be_changed_before_anybody_spoke() {
    let reseat = |written: &[&str]| {
        let (participants, cast) = seats(written);
        Input::Proposed { decision: polylogue_core::format::Decision::new(Decision::Reseated { participants, cast }) }
    };
    let mut play = Play::start(discussion(&ORDER, 1)).unwrap();
    play.give(reseat(&["user=bob", "leader=lea", "manager=max"])).unwrap();
    assert_eq!(play.conversation.on(said("ada", "Hi.")), Err(Rejected::NotInCast("ada".parse().unwrap())));
    play.give(said("bob", "It leaks.")).unwrap();
    assert_eq!(play.conversation.on(reseat(&ORDER)), Err(Rejected::Begun));
    play.agents(turn);
    assert_eq!(play.entries(), ["1.0 bob: It leaks.", "1.1 lea: lea in round 1.", "1.2 max: max in round 1."]);
    assert_eq!(play.state().speaker_order.iter().map(|name| &**name).collect::<Vec<_>>(), ["bob", "lea", "max"]);

    // An agent may become the first.
    let mut play = Play::start(discussion(&ORDER, 1)).unwrap();
    play.give(reseat(&["manager=max", "user=ada"])).unwrap();
    assert_eq!(play.begin()[0].id.agent.as_str(), "max");
    assert_eq!(play.conversation.on(reseat(&ORDER)), Err(Rejected::Begun), "it has been asked");
    let fixed = Play::start(crate::support::collaboration(&["a", "b"], 2)).unwrap();
    assert_eq!(fixed.conversation.on(reseat(&ORDER)), Err(Rejected::NotForOthers));
}

#[test]
fn a_complete_one_goes_on_with_more_rounds_only() {
    let mut play = whole();
    let resume = |rounds| Input::ResumePressed { change: Change { max_rounds: rounds, ..Change::default() } };
    assert_eq!(play.conversation.on(resume(None)), Err(Rejected::Complete(Reason::COMPLETED)));
    assert_eq!(play.conversation.on(resume(Some(2))), Err(Rejected::Complete(Reason::COMPLETED)));
    // So does a copy of it, also one without the end.
    let last = play.records.iter().rfind(|record| record.event.decided::<Decision>().is_some()).unwrap().seq;
    for at in [last, play.conversation.stage().head()] {
        let more = Change { max_rounds: Some(3), ..Change::default() };
        let (forked, records) =
            fork(&play.records, at, SessionId::from_bytes([9; 16]), more, Default::default()).unwrap();
        assert_eq!(forked.next(), [Step::AwaitHuman(Awaited::patiently("ada".parse().unwrap()))]);
        let state = DiscussionState::of(&records).unwrap();
        assert_eq!((state.project.current_round, state.next_speaker.as_deref()), (3, Some("ada")));
    }
    play.give(resume(Some(3))).unwrap();
    let state = play.state();
    assert_eq!((state.project.current_turn_index, state.project.current_round), (0, 3));
    assert_eq!((state.project.status, state.next_speaker.as_deref()), (DiscussionStatus::Active, Some("ada")));
    play.give(said("ada", "Well?")).unwrap();
    play.agents(turn);
    assert_eq!(play.entries()[8..].len(), 4);
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
}

#[test]
fn a_limit_pauses_it_before_the_call_that_could_pass_it() {
    let mut setup = discussion(&ORDER, 2);
    setup.limits.max_tokens = 10;
    let mut play = Play::start(setup).unwrap();
    play.give(said("ada", "It leaks.")).unwrap();
    play.agents(turn);
    assert_eq!(play.conversation.stage().ended(), Some(Reason::LIMIT_TOKENS));
    assert_eq!(play.state().project.status, DiscussionStatus::Paused);
    let still = Rejected::StillAtLimit(Reason::LIMIT_TOKENS);
    assert_eq!(play.conversation.on(said("ada", "Hello?")), Err(still.clone()));
    assert_eq!(play.conversation.on(Input::ResumePressed { change: Change::default() }), Err(still));
    let limits = Some(Limits::default());
    play.give(Input::ResumePressed { change: Change { limits, ..Change::default() } }).unwrap();
    play.agents(turn);
    assert_eq!(play.entries().len(), 4);
}

#[test]
fn a_setup_that_cannot_work_is_refused_before_anything_happens() {
    fn settings(setup: &mut Setup) -> &mut Settings {
        setup.format.settings_mut().unwrap()
    }
    let participants = |problem: &str| BadSetup::settings(format!("the participants: {problem}"));
    type Case = (fn(&mut Setup), BadSetup);
    let cases: Vec<Case> = vec![
        (
            |setup| settings(setup).title = " ".into(),
            BadSetup::settings("the title is empty: say what the discussion is about"),
        ),
        (|setup| settings(setup).title = "x".repeat(201).into(), BadSetup::TooLong(201, 200)),
        (|setup| settings(setup).topic = Some("x".repeat(20_001).into()), BadSetup::TooLong(20_001, 20_000)),
        (|setup| settings(setup).max_rounds = 0, BadSetup::Rounds(0, 1_000)),
        (|setup| settings(setup).max_rounds = 1_001, BadSetup::Rounds(1_001, 1_000)),
        (|setup| settings(setup).participants.truncate(1), participants("there is no agent among them")),
        (|setup| settings(setup).participants.clear(), participants("there is no agent among them")),
        (
            |setup| settings(setup).participants[1] = settings(setup).participants[2].clone(),
            BadSetup::Twice("sue".into()),
        ),
        (
            |setup| settings(setup).participants.truncate(3),
            participants("somebody of the cast has no place in the order"),
        ),
        (
            |setup| setup.cast = Cast::new(setup.cast.agents().to_vec(), vec![]).unwrap(),
            participants("`ada` is not in the cast"),
        ),
        (
            |setup| settings(setup).participants[0].role = polylogue_core::format::discussion::Role::Leader,
            participants("`ada` is a person, and a leader is an agent"),
        ),
        (
            |setup| settings(setup).participants[1].role = polylogue_core::format::discussion::Role::User,
            participants("`max` is an agent, and a user is a person"),
        ),
    ];
    for (adjust, problem) in cases {
        let mut setup = discussion(&ORDER, 2);
        adjust(&mut setup);
        assert_eq!(Play::start(setup).err(), Some(problem));
    }
    let mut setup = discussion(&ORDER, 2);
    setup.templates.insert("discussion_turn.j2".into(), "{{ nobody }}".into());
    assert!(matches!(Play::start(setup).err(), Some(BadSetup::Template { .. })));
}

#[test]
fn a_stale_answer_changes_nothing() {
    let mut play = Play::start(discussion(&ORDER, 2)).unwrap();
    play.give(said("ada", "It leaks.")).unwrap();
    let ask = play.begin().remove(0);
    play.answer(&ask, "I see.");
    let late = play.conversation.on(Input::Answered { ask: ask.id.clone(), answer: Answer::default() });
    assert_eq!(late, Err(Rejected::NotAsked(ask.id)));
    let reasked = play.records.iter().any(|record| matches!(record.event.decided(), Some(Decision::Reasked { .. })));
    assert!(!reasked);
    assert_eq!(Conversation::replay(&play.records).unwrap(), play.conversation);
}
