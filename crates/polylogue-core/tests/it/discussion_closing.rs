//! A discussion that closes with a decision: who states it, what it is told, and what the rows say.

use polylogue_core::{
    Conversation, Event, Input, Reason, Setup, Step,
    ask::Ask,
    event::{CallFailure, FailureKind},
    format::discussion::{
        Closing, Decision, DiscussionChange, DiscussionState, DiscussionStatus, Settings, discussion_changes, kind,
        purpose,
    },
    id::{Seq, SessionId},
    ledger::Usage,
    projection::{Outcome, fork, markdown, plain_text, request_behind},
    setup::Change,
};

use crate::support::{Play, discussion, said};

const ORDER: [&str; 4] = ["user=ada", "specialist=sue", "leader=max", "specialist=sam"];

fn closing(order: &[&str], rounds: u32) -> Setup {
    let mut setup = discussion(order, rounds);
    setup.format.settings_mut::<Settings>().expect("a discussion").closing = Closing::Decision;
    setup
}

fn reply(ask: &Ask) -> String {
    match ask.id.purpose {
        purpose::DECIDE => format!("{}: We repair it, because the slate is good.", ask.id.agent),
        _ => format!("{} in round {}.", ask.id.agent, ask.id.turn),
    }
}

/// Answers what is asked, and says something for the person, until it is over.
fn to_the_end(mut play: Play) -> Play {
    while play.conversation.stage().ended().is_none() {
        if let [Step::AwaitHuman(person)] = play.conversation.next().as_slice() {
            let words = format!("I see {}.", play.lines().len());
            play.give(said(person.who.as_str(), &words)).unwrap();
        }
        for ask in play.begin() {
            play.wait_ms(1_000);
            play.answer(&ask, &reply(&ask));
        }
    }
    play
}

fn whole() -> Play {
    to_the_end(Play::start(closing(&ORDER, 2)).unwrap())
}

fn state(play: &Play) -> DiscussionState {
    DiscussionState::of(&play.records).unwrap()
}

#[test]
fn the_leader_states_the_decision_after_the_rounds() {
    let play = whole();
    let lines = play.conversation.stage().transcript().lines();
    let decided = lines.iter().find(|line| line.kind == kind::DECISION).unwrap();
    assert_eq!((decided.speaker.name(), &*decided.text), ("max", "We repair it, because the slate is good."));
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
    insta::assert_snapshot!("closing_journal", play.journal().lines().rev().take(8).collect::<Vec<_>>().join("\n"));
    let insight = request_behind(&play.records, decided.id).unwrap();
    assert!(insight.is_exact);
    insta::assert_snapshot!("closing_request", insight.ask.request.to_string());
    insta::assert_json_snapshot!("closing_state", state(&play));
    assert!(plain_text(&play.conversation).contains("\nmax: We repair it, because the slate is good.\n"));
    assert!(markdown(&play.conversation).contains("**max:** We repair it"));
    let outcome = serde_json::to_value(Outcome::of(&play.conversation)).unwrap();
    let kinds: Vec<&str> =
        outcome["lines"].as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "decision").count(), 1);
}

#[test]
fn who_decides_follows_from_the_roles() {
    for (order, decides) in [
        (&["user=ada", "specialist=sue", "leader=max", "manager=mia"][..], "max"),
        (&["user=ada", "specialist=sue", "manager=mia", "specialist=sam"], "mia"),
        (&["specialist=sue", "specialist=sam", "user=ada"], "sam"),
        (&["specialist=sue"], "sue"),
    ] {
        let play = to_the_end(Play::start(closing(order, 1)).unwrap());
        let asked: Vec<&str> = play
            .records
            .iter()
            .filter_map(|record| match &record.event {
                Event::Asked { ask, .. } if ask.purpose == purpose::DECIDE => Some(ask.agent.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(asked, [decides], "{order:?}");
        assert_eq!(state(&play).decision.as_deref(), Some("We repair it, because the slate is good."));
    }
}

#[test]
fn without_the_wish_nothing_is_decided() {
    let play = to_the_end(Play::start(discussion(&ORDER, 2)).unwrap());
    assert!(!play.journal().contains("decide") && state(&play).decision.is_none());
}

#[test]
fn before_it_is_stated_the_discussion_is_active_and_nobody_else_may_speak() {
    let mut play = Play::start(closing(&["user=ada", "leader=max"], 1)).unwrap();
    play.give(said("ada", "It leaks.")).unwrap();
    let ask = play.begin().remove(0);
    play.answer(&ask, &reply(&ask));
    let before = state(&play);
    assert_eq!((before.project.status, before.next_speaker.as_deref()), (DiscussionStatus::Active, Some("max")));
    assert_eq!((before.project.current_turn_index, before.project.current_round), (2, 1));
    assert!(play.conversation.on(said("ada", "Wait.")).is_err());
    // Its words are asked for twice, and what is never said ends the discussion all the same.
    for _ in 0..2 {
        let ask = play.begin().remove(0);
        assert_eq!(ask.id.purpose, purpose::DECIDE);
        play.answer(&ask, "[He nods.]");
    }
    play.begin();
    let after = state(&play);
    assert_eq!((after.project.status, after.decision), (DiscussionStatus::Completed, None));
    assert!(after.entries.last().unwrap().metadata.failure.is_some());
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
}

#[test]
fn a_call_that_fails_states_no_decision() {
    let mut play = Play::start(closing(&["leader=max"], 1)).unwrap();
    let ask = play.begin().remove(0);
    play.answer(&ask, "It leaks.");
    let ask = play.begin().remove(0).id;
    let failure = CallFailure { kind: FailureKind::Network, message: "no".into() };
    play.give(Input::AskFailed { ask, failure, usage: Usage::default(), retries: 3 }).unwrap();
    play.begin();
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
    assert!(plain_text(&play.conversation).contains("Discussion completed"));
}

#[test]
fn killed_at_every_record_it_comes_to_the_same_decision() {
    let whole = whole();
    for at in 1..whole.records.len() {
        if whole.records[at].event.is_consequence() {
            continue;
        }
        let mut killed = Play::replay(&whole.records[..at]);
        killed.give(Input::ResumePressed { change: Change::default() }).unwrap();
        let again = to_the_end(killed);
        assert_eq!(again.lines(), whole.lines(), "killed after record {at}");
        let (mut one, mut other) = (state(&again), state(&whole));
        for entry in one.entries.iter_mut().chain(&mut other.entries) {
            (entry.metadata.seq, entry.metadata.usage, entry.created_at) = (Seq(0), None, String::new());
            entry.metadata.attempt = None;
        }
        assert_eq!((one.entries, one.decision), (other.entries, other.decision), "killed after record {at}");
    }
}

#[test]
fn what_is_discussed_further_is_decided_anew() {
    let mut play = whole();
    let change = Change { max_rounds: Some(3), ..Change::default() };
    play.give(Input::ResumePressed { change }).unwrap();
    let open = state(&play);
    assert_eq!((open.project.current_turn_index, open.project.current_round), (0, 3));
    assert_eq!((open.next_speaker.as_deref(), open.decision), (Some("ada"), None));
    let play = to_the_end(play);
    let turns: Vec<(u32, u32)> =
        state(&play).entries.iter().map(|entry| (entry.round_number, entry.turn_index)).collect();
    let mut distinct = turns.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(turns, distinct, "each place is filled once, in order");
    assert_eq!(turns.iter().filter(|(_, index)| *index == 4).count(), 2);
    // Rounds that are added while the decision is still due come before it.
    let mut due = Play::start(closing(&["leader=max"], 1)).unwrap();
    let ask = due.begin().remove(0);
    due.answer(&ask, "It leaks.");
    due.give(Input::Halted { why: polylogue_core::Halt::StopPressed, cut: Vec::new() }).unwrap();
    let change = Change { max_rounds: Some(2), ..Change::default() };
    due.give(Input::ResumePressed { change }).unwrap();
    assert_eq!((state(&due).project.current_turn_index, state(&due).project.current_round), (0, 2));
    let [next] = due.begin().try_into().unwrap();
    assert_eq!((next.id.purpose, next.id.turn), (purpose::DISCUSS, 2));
}

#[test]
fn a_fork_before_the_end_decides_for_itself() {
    let play = whole();
    let last = play.records.iter().rposition(|record| {
        record.event.decided().is_some_and(|decision: &Decision| matches!(decision, Decision::TurnTaken { .. }))
    });
    let (at, id) = (play.records[last.unwrap()].seq, SessionId::from_bytes([9; 16]));
    let (conversation, records) = fork(&play.records, at, id, Change::default(), play.conversation.stage().last_at())
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(Conversation::replay(&records).unwrap(), conversation);
    let forked = to_the_end(Play::replay(&records));
    assert_eq!(state(&forked).decision, state(&play).decision);
    let rows = discussion_changes(id, &forked.records);
    let logged = rows.iter().filter(|change| matches!(change, DiscussionChange::Logged(_)));
    assert_eq!(logged.count(), 9);
}
