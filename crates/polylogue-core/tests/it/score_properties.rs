//! Whatever a score says and whatever models reply, it ends within its bound and can be gone on with from every record.

use std::collections::BTreeSet;

use polylogue_core::{
    Conversation, Reason,
    format::score::{Bound, read_text, reason},
};
use proptest::{prelude::*, strategy::ValueTree};
use serde_json::json;

use crate::{
    score::{reply, score, setup, shipped},
    score_generated::{companies, misbehaved, scores},
    support::Play,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_within_the_bound(score in scores(), company in companies(), mood in any::<u64>()) {
        let setup = company.setup(score, "script");
        let bound = Bound::of(setup.format.settings().unwrap(), &setup.cast).unwrap();
        let (mut asks, mut turns) = (0, BTreeSet::new());
        let play = misbehaved(Play::start(setup).unwrap(), mood, |_, ask| {
            asks += 1;
            turns.insert((ask.id.purpose.to_string(), ask.id.turn, ask.id.agent.clone()));
        });
        let reason = play.conversation.stage().ended().unwrap();
        prop_assert!([Reason::COMPLETED, reason::TOO_FEW].contains(&reason), "{reason}: {}", play.journal());
        let total = play.conversation.stage().ledger().total();
        let (turns, tokens, cost) = (turns.len() as u64, total.usage.total(), total.cost.unwrap());
        prop_assert!(turns <= bound.turns, "{turns} turns, and {} were the most", bound.turns);
        prop_assert!(asks <= bound.asks, "{asks} asks, and {} were the most", bound.asks);
        prop_assert!(tokens <= bound.tokens, "{tokens} tokens, and {} were the most", bound.tokens);
        prop_assert!(cost <= bound.cost.unwrap(), "{cost:?}, and {:?} were the most", bound.cost);
        prop_assert_eq!(Conversation::replay(&play.records).unwrap(), play.conversation);
    }
}

/// The property above says something: all that the language has is in what is generated.
#[test]
fn what_is_generated_has_everything() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let score = |_| serde_json::to_string(&scores().new_tree(&mut runner).unwrap().current()).unwrap();
    let texts: Vec<String> = (0..100).map(score).collect();
    for part in [
        "\"pick\"",
        "\"again\":false",
        "\"if\"",
        "\"where\"",
        "\"atMost\":1",
        "\"drawn\":true",
        "\"oneByOne\":true",
        "\"blind\":true",
        "\"to\"",
        "\"message\"",
        "\"isPerson\"",
        "\"until\"",
        "[{\"repeat\"",
        "\"order\"",
        "\"one_of\"",
        "\"number\"",
        "yes_no",
        "\"list\"",
        "guilty",
        "ultramarine",
        "\"line\"",
        "in seen",
        "borda",
        "tally",
        "mean",
        "last_round",
        "seats.crowd",
    ] {
        let count = texts.iter().filter(|text| text.contains(part)).count();
        assert!(count >= 2, "{part} is in {count} of {}", texts.len());
    }
}

#[test]
fn it_goes_on_from_every_record() {
    type Seats = &'static [(&'static str, &'static [&'static str])];
    let cases: [(&str, Seats); 3] = [
        ("council", &[("member", &["ann", "ben", "cem"]), ("chair", &["chair"])]),
        ("debate", &[("pro", &["pro"]), ("con", &["con"]), ("jury", &["ann", "ben"])]),
        ("panel", &[("host", &["host"]), ("guest", &["ann", "ben", "cem"])]),
    ];
    for (name, seats) in cases {
        let whole = Play::start(setup(shipped(name), seats)).unwrap().run(reply);
        // What follows from an answer is written with it.
        let is_place = |until: &usize| !whole.records[*until].event.is_consequence();
        for until in (1..whole.records.len()).filter(is_place) {
            let records = &whole.records[..until];
            // What was not recorded has not happened: the rest is asked for again.
            let resumed = Play::replay(records).run(reply);
            assert_eq!(resumed.lines(), whole.lines(), "{name}, from record {until}");
            assert_eq!(Conversation::replay(&resumed.records).unwrap(), resumed.conversation, "{name}, {until}");
        }
    }
}

/// Whoever spoke last may not be chosen, and the one who chooses insists on it: where others go on for ever, this ends.
#[test]
fn one_who_always_picks_the_last_speaker_holds_nobody_up() {
    let seats: [(&str, &[&str]); 2] = [("selector", &["selector"]), ("member", &["ann", "ben", "cem"])];
    let play = Play::start(setup(shipped("selector"), &seats)).unwrap();
    let play = play.run(|ask| match ask.id.purpose.as_str() {
        "pick" => json!({"next": "ann"}).to_string(),
        _ => format!("Words of {}.", ask.id.agent),
    });
    assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
    let speakers: Vec<String> = play.lines().iter().map(|line| line.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(speakers.len(), 7, "{speakers:?}");
    assert!(speakers.windows(2).all(|two| two[0] != two[1]), "{speakers:?}");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = "score: odd\nroles:\n  member: { seats: 2..8, defualt: [gpt] }\nphases:\n  - answer:\n      who: membr\n      promt: Answer.\n  - weigh:\n      who: member\n      sees: anwser\n      reply:\n        ranking: { order: answer }\n      prompt: |\n        Rank them.\n        {{ answers }}\n  - repeat:\n      phases:\n        - talk:\n            who: member\n            prompt: \"{{ round \"\n";
    let problems = read_text(text).unwrap_err();
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(score("score: fine\nroles:\n  a:\nphases:\n  - say: { who: a }\n").roles.len() == 1);
}
