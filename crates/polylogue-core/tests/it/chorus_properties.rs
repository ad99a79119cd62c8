//! What holds for every chorus, whatever the models, the voices and the machine do.

use std::collections::BTreeMap;

use crate::{
    chorus::{good, slot_of, speak, stream},
    support::{Play, chorus, comment_on},
};
use polylogue_core::{
    Conversation, Event, Halt, Input, Step,
    event::{CallFailure, FailureKind},
    format::chorus::{Decision, Phase, kind},
    ledger::Usage,
    projection::Outcome,
    setup::Change,
};
use proptest::prelude::*;

/// What happens to one of the steps that are open.
#[derive(Clone, Debug)]
enum Chance {
    /// The reply is as it should be, but for the slot that is commented on.
    Good(u8),
    Garbage(String),
    Fail,
    Clip(bool),
    Crash,
    StopAndResume,
}

fn chance() -> impl Strategy<Value = Chance> {
    prop_oneof![
        12 => (0..8u8).prop_map(Chance::Good),
        2 => any::<String>().prop_map(Chance::Garbage),
        2 => Just(Chance::Fail),
        8 => prop::bool::weighted(0.8).prop_map(Chance::Clip),
        1 => Just(Chance::Crash),
        1 => Just(Chance::StopAndResume),
    ]
}

fn happen(play: &mut Play, chance: &Chance, which: usize, slots: u8) {
    let wanted: Vec<_> = play
        .conversation
        .next()
        .into_iter()
        .filter_map(|step| if let Step::Speak(line) = step { Some(line) } else { None })
        .collect();
    let asks = play.begin();
    play.wait_ms(10);
    let ask = asks.get(which % asks.len().max(1));
    match (chance, ask) {
        (Chance::Good(target), Some(ask)) if *target > 0 && ask.id.purpose.as_str() == "comment" => {
            play.answer(ask, &comment_on(*target, "A word."));
        }
        (Chance::Good(_), Some(ask)) => play.answer(ask, &good(ask, slots)),
        (Chance::Garbage(text), Some(ask)) => play.answer(ask, text),
        (Chance::Fail, Some(ask)) => {
            let failure = CallFailure { kind: FailureKind::Network, message: String::new() };
            let (ask, usage) = (ask.id.clone(), Usage::default());
            play.give(Input::AskFailed { ask, failure, usage, retries: 0 }).unwrap();
        }
        (Chance::Clip(is_made), _) if !wanted.is_empty() => speak(play, wanted[which % wanted.len()], *is_made),
        (Chance::Crash, _) if play.conversation.stage().ended().is_none() => {
            play.give(Input::ResumePressed { change: Change::default() }).unwrap();
        }
        (Chance::StopAndResume, _) if play.conversation.stage().ended().is_none() => {
            play.give(Input::Halted { why: Halt::StopPressed, cut: Vec::new() }).unwrap();
            play.give(Input::ResumePressed { change: Change::default() }).unwrap();
        }
        _ => {}
    }
}

fn played(slots: u8, seed: u64, chances: &[(Chance, usize)]) -> Play {
    let mut setup = chorus(slots);
    setup.seed = seed;
    let mut play = Play::start(setup).unwrap();
    for (chance, which) in chances {
        happen(&mut play, chance, *which, slots);
    }
    // Left alone with good models and voices, it ends.
    let mut steps = 0;
    while play.conversation.stage().ended().is_none() {
        steps += 1;
        assert!(steps < 200, "it does not end");
        happen(&mut play, &Chance::Good(0), 0, slots);
        happen(&mut play, &Chance::Clip(true), 0, slots);
    }
    play
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_rules_hold(slots in 1..=6u8, seed: u64, chances in prop::collection::vec((chance(), any::<usize>()), 0..60)) {
        let play = played(slots, seed, &chances);
        let (mut forwarded, mut failed) = (BTreeMap::new(), Vec::new());
        for record in &play.records {
            match &record.event {
                Event::LineSpoken { speaker, to: Some(to), kind, .. } => {
                    prop_assert_ne!(speaker.name(), to.as_str(), "a slot comments on itself");
                    prop_assert_eq!(*kind, kind::COMMENT);
                }
                Event::Decided(decision) => match decision.open() {
                    Some(Decision::Routed { target, forwarded: passed_on, .. }) => {
                        prop_assert!(passed_on.len() <= 3);
                        forwarded.insert(*target, passed_on.len());
                    }
                    Some(Decision::SlotFailed { slot, .. }) => failed.push(*slot),
                    _ => {}
                },
                Event::LineSpoken { speaker, kind: kind::REPLY, .. } => {
                    let slot = speaker.name().trim_start_matches("slot-").parse::<u8>().unwrap().try_into().unwrap();
                    prop_assert!(forwarded.get(&slot).is_some_and(|comments| *comments > 0), "nobody asked {slot}");
                }
                _ => {}
            }
        }
        failed.sort_unstable();
        failed.dedup();
        let events = stream(&play.records);
        let done = format!("done {{\"completedSlots\":{}", usize::from(slots) - failed.len());
        prop_assert!(events.last().unwrap().contains(&done), "{} is not {done}", events.last().unwrap());
    }

    #[test]
    fn the_order_of_the_stream_holds(slots in 1..=6u8, chances in prop::collection::vec((chance(), any::<usize>()), 0..60)) {
        let play = played(slots, 1, &chances);
        // Turn n+1 asks nobody before turn n has its last text.
        let mut texts_complete = 0;
        for record in &play.records {
            match &record.event {
                Event::Asked { ask, .. } => prop_assert!(ask.turn <= texts_complete + 1),
                Event::LineSpoken { ask: Some(ask), .. } => prop_assert_eq!(ask.turn, texts_complete + 1),
                event => {
                    if let Some(Decision::TurnEnded { turn, .. }) = event.decided() {
                        texts_complete = *turn % 3;
                    }
                }
            }
        }
        let mut names: Vec<(String, serde_json::Value)> = Vec::new();
        for event in stream(&play.records) {
            let mut parts = event.splitn(3, ' ').skip(1);
            names.push((parts.next().unwrap().to_owned(), serde_json::from_str(parts.next().unwrap()).unwrap()));
        }
        for turn in Phase::ALL {
            let at = |name: &str| names.iter().position(|(event, value)| event == name && value["turnIndex"] == turn.index());
            let Some(done) = at("turn.done") else { continue };
            prop_assert!(at("turn.start").unwrap() < done);
            prop_assert!(at("turn.audio").is_some_and(|audio| audio > done) || names.last().unwrap().1["reason"] != serde_json::Value::Null);
        }
        let ends = names.iter().filter(|(name, _)| name == "done").count();
        prop_assert_eq!(&names.last().unwrap().0, "done");
        prop_assert!(ends >= 1);
    }

    #[test]
    fn the_fold_of_the_journal_is_the_live_state(slots in 1..=6u8, chances in prop::collection::vec((chance(), any::<usize>()), 0..40)) {
        let mut play = Play::start(chorus(slots)).unwrap();
        for (chance, which) in &chances {
            happen(&mut play, chance, *which, slots);
        }
        let again = Conversation::replay(&play.records).unwrap();
        prop_assert_eq!(&again, &play.conversation);
        prop_assert_eq!(again.next(), play.conversation.next());
        prop_assert_eq!(Outcome::of(&again), Outcome::of(&play.conversation));
        for record in play.records {
            prop_assert_eq!(Event::decode(&record.event.encode()), Ok(record.event));
        }
    }

    #[test]
    fn peers_come_in_an_order_of_each_slots_own(seed: u64) {
        let mut setup = chorus(6);
        setup.seed = seed;
        let mut play = Play::start(setup).unwrap();
        for ask in play.begin() {
            play.answer(&ask, &good(&ask, 6));
        }
        let asks = play.begin();
        let mut orders = Vec::new();
        for ask in &asks {
            let shown = |slot: &u8| ask.request.prompt.find(&format!("Slot {slot}: I am {slot}."));
            let mut peers: Vec<u8> = (1..=6).filter(|slot| *slot != slot_of(ask)).collect();
            prop_assert!(peers.iter().all(|slot| shown(slot).is_some()));
            prop_assert!(shown(&slot_of(ask)).is_none());
            peers.sort_by_key(|slot| shown(slot));
            orders.push(peers);
        }
        prop_assert!(orders.iter().any(|order| !order.is_sorted()), "{:?}", orders);
    }
}
