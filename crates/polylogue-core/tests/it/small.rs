//! What small models are asked: every kind of request read as the model reads it, and plans that are gone along by
//! somebody who chooses and says whatever comes to mind.

use std::cell::RefCell;

use polylogue_core::{
    Event, Setup, Step,
    ask::{Ask, Part, Request, Walk},
    format::scene::{self, WorldEvents},
    projection::request_behind,
    setup::{Agent, Cast},
};
use proptest::prelude::*;

use crate::{
    scene::{scene, settings},
    support::{Play, chorus, collaboration, discussion, said},
};

fn small(mut setup: Setup) -> Setup {
    let small = |agents: &[Agent]| -> Vec<Agent> {
        agents.iter().map(|agent| Agent { is_small: true, ..agent.clone() }).collect()
    };
    let cast = Cast::new(small(setup.cast.agents()), setup.cast.people().to_vec()).unwrap();
    setup.cast = cast.with_crew(small(setup.cast.crew())).unwrap();
    setup
}

/// The sessions that are tried: one of every kind that small models can play.
fn sessions() -> Vec<(&'static str, Setup)> {
    let mut silent = chorus(6);
    silent.speech = false;
    let mut story = scene(&["alice", "bob", "cleo"], 6);
    let own = settings(&mut story);
    (own.story, own.memory, own.events) = (Some("the story".into()), true, WorldEvents::Off);
    own.initial_speaker = Some("alice".parse().unwrap());
    vec![
        ("chorus", small(silent)),
        ("collaboration", small(collaboration(&["ann", "ben", "cid"], 4))),
        ("discussion", small(discussion(&["manager=ann", "user=you", "specialist=ben"], 2))),
        ("scene", small(story)),
    ]
}

/// Goes along a plan: `choose` says which of so many, and words are numbered.
fn answer(request: &Request, said: usize, choose: &mut dyn FnMut(usize) -> usize) -> String {
    let plan = request.plan.as_ref().expect("a small model has a plan");
    let mut walk = Walk::new(plan);
    let mut steps = 0;
    while let Some(part) = walk.now() {
        steps += 1;
        assert!(steps < 20, "a plan ends: {plan:?}");
        match part {
            Part::Words(words) => {
                assert!(words.sentences > 0 && words.max_chars > 20);
                let words = format!("I \"said\" words {said}, and {}.", steps);
                walk.say(words);
            }
            Part::Choice(choice) => {
                let at = choose(choice.of.len());
                walk.pick(at);
            }
            Part::Given { .. } => unreachable!("nobody is asked for what is given"),
        }
    }
    walk.written()
}

/// Plays to the end and tells every request. A person who is waited for says something.
fn play(setup: Setup, choose: &mut dyn FnMut(usize) -> usize) -> (Play, Vec<(Ask, String)>) {
    let mut play = Play::start(setup).unwrap();
    let asked = RefCell::new(Vec::new());
    for _ in 0..200 {
        if play.conversation.stage().ended().is_some() {
            return (play, asked.into_inner());
        }
        if let Some(Step::AwaitHuman(awaited)) = play.conversation.next().first() {
            play.give(said(awaited.who.as_str(), "It leaks over the stairs.")).unwrap();
        }
        for ask in play.begin() {
            play.wait_ms(1_000);
            let number = asked.borrow().len();
            let reply = answer(&ask.request, number, choose);
            play.answer(&ask, &reply);
            asked.borrow_mut().push((ask, reply));
        }
    }
    panic!("it does not end");
}

#[test]
fn what_a_small_model_reads() {
    for (name, setup) in sessions() {
        let mut at = 0;
        let (_, asked) = play(setup, &mut |of| {
            at += 1;
            at % of
        });
        let mut seen = Vec::new();
        let mut text = String::new();
        for (ask, reply) in &asked {
            // The last of each kind has the most to tell.
            let is_last = asked.iter().rfind(|(other, _)| other.id.purpose == ask.id.purpose).unwrap().0.id == ask.id;
            if is_last {
                seen.push(ask.id.purpose);
                text += &format!("=== {}\n{}--- reply\n{reply}\n\n", ask.id, ask.request);
            }
        }
        insta::assert_snapshot!(format!("small_{name}"), text);
    }
}

/// Signs of a form that a small model would put into its lines.
const FORMS: [&str; 12] =
    ["JSON", "json", "{", "}", "[", "]", "schema", "voice_profile", "targetSlotId", "TONE", "characters", "_"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_chosen_comes_to_a_good_reply_and_no_form_is_shown(choices in prop::collection::vec(0_usize..50, 1..40)) {
        for (name, setup) in sessions() {
            let mut at = 0;
            let (play, asked) = play(setup, &mut |of| {
                at += 1;
                choices[at % choices.len()] % of
            });
            for (ask, reply) in &asked {
                let shown = ask.request.to_string();
                for form in FORMS {
                    prop_assert!(!shown.contains(form), "{name}: {form} in\n{shown}");
                }
                prop_assert!(!reply.is_empty());
            }
            for record in &play.records {
                if let Event::Answered { repairs, ask, text, .. } = &record.event {
                    prop_assert!(repairs.is_empty(), "{name}: {ask}: {repairs:?}: {text}");
                }
                if let Some(decision) = record.event.decided::<scene::Decision>() {
                    let is_salvaged = matches!(decision, scene::Decision::Salvaged { .. } | scene::Decision::Reasked { .. });
                    prop_assert!(!is_salvaged, "{decision:?}");
                }
            }
            // What was sent can be shown again.
            for line in play.conversation.stage().transcript().lines().iter().filter(|line| line.ask.is_some()) {
                let behind = request_behind(&play.records, line.id);
                prop_assert!(behind.is_ok(), "{name}: line {:?}", line.id);
            }
        }
    }
}

#[test]
fn what_is_common_comes_first() {
    let (_, asked) = play(
        small({
            let mut setup = chorus(6);
            setup.speech = false;
            setup
        }),
        &mut |_| 0,
    );
    for turn in 1..=3 {
        let prompts: Vec<&str> =
            asked.iter().filter(|(ask, _)| ask.id.turn == turn).map(|(ask, _)| &*ask.request.prompt).collect();
        let first = prompts[0];
        for prompt in &prompts {
            let common = first.bytes().zip(prompt.bytes()).take_while(|(one, other)| one == other).count();
            let own = prompt.len() - common;
            assert!(turn == 3 || own < 260, "turn {turn}: {own} bytes are a slot's own:\n{prompt}");
        }
        assert!(asked.iter().all(|(ask, _)| ask.request.system == asked[0].0.request.system));
        assert!(asked.iter().all(|(ask, _)| ask.request.thread == asked[0].0.request.thread));
    }
}

#[test]
fn a_small_moderator_ends_no_scene_before_it_was_played() {
    let (_, scene) = sessions().pop().unwrap();
    // Whoever judges says the last that can be said.
    let (play, asked) = play(scene, &mut |of| of - 1);
    let beats = asked.iter().filter(|(ask, _)| ask.id.purpose == scene::purpose::JUDGE).count();
    assert_eq!(beats, 6);
    let last = asked.iter().rfind(|(ask, _)| ask.id.purpose == scene::purpose::JUDGE).unwrap();
    assert!(last.1.contains("\"goalReached\":true"), "{}", last.1);
    assert_eq!(play.conversation.stage().ended().map(|reason| reason.to_string()).as_deref(), Some("goal_achieved"));
}

#[test]
fn a_collaboration_of_small_models_hands_over_first_and_is_final_last() {
    for pick in [0, 1] {
        let (play, asked) = play(small(collaboration(&["ann", "ben"], 3)), &mut |of| pick % of);
        assert!(asked[0].1.contains("handoff"), "{}", asked[0].1);
        let last = &asked.last().unwrap().1;
        assert!(last.contains("\"final\":true") && !last.contains("handoff"), "{last}");
        assert_eq!(play.conversation.stage().ended().map(|reason| reason.to_string()).as_deref(), Some("final"));
    }
}
