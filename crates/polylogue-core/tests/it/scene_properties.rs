//! What holds for every scene, whatever the models and the machine do.

use std::collections::BTreeMap;

use polylogue_core::{
    Conversation, Cut, Event, Halt, Input, Record, Setup,
    ask::Ask,
    event::{CallFailure, FailureKind},
    format::scene::{AgentMode, Decision, MODERATOR, STAND_IN, Scheduled, WorldEvents, purpose},
    id::{AskId, Seq, SessionId},
    ledger::Usage,
    line::LineKind,
    projection::{Outcome, fork, plain_text, request_at, request_behind},
    setup::{Cast, Change},
};
use proptest::prelude::*;

use crate::{
    scene::{scene, settings, talkative},
    support::{Play, agent},
};

const NAMES: [&str; 3] = ["alice", "bob", "cleo"];
const BEATS: u32 = 6;

/// What happens to one of the asks that are open.
#[derive(Clone, Debug)]
enum Chance {
    Speaks(u8),
    Interrupts,
    Reacts,
    IsSilent,
    /// Says or judges whatever the bytes are.
    Babbles(String),
    Judges {
        percent: u8,
        is_end: bool,
    },
    Fails,
    Crash,
    StopAndResume(String),
    TimeIsUp,
}

fn chance() -> impl Strategy<Value = Chance> {
    prop_oneof![
        8 => any::<u8>().prop_map(Chance::Speaks),
        2 => Just(Chance::Interrupts),
        1 => Just(Chance::Reacts),
        4 => Just(Chance::IsSilent),
        2 => any::<String>().prop_map(Chance::Babbles),
        1 => any::<Vec<u8>>().prop_map(|bytes| Chance::Babbles(String::from_utf8_lossy(&bytes).into_owned())),
        8 => (0..=100u8, prop::bool::weighted(0.1)).prop_map(|(percent, is_end)| Chance::Judges { percent, is_end }),
        3 => Just(Chance::Fails),
        1 => Just(Chance::Crash),
        1 => ".{0,20}".prop_map(Chance::StopAndResume),
        1 => Just(Chance::TimeIsUp),
    ]
}

/// The scenes differ in all that decides who is asked for what.
#[derive(Clone, Debug)]
struct Kind {
    is_fresh: bool,
    has_memory: bool,
    has_opening: bool,
    has_stand_in: bool,
    events: u8,
}

fn kind() -> impl Strategy<Value = Kind> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..3u8);
    flags.prop_map(|(is_fresh, has_memory, has_opening, has_stand_in, events)| Kind {
        is_fresh,
        has_memory,
        has_opening,
        has_stand_in,
        events,
    })
}

fn set_up(kind: &Kind) -> Setup {
    let mut setup = scene(&NAMES, BEATS);
    let settings = settings(&mut setup);
    settings.agent_mode = if kind.is_fresh { AgentMode::Fresh } else { AgentMode::Thread };
    settings.memory = kind.has_memory;
    settings.story = Some("a story".into());
    settings.initial_speaker = kind.has_opening.then(|| "bob".parse().unwrap());
    settings.events = match kind.events {
        0 => WorldEvents::Auto,
        1 => WorldEvents::Off,
        _ => WorldEvents::At(vec![Scheduled { beat: 2, text: "Thunder".into() }]),
    };
    let agents = setup.cast.agents().to_vec();
    let crew = [MODERATOR, STAND_IN].map(agent).into_iter().take(1 + usize::from(kind.has_stand_in));
    setup.cast = Cast::new(agents, Vec::new()).unwrap().with_crew(crew.collect()).unwrap();
    setup
}

/// The reply to an ask; `None` where it fails.
fn reply(ask: &Ask, chance: &Chance) -> Option<String> {
    let own = ask.id.agent.as_str();
    let is_judge = ask.id.purpose == purpose::JUDGE;
    match chance {
        Chance::Speaks(words) if !is_judge => {
            Some(format!("[TO: Bob, TONE: calm] \"I am {own} and I have {words} things to say to you.\""))
        }
        Chance::Interrupts if !is_judge => {
            Some("[INTERRUPT after \"I am\", TONE: angry] \"No more of it!\"".to_owned())
        }
        Chance::Reacts if !is_judge => Some("[REACT, TONE: shocked, *gasps*]".to_owned()),
        Chance::IsSilent if !is_judge => Some("[SILENT]".to_owned()),
        Chance::Judges { percent, is_end } if is_judge => {
            let progress = f64::from(*percent) / 100.0;
            Some(format!(r#"{{"progress": {progress}, "goalReached": {is_end}, "naturalEnd": false}}"#))
        }
        Chance::Babbles(text) => Some(text.clone()),
        Chance::Fails => None,
        _ => talkative(ask),
    }
}

/// Lets something happen. Whatever it is, it must not panic.
fn happen(play: &mut Play, chance: &Chance, which: usize) {
    let asks = play.begin();
    play.wait_ms(500);
    let resume = Input::ResumePressed { change: Change::default() };
    match chance {
        Chance::Crash => drop(play.give(resume)),
        Chance::StopAndResume(partial) => {
            let cut = asks.into_iter().map(|ask| Cut { ask: ask.id, partial: partial.as_str().into(), usage: None });
            let halted = play.give(Input::Halted { why: Halt::StopPressed, cut: cut.collect() });
            halted.and_then(|()| play.give(resume)).ok();
        }
        Chance::TimeIsUp => drop(play.give(Input::Halted { why: Halt::TimeIsUp, cut: Vec::new() })),
        _ if asks.is_empty() => {}
        _ => {
            let ask = &asks[which % asks.len()];
            match reply(ask, chance) {
                Some(text) => play.answer(ask, &text),
                None => fail(play, &ask.id),
            }
        }
    }
}

fn fail(play: &mut Play, ask: &AskId) {
    let failure = CallFailure { kind: FailureKind::Overloaded, message: "busy".to_owned() };
    play.give(Input::AskFailed { ask: ask.clone(), failure, usage: Usage::default(), retries: 3 }).unwrap();
}

fn played(kind: &Kind, chances: &[(Chance, usize)]) -> Play {
    let mut play = Play::start(set_up(kind)).unwrap();
    for (chance, which) in chances {
        happen(&mut play, chance, *which);
    }
    play
}

/// Left alone with models that answer, it ends, and within what is left.
fn left_alone(play: &mut Play) {
    let mut asked = 0;
    while play.conversation.stage().ended().is_none() {
        for ask in play.begin() {
            asked += 1;
            assert!(asked <= (BEATS + 1) * 6, "it does not end");
            play.answer(&ask, &talkative(&ask).unwrap());
        }
    }
}

fn beats_begun(records: &[Record]) -> Vec<u32> {
    let begun = records.iter().filter_map(|record| match record.event.decided() {
        Some(Decision::BeatBegun { beat, .. }) => Some(*beat),
        _ => None,
    });
    begun.collect()
}

fn chances(most: usize) -> impl Strategy<Value = Vec<(Chance, usize)>> {
    proptest::collection::vec((chance(), any::<usize>()), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_scene_ends_within_its_bounds(kind in kind(), chances in chances(80)) {
        let mut play = played(&kind, &chances);
        left_alone(&mut play);
        let begun = beats_begun(&play.records);
        prop_assert!(begun.iter().all(|beat| *beat < BEATS));
        prop_assert!(begun.is_sorted_by(|a, b| a < b), "a beat is never played twice: {begun:?}");
        let lines = play.conversation.stage().transcript().lines();
        let spoken = lines.iter().filter(|line| line.ask.is_some()).count();
        prop_assert!(spoken <= NAMES.len() * BEATS as usize);
    }

    #[test]
    fn every_answer_of_a_scene_comes_to_one_thing(kind in kind(), chances in chances(60)) {
        let play = played(&kind, &chances);
        let mut came_to: BTreeMap<AskId, u32> = BTreeMap::new();
        let mut answered = Vec::new();
        for record in &play.records {
            match &record.event {
                Event::Asked { ask, .. } => prop_assert!(!answered.contains(ask), "{ask} had been answered"),
                Event::Answered { ask, .. } | Event::AskFailed { ask, .. } | Event::AskCut { ask, .. } => {
                    prop_assert!(!answered.contains(ask), "{ask} was closed twice");
                    answered.push(ask.clone());
                }
                Event::LineSpoken { ask: Some(ask), .. } => *came_to.entry(ask.clone()).or_default() += 1,
                event => {
                    if let Some(Decision::StayedSilent { ask, .. }) = event.decided() {
                        *came_to.entry(ask.clone()).or_default() += 1;
                    }
                }
            }
        }
        for record in &play.records {
            if let Event::Answered { ask, .. } | Event::AskFailed { ask, .. } = &record.event
                && ask.purpose == purpose::ACT
            {
                prop_assert_eq!(came_to.get(ask), Some(&1), "{}", ask);
            }
        }
    }

    #[test]
    fn the_fold_of_a_scene_is_its_live_state(kind in kind(), chances in chances(60)) {
        let play = played(&kind, &chances);
        let again = Conversation::replay(&play.records).unwrap();
        prop_assert_eq!(&again, &play.conversation);
        prop_assert_eq!(again.next(), play.conversation.next());
        prop_assert_eq!(Outcome::of(&again), Outcome::of(&play.conversation));
        prop_assert!(!plain_text(&again).is_empty());
        for record in &play.records {
            let read = Event::decode(&record.event.encode());
            prop_assert_eq!(read.as_ref(), Ok(&record.event));
        }
    }

    #[test]
    fn every_request_of_a_scene_can_be_shown_exactly(kind in kind(), chances in chances(40)) {
        let play = played(&kind, &chances);
        for line in play.conversation.stage().transcript().lines() {
            let insight = request_behind(&play.records, line.id);
            prop_assert_eq!(insight.is_ok(), line.ask.is_some());
            prop_assert!(insight.is_ok_and(|insight| insight.is_exact) || line.ask.is_none());
        }
        for record in &play.records {
            if let Event::Asked { ask, .. } = &record.event {
                let insight = request_at(&play.records, record.seq).unwrap();
                prop_assert_eq!((&insight.ask.id, insight.is_exact), (ask, true));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_scene_can_be_gone_on_with_from_every_record(kind in kind(), chances in chances(24)) {
        let play = played(&kind, &chances);
        for at in 1..=play.records.len() {
            // What was decided together is written together: no process ends in between.
            if play.records.get(at).is_some_and(|record| record.event.is_consequence()) {
                continue;
            }
            let mut resumed = Play::replay(&play.records[..at]);
            let before = resumed.lines().len();
            if resumed.give(Input::ResumePressed { change: Change::default() }).is_ok() {
                left_alone(&mut resumed);
            }
            prop_assert_eq!(&resumed.records[..at], &play.records[..at]);
            prop_assert!(resumed.lines().len() >= before);

            let (id, now) = (SessionId::from_bytes([2; 16]), play.conversation.stage().last_at());
            if let Ok((forked, records)) = fork(&play.records, Seq(at as u64), id, Change::default(), now) {
                prop_assert!(forked.stage().ended().is_none() && !forked.next().is_empty());
                let mut forked = Play::replay(&records);
                left_alone(&mut forked);
                let kinds = forked.conversation.stage().transcript().lines().iter().map(|line| line.kind);
                prop_assert!(kinds.filter(|kind| *kind == LineKind::USER).count() == 0);
            }
        }
    }
}
