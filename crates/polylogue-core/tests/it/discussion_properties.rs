//! What holds for every discussion, whatever the models, the people and the machine do.

use crate::support::{Play, discussion, said, text};
use polylogue_core::{
    Answer, Conversation, Cut, Event, Halt, Input, Record, Setup, Step,
    event::{CallFailure, FailureKind},
    format::discussion::{
        Closing, Decision, DiscussionChange, DiscussionState, MAX_TURN_ITERATIONS, Settings, discussion_changes, kind,
    },
    id::{Seq, SessionId},
    ledger::Usage,
    projection::{Outcome, fork, plain_text, request_behind},
    setup::Change,
};
use proptest::prelude::*;

/// Something that happens; what it is about is chosen from what is open at that moment.
#[derive(Clone, Debug)]
enum Chance {
    Reply(String),
    Speak,
    Say(u8, String),
    Fail(bool),
    Stop(String),
    TimeIsUp,
    Resume,
    Crash,
    StaleAnswer,
}

fn chance() -> impl Strategy<Value = Chance> {
    prop_oneof![
        2 => "((ada|max|sue|bob|\\[|:|\n| |[a-z]){0,5}){0,6}".prop_map(Chance::Reply),
        1 => any::<String>().prop_map(Chance::Reply),
        6 => Just(Chance::Speak),
        6 => (any::<u8>(), ".{0,12}").prop_map(|(who, words)| Chance::Say(who, words)),
        2 => any::<bool>().prop_map(Chance::Fail),
        1 => ".{0,9}".prop_map(Chance::Stop),
        1 => Just(Chance::TimeIsUp),
        3 => Just(Chance::Resume),
        2 => Just(Chance::Crash),
        1 => Just(Chance::StaleAnswer),
    ]
}

const ORDERS: [&[&str]; 4] = [
    &["user=ada", "manager=max", "specialist=sue"],
    &["manager=max", "user=ada", "specialist=sue", "user=bob"],
    &["manager=max", "specialist=sue"],
    &["user=bob", "user=ada", "leader=max", "specialist=sue"],
];
const ROUNDS: u32 = 3;

fn happen(play: &mut Play, chance: Chance) {
    let ask = play.begin().into_iter().next().map(|ask| ask.id);
    play.wait_ms(500);
    let answered = |text: &str| Answer { text: text.into(), ..Answer::default() };
    let input = match (chance, ask) {
        (Chance::Reply(reply), Some(ask)) => Input::Answered { ask, answer: answered(&reply) },
        (Chance::Speak, Some(ask)) => Input::Answered { ask, answer: answered("Yes, and more.") },
        (Chance::Speak, None) => match play.conversation.next().as_slice() {
            [Step::AwaitHuman(person)] => said(person.who.as_str(), "And?"),
            _ => return,
        },
        (Chance::Say(who, words), _) => said(["ada", "bob", "eve"][usize::from(who) % 3], &words),
        (Chance::Fail(is_bad), Some(ask)) => {
            let kind = if is_bad { FailureKind::BadResponse } else { FailureKind::Network };
            let failure = CallFailure { kind, message: String::new() };
            Input::AskFailed { ask, failure, usage: Usage::default(), retries: 3 }
        }
        (Chance::Stop(partial), ask) => {
            let cut = ask.into_iter().map(|ask| Cut { ask, partial: text(&partial), usage: None }).collect();
            Input::Halted { why: Halt::StopPressed, cut }
        }
        (Chance::TimeIsUp, _) => Input::Halted { why: Halt::TimeIsUp, cut: Vec::new() },
        (Chance::Resume | Chance::Crash, _) => Input::ResumePressed { change: Change::default() },
        (Chance::StaleAnswer, Some(mut ask)) => {
            ask.turn += 1;
            Input::Answered { ask, answer: answered("Late.") }
        }
        (Chance::Reply(_) | Chance::Fail(_) | Chance::StaleAnswer, None) => return,
    };
    // A rejected input leaves no trace.
    let before = play.conversation.clone();
    if play.give(input).is_err() {
        assert_eq!(play.conversation, before);
    }
}

/// One of the orders; half of them close with a decision.
fn setup(order: usize) -> Setup {
    let mut setup = discussion(ORDERS[order % ORDERS.len()], ROUNDS);
    setup.format.settings_mut::<Settings>().unwrap().closing = closing(order);
    setup
}

fn closing(order: usize) -> Closing {
    if order < ORDERS.len() { Closing::Open } else { Closing::Decision }
}

fn played(order: usize, chances: Vec<Chance>) -> Play {
    let mut play = Play::start(setup(order)).unwrap();
    for chance in chances {
        happen(&mut play, chance);
    }
    play
}

fn chances(max: usize) -> impl Strategy<Value = Vec<Chance>> {
    proptest::collection::vec(chance(), 0..max)
}

/// The journal in the pieces in which it could have been appended: a consequence stays with what it follows from.
fn appends(records: &[Record]) -> Vec<&[Record]> {
    records.chunk_by(|_, next| next.event.is_consequence()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_fold_of_the_journal_is_the_live_state(order in 0..8usize, chances in chances(60)) {
        let play = played(order, chances);
        let again = Conversation::replay(&play.records).unwrap();
        prop_assert_eq!(&again, &play.conversation);
        prop_assert_eq!(again.next(), play.conversation.next());
        prop_assert_eq!(Outcome::of(&again), Outcome::of(&play.conversation));
        for record in play.records {
            prop_assert_eq!(Event::decode(&record.event.encode()), Ok(record.event));
        }
    }

    /// Turns follow each other in order without a gap, each once, and never past the last round.
    #[test]
    fn every_turn_is_taken_once_and_in_order(order in 0..8usize, chances in chances(120)) {
        let mut play = played(order, chances);
        let decisions = usize::from(closing(order) == Closing::Decision);
        let order = ORDERS[order % ORDERS.len()];
        let mut left = 400;
        while play.conversation.stage().ended() != Some(polylogue_core::Reason::COMPLETED) {
            left -= 1;
            prop_assert!(left > 0, "it does not end");
            if play.conversation.stage().ended().is_none() {
                happen(&mut play, Chance::Speak);
                continue;
            }
            let mut limits = *play.conversation.stage().limits();
            limits.max_seconds += 1_000;
            let change = Change { limits: Some(limits), ..Change::default() };
            play.give(Input::ResumePressed { change }).unwrap();
        }
        let mut in_a_row = 0;
        let mut turns = Vec::new();
        for record in &play.records {
            match &record.event {
                Event::Decided(decision) => {
                    let Some(Decision::TurnTaken { turn, next, .. }) = decision.open() else { continue };
                    turns.push((turn.round, turn.index));
                    let at = turns.len();
                    let expected = (at < order.len() * ROUNDS as usize)
                        .then(|| ((at / order.len()) as u32 + 1, (at % order.len()) as u32));
                    prop_assert_eq!(next.as_ref().map(|next| (next.round, next.index)), expected);
                    in_a_row = if order[turn.index as usize].starts_with("user") { 0 } else { in_a_row + 1 };
                    prop_assert!(in_a_row <= MAX_TURN_ITERATIONS);
                }
                Event::Resumed { .. } => in_a_row = 0,
                _ => {}
            }
        }
        let expected: Vec<(u32, u32)> =
            (1..=ROUNDS).flat_map(|round| (0..order.len() as u32).map(move |index| (round, index))).collect();
        prop_assert_eq!(&turns, &expected);
        let state = DiscussionState::of(&play.records).unwrap();
        prop_assert_eq!(state.entries.len(), expected.len() + decisions);
        let decided = state.entries.iter().filter(|entry| entry.metadata.kind == Some(kind::DECISION));
        prop_assert_eq!(decided.count(), decisions);
        for entry in &state.entries {
            prop_assert_eq!(entry.content.is_empty(), entry.metadata.failure.is_some());
            prop_assert!(!entry.content.contains('[') || entry.agent_id.is_none());
        }
    }

    /// The rows that each append brings are together the rows of the whole journal.
    #[test]
    fn rows_follow_from_what_was_written_together(order in 0..8usize, chances in chances(60)) {
        let play = played(order, chances);
        let id = play.conversation.stage().setup().id;
        let whole = discussion_changes(id, &play.records);
        let pieces: Vec<DiscussionChange> =
            appends(&play.records).into_iter().flat_map(|append| discussion_changes(id, append)).collect();
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn every_place_can_be_looked_into_and_forked(order in 0..8usize, chances in chances(40), at in 1..40u64) {
        let play = played(order, chances);
        prop_assert!(!plain_text(&play.conversation).is_empty());
        for line in play.conversation.stage().transcript().lines() {
            let insight = request_behind(&play.records, line.id);
            prop_assert_eq!(insight.is_ok(), line.ask.is_some());
            prop_assert!(insight.is_ok_and(|insight| insight.is_exact) || line.ask.is_none());
        }
        let id = SessionId::from_bytes([2; 16]);
        let now = play.conversation.stage().last_at();
        if let Ok((forked, records)) = fork(&play.records, Seq(at), id, Change::default(), now) {
            prop_assert!(forked.stage().ended().is_none());
            prop_assert!(!forked.next().is_empty());
            prop_assert_eq!(&Conversation::replay(&records).unwrap(), &forked);
            let state = DiscussionState::of(&records).unwrap();
            prop_assert!(state.entries.iter().all(|entry| entry.project_id == id));
        }
    }
}
