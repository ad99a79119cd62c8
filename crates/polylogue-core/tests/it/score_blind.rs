//! A blind phase tells nobody who the others are: not their names, not their models, not their order.
//!
//! What is told is compared with what is told where all others have other names, models and personas. Nothing of them
//! may make a difference, whatever the names look like.

use std::{collections::BTreeMap, sync::Arc};

use polylogue_core::{
    Conversation, Setup,
    ask::{Ask, Request},
    format::score::{Score, Sees, Turn, Who},
    text::reply::Shape,
};
use proptest::prelude::*;

use crate::{
    score::{score, setup, shipped},
    score_generated::{Company, companies, drawn, good, phase_of, scores, turns},
    support::{Play, said},
};

/// Names that are parts of words, of each other and of what is told, and names in other scripts.
const NAMES: [&str; 24] = [
    "an",
    "ann",
    "anna",
    "The",
    "Answer",
    "Phase",
    "round",
    "reply",
    "Words",
    "guilty",
    "red",
    "you and I",
    "Åsa",
    "家",
    "Ιωάννα",
    "İpek",
    "ﬁnn",
    "🎈",
    "crowd",
    "lone",
    "message",
    "O'Neil",
    "{{ me }}",
    "Quorra",
];

/// What a seat is told in its blind phases, by phase and turn. Where it knows nothing of the others from before, that
/// is the whole request.
fn blind_tellings(score: &Score, company: &Company, model: &str, me: usize) -> BTreeMap<String, String> {
    let setup = company.setup(score.clone(), model);
    let name = [&company.crowd[..], std::slice::from_ref(&company.lone)].concat()[me].clone();
    let seats: Vec<String> = setup.cast.agents().iter().map(|agent| agent.name.to_string()).collect();
    let place = |ask: &Ask| {
        let seat = seats.iter().position(|seat| *seat == ask.id.agent.as_str()).unwrap();
        format!("{} {} {} {seat}", ask.id.purpose, ask.id.turn, ask.id.attempt)
    };
    let all = turns(&score.phases);
    let (mut told, mut knows) = (BTreeMap::new(), false);
    play(setup, &place, |play, ask| {
        let phase = phase_of(play, ask);
        let turn = all.iter().find(|turn| *turn.name == *phase).unwrap();
        if *ask.id.agent.as_str() != *name {
            return;
        }
        if turn.blind {
            let whole = if knows { String::new() } else { ask.request.to_string() };
            told.insert(format!("{phase}: {}", place(ask)), format!("{whole}{}", now(&ask.request)));
        } else {
            knows |= !tells_of_nobody(turn);
        }
    });
    told
}

/// Whether a phase shows the message and nothing else.
fn tells_of_nobody(turn: &Turn) -> bool {
    let sees_message = matches!(&turn.sees, Sees::These(seen) if seen.iter().all(|seen| *seen.phase == *"message"));
    let prompt = turn.prompt.as_deref().unwrap_or_default();
    let shows = ["seats", " p0", " p1", " p2", " p3", " p4"].iter().any(|what| prompt.contains(what));
    let is_picked = turn.who.iter().any(|who| matches!(who, Who::Pick { .. }));
    sees_message && !shows && !is_picked && turn.reply.is_empty()
}

/// What is told now, with the form of the reply and all that a small model is asked.
fn now(request: &Request) -> String {
    let shape = request.shape.as_ref().map(|shape| shape.schema());
    format!("{}\n{shape:?}\n{:?}", request.prompt, request.plan)
}

/// Plays with good replies that know their place and no names.
fn play(setup: Setup, place: &impl Fn(&Ask) -> String, mut look: impl FnMut(&Play, &Ask)) {
    let mut play = Play::start(setup).unwrap();
    while play.conversation.stage().ended().is_none() {
        let asks = play.begin();
        for ask in &asks {
            look(&play, ask);
            let number = drawn(&place(ask), 7);
            play.answer(ask, &good(ask.request.shape.as_deref(), &format!("What {number} says."), number));
        }
        if asks.is_empty() && play.conversation.stage().ended().is_none() {
            play.give(said(crate::score_generated::GUEST, "I see.")).unwrap();
        }
    }
}

prop_compose! {
    /// Two casts in which one seat is called alike. The names have the same order, which decides between equals.
    fn casts()(
        company in companies(),
        names in prop::sample::subsequence(NAMES.to_vec(), 10),
        me in 0usize..5,
    ) -> (Company, Company, usize) {
        let (size, mut names) = (company.crowd.len(), names);
        names.sort_unstable();
        let me = me % (size + 1);
        let named = |name: &dyn Fn(usize) -> usize| {
            let name = |seat| names[name(seat)].to_owned();
            Company { crowd: (0..size).map(name).collect(), lone: name(size), ..company.clone() }
        };
        let one = named(&|seat| 2 * seat);
        (one, named(&|seat| 2 * seat + usize::from(seat != me)), me)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_is_told_depends_on_who_the_others_are(score in scores(), (one, other, me) in casts()) {
        let told = blind_tellings(&score, &one, "vendor-one", me);
        let otherwise = blind_tellings(&score, &other, "another", me);
        for (place, told) in &told {
            prop_assert_eq!(Some(told), otherwise.get(place), "{} differs", place);
        }
        prop_assert_eq!(told.len(), otherwise.len());
    }
}

/// The requests of the members of a council when they weigh, with this seed.
fn weighing(council: &Arc<Score>, seed: u64, members: &[&str]) -> Vec<Ask> {
    let mut setup = setup(council.clone(), &[("member", members), ("chair", &["chair"])]);
    setup.seed = seed;
    let mut play = Play::start(setup).unwrap();
    for ask in play.begin() {
        let seat = members.iter().position(|member| *member == ask.id.agent.as_str()).unwrap();
        play.answer(&ask, &format!("<{seat}>"));
    }
    play.begin()
}

/// Whose answers are shown, in the order in which they are.
fn shown(ask: &Ask, count: usize) -> Vec<usize> {
    let place = |seat: usize| ask.request.prompt.find(&format!("<{seat}>"));
    let mut seats: Vec<(usize, usize)> = (0..count).filter_map(|seat| Some((place(seat)?, seat))).collect();
    seats.sort_unstable();
    seats.into_iter().map(|(_, seat)| seat).collect()
}

#[test]
fn every_order_is_as_likely_for_each_seat_and_follows_from_the_seed() {
    const SEEDS: u64 = 1_200;
    let (council, members) = (shipped("council"), ["ann", "ben", "cem", "dee"]);
    let mut orders: [BTreeMap<Vec<usize>, u64>; 4] = Default::default();
    let mut alike = 0;
    for seed in 0..SEEDS {
        let asks = weighing(&council, seed, &members);
        let all: Vec<Vec<usize>> = asks.iter().map(|ask| shown(ask, members.len())).collect();
        for (me, order) in all.iter().enumerate() {
            assert_eq!(order.len(), 3, "all but one's own: {order:?}");
            assert!(!order.contains(&me));
            *orders[me].entry(order.clone()).or_default() += 1;
        }
        // Those who see two in common see them in the same order half of the time.
        let pair = |order: &Vec<usize>| order.iter().filter(|seat| **seat > 1).copied().collect::<Vec<_>>();
        alike += u64::from(pair(&all[0]) == pair(&all[1]));
        let again: Vec<Vec<usize>> = weighing(&council, seed, &members).iter().map(|ask| shown(ask, 4)).collect();
        assert_eq!(again, all, "the seed {seed} decides");
    }
    // Each of six orders 200 times, and each pair 600 times, give or take five deviations.
    for (me, orders) in orders.iter().enumerate() {
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (135..=265).contains(count)), "{}: {orders:?}", members[me]);
    }
    assert!((515..=685).contains(&alike), "{alike} of {SEEDS} are alike");
}

#[test]
fn letters_are_offered_in_their_order_and_are_nobodys_name() {
    let council = shipped("council");
    for seed in 0..40 {
        let first = &weighing(&council, seed, &["a", "C", "ben", "dee", "eva"])[0];
        let Some(Shape::Object(fields)) = first.request.shape.as_deref() else { panic!("a form") };
        let Shape::Order(letters) = &fields[0].shape else { panic!("an order") };
        assert_eq!(letters, &["B", "D", "E", "F"], "not A, and not C");
        let places: Vec<usize> =
            letters.iter().map(|letter| first.request.prompt.find(&format!("{letter}: <")).unwrap()).collect();
        assert!(places.is_sorted(), "{}", first.request.prompt);
    }
}

/// Who may be chosen blind is offered in no order of theirs.
#[test]
fn a_blind_choice_of_who_speaks_tells_no_order() {
    let text = "score: odd\nroles:\n  host: { seats: 1 }\n  guest: { seats: 3 }\nphases:\n  - say: { who: guest, sees: message, prompt: Say. }\n  - talk:\n      who: { pick: { by: host, from: guest, prompt: \"Of {{ candidates | join(', ') }}?\" } }\n      sees: say\n      blind: true\n      prompt: Talk.\n";
    let guests = ["ann", "ben", "cem"];
    let (score, mut chosen) = (score(text), BTreeMap::new());
    for seed in 0..60 {
        let mut setup = setup(score.clone(), &[("host", &["host"]), ("guest", &guests)]);
        setup.seed = seed;
        let mut play = Play::start(setup).unwrap();
        for ask in play.begin() {
            play.answer(&ask, "Words.");
        }
        let [pick] = play.begin().try_into().unwrap();
        assert!(pick.request.prompt.contains("Of A, B, C?"), "{}", pick.request.prompt);
        play.answer(&pick, "{\"next\": \"A\"}");
        let [ask] = play.begin().try_into().unwrap();
        *chosen.entry(ask.id.agent.to_string()).or_insert(0) += 1;
    }
    assert!(guests.iter().all(|guest| chosen[*guest] >= 8), "A is each of them: {chosen:?}");
}

/// A line that is made of a reply is made anew with letters, and cleaned as it was.
#[test]
fn a_line_that_names_its_speaker_is_made_anew() {
    let text = "score: odd\nroles:\n  member: { seats: 3 }\nphases:\n  - vote:\n      who: member\n      sees: message\n      reply: { best: { one_of: member }, colour: [ann, red], why: text }\n      to: best\n      line: \"{{ me.name }} ({{ me.number }}, {{ me.role }}) for {{ reply.best }} in {{ reply.colour }}: {{ reply.why }}\"\n      prompt: Vote.\n  - weigh: { who: member, sees: vote, blind: true, prompt: Weigh. }\n";
    let members = ["ann", "ben", "cem"];
    let mut play = Play::start(setup(score(text), &[("member", &members)])).unwrap();
    for ask in play.begin() {
        let best = if ask.id.agent.as_str() == "ben" { "cem" } else { "ben" };
        play.answer(&ask, &format!("{{\"best\": \"{best}\", \"colour\": \"ann\", \"why\": \"It is.\"}}"));
    }
    for ask in play.begin() {
        let told = ask.request.prompt.to_string();
        // The word stays that is a name by chance; one is called by one's own name.
        let told = told.replace("in ann", "in colour").replace(ask.id.agent.as_str(), "me");
        assert!(members.iter().all(|name| !told.contains(name)) && !told.contains("member"), "{told}");
        assert!(told.contains("A (1, A) for ") && told.contains("B (2, B) for "), "{told}");
    }
    assert_eq!(play.lines()[1], "ann: ann (1, member) for ben in ann: It is.");
    assert!(Conversation::replay(&play.records).unwrap() == play.conversation);
}
