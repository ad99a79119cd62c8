//! What holds for every scene that people play in, whatever they, the models and the machine do.

use polylogue_core::{
    Awaited, Conversation, Event, Halt, Input, Record, Step, Timestamp,
    event::{Awaits, CallFailure, FailureKind},
    format::scene::Decision,
    ledger::Usage,
    projection::{Outcome, Status},
    setup::Change,
};
use proptest::prelude::*;

use crate::{
    scene::{settings, talkative},
    scene_person::with_people,
    support::{Play, said},
};

const NAMES: [&str; 4] = ["alice", "bob", "cleo", "dan"];

#[derive(Clone, Debug)]
enum Chance {
    Answers,
    Fails,
    Speaks(String),
    IsAbsent,
    Crash,
    StopAndResume,
}

fn chance() -> impl Strategy<Value = Chance> {
    prop_oneof![
        8 => Just(Chance::Answers),
        1 => Just(Chance::Fails),
        5 => prop_oneof![Just("Well, well.".to_owned()), Just("/pass".to_owned()), any::<String>()].prop_map(Chance::Speaks),
        3 => Just(Chance::IsAbsent),
        1 => Just(Chance::Crash),
        1 => Just(Chance::StopAndResume),
    ]
}

fn awaited(play: &Play) -> Vec<Awaited> {
    let steps = play.conversation.next().into_iter();
    steps.filter_map(|step| if let Step::AwaitHuman(awaited) = step { Some(awaited) } else { None }).collect()
}

/// Lets something happen. Whatever it is, it must not panic.
fn happen(play: &mut Play, chance: &Chance, which: usize) {
    let asks = play.begin();
    let people = awaited(play);
    play.wait_ms(500);
    let resume = Input::ResumePressed { change: Change::default() };
    match chance {
        Chance::Answers if !asks.is_empty() => {
            let ask = &asks[which % asks.len()];
            play.answer(ask, &talkative(ask).unwrap());
        }
        Chance::Fails if !asks.is_empty() => {
            let failure = CallFailure { kind: FailureKind::Overloaded, message: "busy".to_owned() };
            let ask = asks[which % asks.len()].id.clone();
            play.give(Input::AskFailed { ask, failure, usage: Usage::default(), retries: 3 }).unwrap();
        }
        Chance::Speaks(words) if !people.is_empty() => {
            drop(play.give(said(people[which % people.len()].who.as_str(), words)));
        }
        Chance::IsAbsent if !people.is_empty() => {
            play.give(Input::Absent(people[which % people.len()].clone())).unwrap();
        }
        Chance::Crash => drop(play.give(resume)),
        Chance::StopAndResume => {
            drop(play.give(Input::Halted { why: Halt::StopPressed, cut: Vec::new() }));
            drop(play.give(resume));
        }
        _ => {}
    }
}

/// What a list of sessions, which looks at the events alone, knows of whom is waited for.
fn listed(play: &Play) -> (bool, Vec<Option<Timestamp>>) {
    let says = |record: &Record| Some((record.event.awaits_person()?, record.at));
    let (awaits, since) = play.records.iter().filter_map(says).next_back().expect("the first record says it");
    (awaits != Awaits::Nobody, vec![awaits.until(since)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_scene_with_people_is_the_fold_of_its_journal(
        chances in prop::collection::vec((chance(), any::<usize>()), 1..80),
        many in 1..=3usize,
        opens in any::<bool>(),
        patience in prop::option::of(1..=600u32),
    ) {
        let people: Vec<&str> = NAMES[1..=many].to_vec();
        let mut setup = with_people(&NAMES, &people, 5);
        settings(&mut setup).patience = patience;
        settings(&mut setup).initial_speaker = opens.then(|| "bob".parse().unwrap());
        let mut play = Play::start(setup).unwrap();
        for (chance, which) in &chances {
            happen(&mut play, chance, *which);
            let stage = play.conversation.stage();
            if stage.ended().is_some() {
                continue;
            }
            let status = Outcome::of(&play.conversation).status;
            let (is_listed, until) = listed(&play);
            prop_assert_eq!(status == Status::Waiting, is_listed, "the list says the same as the fold:\n{}", play.journal());
            let (people, asks): (Vec<Step>, Vec<Step>) =
                play.conversation.next().into_iter().partition(|step| matches!(step, Step::AwaitHuman(_)));
            prop_assert_eq!(is_listed, !people.is_empty() && asks.is_empty());
            for Awaited { until: own, .. } in awaited(&play) {
                prop_assert_eq!(own, if is_listed { until[0] } else { None });
            }
        }
        let whole = Conversation::replay(&play.records).unwrap();
        prop_assert_eq!(&whole, &play.conversation);
        // Each character has had at most one turn in a beat, whoever played it.
        let mut turns: Vec<(u32, String)> = Vec::new();
        for record in &play.records {
            let turn = match &record.event {
                Event::HumanSpoke { ask: Some(ask), .. } => Some(ask),
                Event::Answered { ask, .. } if ask.purpose.as_str() == "act" => Some(ask),
                event => match event.decided::<Decision>() {
                    Some(Decision::PassedOver { ask }) => Some(ask),
                    _ => None,
                },
            };
            if let Some(ask) = turn {
                let turn = (ask.turn, ask.agent.to_string());
                prop_assert!(!turns.contains(&turn), "{turn:?} twice:\n{}", play.journal());
                turns.push(turn);
            }
        }
    }
}
