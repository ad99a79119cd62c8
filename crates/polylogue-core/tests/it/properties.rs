//! What holds for every conversation, whatever the models, the people and the machine do.

use crate::support::{Play, collaboration, handoff, said, text};
use polylogue_core::{
    Answer, Conversation, Cut, Event, Halt, Input, Step,
    event::{CallFailure, FailureKind},
    id::{LineId, Seq},
    ledger::Usage,
    line::{Clip, ClipState},
    projection::{Outcome, fork, plain_text, request_behind},
    setup::Change,
};
use proptest::prelude::*;

/// Something that happens; what it is about is chosen from what is open at that moment.
#[derive(Clone, Debug)]
enum Chance {
    Reply(String),
    HandOver(u8),
    /// A reply that ends after so many characters, because the output limit is reached there.
    BreakOff(u8),
    Fail,
    Clip(bool),
    Say(String),
    Stop(String),
    TimeIsUp,
    /// With or without speech from there on, or as before.
    Resume(Option<bool>),
    Crash,
    StaleAnswer,
}

fn chance() -> impl Strategy<Value = Chance> {
    prop_oneof![
        2 => any::<String>().prop_map(Chance::Reply),
        1 => any::<Vec<u8>>().prop_map(|bytes| Chance::Reply(String::from_utf8_lossy(&bytes).into_owned())),
        8 => any::<u8>().prop_map(Chance::HandOver),
        2 => any::<u8>().prop_map(Chance::BreakOff),
        1 => Just(Chance::Fail),
        4 => any::<bool>().prop_map(Chance::Clip),
        1 => ".{0,20}".prop_map(Chance::Say),
        1 => ".{0,20}".prop_map(Chance::Stop),
        1 => Just(Chance::TimeIsUp),
        3 => any::<Option<bool>>().prop_map(Chance::Resume),
        2 => Just(Chance::Crash),
        1 => Just(Chance::StaleAnswer),
    ]
}

const NAMES: [&str; 3] = ["ann", "ben", "cleo"];

/// Lets something happen. Whatever it is, it must not panic.
fn happen(play: &mut Play, chance: Chance) {
    let steps = play.conversation.next();
    let ask = steps.iter().find_map(|step| match step {
        Step::Ask(ask) => Some(ask.id.clone()),
        Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
    });
    let clip = steps.iter().find_map(|step| match step {
        Step::Speak(line) => Some(*line),
        Step::Ask(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
    });
    for step in &steps {
        play.record(play.conversation.begin(step));
    }
    play.wait_ms(500);
    let answered = |text: &str| Answer { text: text.into(), ..Answer::default() };
    let input = match (chance, ask, clip) {
        (Chance::Reply(reply), Some(ask), _) => Input::Answered { ask, answer: answered(&reply) },
        (Chance::HandOver(to), Some(ask), _) => {
            let reply = handoff("Go.", NAMES[usize::from(to) % NAMES.len()], "Go on.");
            Input::Answered { ask, answer: answered(&reply) }
        }
        (Chance::BreakOff(after), Some(ask), _) => {
            let reply: String = handoff("Go.", NAMES[0], "Go on.").chars().take(after.into()).collect();
            Input::Answered { ask, answer: Answer { is_full: true, ..answered(&reply) } }
        }
        (Chance::Fail, Some(ask), _) => {
            let failure = CallFailure { kind: FailureKind::Network, message: String::new() };
            Input::AskFailed { ask, failure, usage: Usage::default(), retries: 3 }
        }
        (Chance::Clip(true), _, Some(line)) => {
            Input::ClipMade { line, clip: Clip { path: "a.wav".into(), duration_ms: 10, ..Clip::default() } }
        }
        (Chance::Clip(false), _, Some(line)) => Input::ClipFailed { line, error: "no voice".into() },
        (Chance::Say(words), _, _) => said("you", &words),
        (Chance::Stop(partial), ask, _) => {
            let cut = ask.into_iter().map(|ask| Cut { ask, partial: text(&partial), usage: None }).collect();
            Input::Halted { why: Halt::StopPressed, cut }
        }
        (Chance::TimeIsUp, _, _) => Input::Halted { why: Halt::TimeIsUp, cut: Vec::new() },
        (Chance::Resume(speech), _, _) => Input::ResumePressed { change: Change { speech, ..Change::default() } },
        (Chance::Crash, _, _) => Input::ResumePressed { change: Change::default() },
        (Chance::StaleAnswer, Some(mut ask), _) => {
            ask.turn += 1;
            Input::Answered { ask, answer: answered("{}") }
        }
        (
            Chance::Reply(_)
            | Chance::HandOver(_)
            | Chance::BreakOff(_)
            | Chance::Fail
            | Chance::Clip(_)
            | Chance::StaleAnswer,
            _,
            _,
        ) => return,
    };
    // A rejected input leaves no trace.
    let before = play.conversation.clone();
    if play.give(input).is_err() {
        assert_eq!(play.conversation, before);
    }
}

const ROUNDS: u32 = 6;

fn played(chances: Vec<Chance>, speech: bool) -> Play {
    let mut setup = collaboration(&NAMES, ROUNDS);
    setup.speech = speech;
    let mut play = Play::start(setup).unwrap();
    for chance in chances {
        happen(&mut play, chance);
    }
    play
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_fold_of_the_journal_is_the_live_state(chances in proptest::collection::vec(chance(), 0..60), speech: bool) {
        let play = played(chances, speech);
        let again = Conversation::replay(&play.records).unwrap();
        prop_assert_eq!(&again, &play.conversation);
        prop_assert_eq!(again.next(), play.conversation.next());
        prop_assert_eq!(Outcome::of(&again), Outcome::of(&play.conversation));
    }

    #[test]
    fn what_is_stored_reads_back_the_same(chances in proptest::collection::vec(chance(), 0..30), speech: bool) {
        for record in played(chances, speech).records {
            prop_assert_eq!(Event::decode(&record.event.encode()), Ok(record.event));
        }
    }

    #[test]
    fn every_session_stays_within_its_bounds(chances in proptest::collection::vec(chance(), 0..120), speech: bool) {
        let play = played(chances, speech);
        let messages = play.records.iter().filter(|record| matches!(record.event, Event::LineSpoken { .. })).count();
        prop_assert!(messages <= ROUNDS as usize);
        // Left alone with models that answer and voices that speak, it ends, and within what is left.
        let mut play = play;
        let mut inputs = 0;
        while play.conversation.stage().ended().is_none() {
            inputs += 1;
            prop_assert!(inputs <= 4 * ROUNDS, "it does not end");
            let wanted: Vec<LineId> = play.conversation.next().iter().filter_map(|step| match step {
                Step::Speak(line) => Some(*line),
                Step::Ask(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
            }).collect();
            let asks = play.begin();
            for ask in &asks {
                play.answer(ask, &handoff("Go.", "ann", "Go on."));
            }
            for line in wanted {
                play.give(Input::ClipFailed { line, error: String::new() }).unwrap();
            }
        }
        let lines = play.conversation.stage().transcript().lines();
        prop_assert!(lines.iter().all(|line| line.clip != ClipState::Wanted) || !speech || play.conversation.stage().ended().is_some());
    }

    #[test]
    fn nothing_is_asked_twice_and_no_answer_counts_twice(chances in proptest::collection::vec(chance(), 0..60)) {
        let play = played(chances, false);
        let mut answered = Vec::new();
        for record in &play.records {
            match &record.event {
                Event::Answered { ask, .. } | Event::AskFailed { ask, .. } | Event::AskCut { ask, .. } => {
                    prop_assert!(!answered.contains(ask), "{ask} was closed twice");
                    answered.push(ask.clone());
                }
                Event::Asked { ask, .. } => prop_assert!(!answered.contains(ask), "{ask} had been answered"),
                _ => {}
            }
        }
    }

    #[test]
    fn every_place_can_be_looked_into_and_forked(chances in proptest::collection::vec(chance(), 0..40), at in 1..40u64) {
        let play = played(chances, false);
        prop_assert!(!plain_text(&play.conversation).is_empty());
        for line in play.conversation.stage().transcript().lines() {
            let insight = request_behind(&play.records, line.id);
            prop_assert_eq!(insight.is_ok(), line.ask.is_some());
            prop_assert!(insight.is_ok_and(|insight| insight.is_exact) || line.ask.is_none());
        }
        let id = polylogue_core::id::SessionId::from_bytes([2; 16]);
        let now = play.conversation.stage().last_at();
        if let Ok((forked, records)) = fork(&play.records, Seq(at), id, Change::default(), now) {
            prop_assert!(forked.stage().ended().is_none());
            prop_assert!(!forked.next().is_empty());
            prop_assert_eq!(Conversation::replay(&records).unwrap(), forked);
        }
    }
}
