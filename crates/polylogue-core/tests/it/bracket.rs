//! What holds for every reply of a scene's character: good ones, spoilt ones, and any text at all.

use crate::fuzzed::bracket::check;
use proptest::{prelude::*, sample::select, test_runner::RngSeed};

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Z][a-z]{1,6}( [a-z']{1,7}){0,6}[.!?…—]",
        1 => "[а-я]{1,6}( [а-я]{1,6}){0,3}",
        1 => "[一-龥]{1,8}[。！？]",
        1 => "[a-z \\[\\]\"*,\\\\:]{1,20}",
    ]
}

fn quoted() -> impl Strategy<Value = String> {
    let marks = select(vec![("\"", "\""), ("“", "”"), ("«", "»"), ("「", "」"), ("'", "'"), ("", ""), ("\"", "")]);
    (marks, words()).prop_map(|((open, close), words)| format!("{open}{words}{close}"))
}

fn item() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(vec!["Bob", "bob", "Charlie", "everyone", "Dora", "Alice", "Bob and Charlie"]).prop_map(|to| format!("TO: {to}")),
        3 => select(vec!["angry", "stern but controlled", "sad, tired", "混乱", "very calm"]).prop_map(|tone| format!("TONE: {tone}")),
        2 => words().prop_map(|act| format!("*{act}*")),
        1 => words().prop_map(|phrase| format!("INTERRUPT after \"{phrase}\"")),
        1 => select(vec!["SILENT", "REACT", "INTERRUPT", "silent", "MOOD: glad", "VOLUME: low", "sighs", "angry"]).prop_map(str::to_owned),
    ]
}

/// Replies of the grammar, with what models put around them.
fn reply() -> impl Strategy<Value = String> {
    let bracket = proptest::collection::vec(item(), 0..4).prop_map(|items| format!("[{}]", items.join(", ")));
    let part = prop_oneof![
        4 => bracket,
        4 => quoted(),
        1 => words().prop_map(|act| format!("*{act}*")),
        1 => words(),
        1 => select(vec!["Alice:", "Bob:", "**Alice**:", "\n", "\n\n", "```", "<think>", "</think>", "[EVENT: Thunder]", "...", "{"])
            .prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.join(" "))
}

#[derive(Clone, Debug)]
enum Spoil {
    Delete(usize),
    Double(usize),
    Swap(usize),
    Put(usize, String),
    DropWord(usize),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let mark = select(vec![
        "[", "]", "\"", "*", ",", ":", "\\", "'", "(", ")", "\n", "TO:", "TONE:", "SILENT", "Bob:", "“", "」", "{", "`",
    ]);
    let any_place = any::<usize>;
    prop_oneof![
        any_place().prop_map(Spoil::Delete),
        any_place().prop_map(Spoil::Double),
        any_place().prop_map(Spoil::Swap),
        (any_place(), mark).prop_map(|(at, mark)| Spoil::Put(at, mark.to_owned())),
        (any_place(), any::<char>()).prop_map(|(at, c)| Spoil::Put(at, c.to_string())),
        any_place().prop_map(Spoil::DropWord),
    ]
}

fn spoilt(reply: &str, spoils: Vec<Spoil>) -> String {
    let mut chars: Vec<char> = reply.chars().collect();
    for spoil in spoils {
        let length = chars.len();
        if length < 2 {
            break;
        }
        match spoil {
            Spoil::Delete(at) => drop(chars.remove(at % length)),
            Spoil::Double(at) => chars.insert(at % length, chars[at % length]),
            Spoil::Swap(at) => chars.swap(at % (length - 1), at % (length - 1) + 1),
            Spoil::Put(at, mark) => {
                let at = at % length;
                chars.splice(at..at, mark.chars());
            }
            Spoil::DropWord(at) => {
                let text: String = chars.iter().collect();
                let mut words: Vec<&str> = text.split(' ').collect();
                words.remove(at % words.len());
                chars = words.join(" ").chars().collect();
            }
        }
    }
    chars.into_iter().collect()
}

proptest! {
    // The same replies in every run: new ones are the fuzz target's to find.
    #![proptest_config(ProptestConfig { cases: 4_000, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn replies_of_the_grammar(reply in reply()) {
        check(&reply);
    }

    #[test]
    fn spoilt_replies(reply in reply(), spoils in proptest::collection::vec(spoil(), 1..8)) {
        check(&spoilt(&reply, spoils));
    }

    #[test]
    fn any_text(reply in prop_oneof![any::<String>(), "[\\[\\]\"*:, a-cTONEILS\\\\\n']{0,60}"]) {
        check(&reply);
    }
}

#[test]
fn long_replies_take_no_longer_than_their_length() {
    for mark in [
        "[",
        "[TO: ",
        "\"",
        "\"a ",
        "*a ",
        "(",
        "'a ",
        "‘",
        "“",
        "{",
        "<think>",
        "</think>",
        "a",
        "Bob:\n",
        "[a]",
        "TO: x\n",
        "\\",
        "INTERRUPT after '",
    ] {
        let reply = mark.repeat(1_000_000 / mark.len());
        check(&reply);
    }
}
