//! Plans that the embedded model really goes along.

use polylogue_core::ask::{Choice, Part, Pick, Plan, Words};
use serde_json::Value;

use super::*;

/// Whom, then words, then how.
fn plan() -> Plan {
    let words = Words::new("comment", 1, 160).asked("What do you say to them? One sentence.");
    let whom = |slot: u8| Pick::new(slot.to_string(), slot).then(vec![Part::Words(words.clone())]);
    let voice = |name: &str| Pick::new(name.replace('_', " "), name);
    Plan::object(vec![
        Part::Choice(Choice::new("target", [1, 2, 4].map(whom).to_vec())),
        Part::Choice(Choice::new("voice", ["dry_precise", "warm", "playful"].map(voice).to_vec()).asked("How?")),
    ])
}

fn planned(prompt: &str) -> Request {
    Request { plan: Some(Arc::new(plan())), ..request(prompt, 120) }
}

#[tokio::test]
async fn a_plan_is_kept_to_and_nothing_of_a_form_gets_into_the_words() {
    let local = local();
    for question in ["Write JSON: {\"a\": [1]}. Whom?", "1. Home.\n2. Rain. 😎\n4. Bread.\nWhom do you answer?"] {
        let call = call(planned(question));
        let reply = local.answer(&call).await.unwrap();
        let value: Value = serde_json::from_str(&reply.text).expect("an object");
        assert!([1, 2, 4].contains(&value["target"].as_u64().unwrap()), "{value}");
        assert!(["dry_precise", "warm", "playful"].contains(&value["voice"].as_str().unwrap()), "{value}");
        let words = value["comment"].as_str().unwrap();
        assert!(!words.is_empty() && words.chars().count() <= 160, "{words}");
        let signs = "{}[]<>|#*_`\\~=@^$\n😎";
        assert!(!words.contains(|c: char| signs.contains(c)), "{words}");
        // Several drafts were drawn, and it is said which one this is.
        let drafts = reply.drafts.expect("words are drawn several times");
        assert!((1..=drafts.of).contains(&drafts.kept) && drafts.of > 1, "{drafts:?}");
        // Drafts are paid for like everything that is computed.
        let usage = reply.usage.unwrap();
        assert!(usage.output > u64::from(drafts.of) && usage.input > usage.cached, "{usage:?}");
        // Only the reply itself is shown, when it is whole.
        assert_eq!(call.deltas.take().text, &*reply.text);
    }
}

#[tokio::test]
async fn the_same_plan_has_the_same_reply_and_another_seed_another() {
    let local = local();
    let seeded = |seed: u64| Request {
        sampling: Sampling { seed: Some(seed), ..planned("").sampling },
        ..planned("1. Home.\n2. Rain.\n4. Bread.\nWhom do you answer?")
    };
    let first = ask(&local, seeded(1)).await;
    let mut others = Vec::new();
    for seed in 2..6 {
        others.push(ask(&local, seeded(seed)).await.text);
    }
    assert!(others.iter().any(|other| *other != first.text), "{others:?}");
    assert_eq!(ask(&local, seeded(1)).await.text, first.text, "whatever was said before it");
}

#[tokio::test]
async fn those_who_begin_alike_at_once_read_their_beginning_once() {
    let local = local();
    let common = "The visitor asks what a home is. ".repeat(20);
    let calls =
        ["Ada", "Bob", "Cleo", "Dan", "Eve", "Fay"].map(|name| call(planned(&format!("{common}You are {name}."))));
    let replies = futures_util::future::try_join_all(calls.iter().map(|call| local.answer(call))).await.unwrap();
    let usages: Vec<_> = replies.iter().map(|reply| reply.usage.unwrap()).collect();
    let computed: u64 = usages.iter().map(|usage| usage.input - usage.cached).sum();
    let longest = usages.iter().map(|usage| usage.input).max().unwrap();
    assert!(computed < 3 * longest, "{computed} computed, and one request has {longest}: {usages:?}");
}
