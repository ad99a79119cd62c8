//! An agent asked about a line of its own, out of the session.

use polylogue_core::{
    Event, Input, Reason, Setup,
    ask::Role,
    event::{CallFailure, FailureKind},
    format::interview::Settings,
    id::{LineId, SessionId},
    ledger::Usage,
    projection::{Outcome, request_behind},
    setup::{BadSetup, Cast, Change, FormatSetup},
};

use crate::{
    scene::{scene, talkative},
    support::{Play, agent, chorus, collaboration, handoff, spoken},
};

/// An interview about a line of a session that was played.
fn about(play: &Play, line: u32, question: &str) -> Result<Play, BadSetup> {
    let of = play.conversation.stage().setup();
    let line = play.conversation.stage().transcript().get(LineId(line)).unwrap();
    let insight = request_behind(&play.records, line.id).unwrap();
    let name = insight.ask.id.agent.as_str();
    Play::start(Setup {
        id: SessionId::from_bytes([0x44; 16]),
        format: FormatSetup::new(Settings::about(of.id, line, &insight, question)),
        cast: Cast::new(vec![agent(name)], vec!["you".parse().unwrap()]).unwrap(),
        ..of.clone()
    })
}

#[test]
fn an_agent_is_asked_with_its_own_thread_as_it_was() {
    let acted = Play::start(scene(&["alice", "bob"], 3)).unwrap().run(|ask| talkative(ask).unwrap());
    let worked = Play::start(collaboration(&["ann", "ben"], 3)).unwrap().run(|_| handoff("Go.", "ben", "Go on."));
    let mut silent = chorus(2);
    silent.speech = false;
    let sang = Play::start(silent).unwrap().run(|_| spoken("Home."));
    for (session, line) in [(&acted, 3), (&worked, 2), (&sang, 2)] {
        let insight = request_behind(&session.records, LineId(line)).unwrap();
        let mut interview = about(session, line, Settings::DEFAULT_QUESTION).unwrap();
        let asks = interview.begin();
        let [ask] = asks.as_slice() else { panic!("{} asks", asks.len()) };
        let (request, then) = (&ask.request, &insight.ask.request);
        assert_eq!(request.system, then.system);
        let [before @ .., prompt, reply] = request.thread.messages() else { panic!("no thread") };
        assert_eq!(before, then.thread.messages());
        assert_eq!((prompt.role, &*prompt.text), (Role::User, &*then.prompt));
        assert_eq!((reply.role, &reply.text), (Role::Assistant, &insight.reply));
        let said = &session.conversation.stage().transcript().get(LineId(line)).unwrap().text;
        assert!(request.prompt.contains(&**said) && request.prompt.contains("Why did you say that?"));
        assert!(request.shape.is_none() && request.grammar.is_none(), "it answers in plain words");

        interview.answer(ask, "  Because I was afraid. ");
        interview.begin();
        assert_eq!(interview.conversation.stage().ended(), Some(Reason::COMPLETED));
        let who = ask.id.agent.as_str();
        assert_eq!(interview.lines(), ["you: Why did you say that?", &format!("{who}: Because I was afraid.")]);
        assert!(request_behind(&interview.records, LineId(2)).unwrap().is_exact);
        for record in &interview.records {
            assert_eq!(Event::decode(&record.event.encode()).as_ref(), Ok(&record.event));
        }
        assert_eq!(Outcome::of(&interview.conversation).format.as_ref(), "interview");
    }
}

#[test]
fn what_comes_to_nothing_is_a_failure_and_can_be_asked_again() {
    let acted = Play::start(scene(&["alice", "bob"], 2)).unwrap().run(|ask| talkative(ask).unwrap());
    for is_empty in [true, false] {
        let mut interview = about(&acted, 1, "Were you afraid?").unwrap();
        let ask = interview.begin().remove(0);
        if is_empty {
            interview.answer(&ask, " \n");
        } else {
            let failure = CallFailure { kind: FailureKind::Timeout, message: "no answer within 30 s".to_owned() };
            let (ask, usage) = (ask.id, Usage::default());
            interview.give(Input::AskFailed { ask, failure, usage, retries: 3 }).unwrap();
        }
        interview.begin();
        assert_eq!(interview.conversation.stage().ended(), Some(Reason::FAILED));
        interview.give(Input::ResumePressed { change: Change::default() }).unwrap();
        let again = interview.begin().remove(0);
        assert_eq!(again.id.attempt, 2);
        interview.answer(&again, "A little.");
        interview.begin();
        assert_eq!(interview.conversation.stage().ended(), Some(Reason::COMPLETED));
    }
    assert_eq!(about(&acted, 1, " ").err(), Some(BadSetup::settings("the question is empty: leave it out to ask why")));
    let long = "why ".repeat(1_000);
    assert_eq!(about(&acted, 1, &long).err(), Some(BadSetup::TooLong(3_999, Settings::MAX_QUESTION_CHARS)));
}
