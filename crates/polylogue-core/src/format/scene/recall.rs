//! What a character remembers of earlier scenes, and which of it comes to mind when a scene begins.
//!
//! Relevance is a matter of shared words, which needs no model and works in every script; recency fades with
//! time. The same memories, scene and moment always bring the same to mind.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    memory::Memory,
    text::cut::{stands_alone, words},
    time::Timestamp,
};

/// How fresh something of this age is, from 1 down to 0: the one rule by which memories and feelings fade.
pub(super) fn freshness(age_ms: u64) -> f64 {
    (-(age_ms as f64) / HALF_LIFE_MS).exp2()
}

/// How much a character has in mind at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub memories: usize,
    /// Of all of them together.
    pub chars: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { memories: 5, chars: 1_200 }
    }
}

/// After so long something is half as fresh.
const HALF_LIFE_MS: f64 = 7.0 * 24.0 * 3_600_000.0;

/// How much more it counts that a memory has to do with the scene than that it is fresh.
const RELEVANCE: f64 = 2.0;

/// Letters of a word that are compared: endings differ, and the beginnings stay.
const STEM: usize = 5;

/// Shorter words say nothing about what a text is about.
const MIN_LETTERS: usize = 3;

/// What comes to mind of these in a scene about `about`: the most relevant and the freshest within the budget, in
/// the order in which it happened.
pub fn recall(memories: &[Memory], about: &str, now: Timestamp, budget: Budget) -> Vec<Arc<str>> {
    let about = terms(about);
    let of_each: Vec<BTreeSet<String>> = memories.iter().map(|memory| terms(&memory.text)).collect();
    let mut spread: BTreeMap<&str, f64> = BTreeMap::new();
    for term in of_each.iter().flatten() {
        *spread.entry(term).or_default() += 1.0;
    }
    // A word that every memory has tells none of them apart, and short words are in every text.
    let weight = |term: &String| {
        let letters = if is_sign(term) { 1.0 } else { term.chars().count() as f64 / STEM as f64 };
        letters.powi(2) * spread.get(term.as_str()).map_or(0.0, |memories| memories.powi(-2))
    };
    let score = |at: usize| {
        let shared: f64 = of_each[at].intersection(&about).map(weight).sum();
        let relevance = shared / (shared + 1.0);
        RELEVANCE * relevance + freshness(now.since(memories[at].at))
    };
    let when = |at: usize| (memories[at].at, memories[at].session, memories[at].seq);
    let mut ranked: Vec<(f64, usize)> = (0..memories.len()).map(|at| (score(at), at)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| Reverse(when(a.1)).cmp(&Reverse(when(b.1)))));

    let mut chosen: Vec<usize> = Vec::new();
    let mut left = budget.chars;
    for (_, at) in ranked {
        let chars = memories[at].text.chars().count();
        let is_new = chosen.iter().all(|other| memories[*other].text != memories[at].text);
        if chosen.len() < budget.memories && chars <= left && is_new {
            left -= chars;
            chosen.push(at);
        }
    }
    chosen.sort_by_key(|at| when(*at));
    chosen.into_iter().map(|at| memories[at].text.clone()).collect()
}

/// What a text is about: the beginnings of its words or, where no spaces are written, its signs in pairs.
fn terms(text: &str) -> BTreeSet<String> {
    let words: Vec<String> = words(text).into_iter().map(|word| word.plain).collect();
    let stems = words.iter().filter(|word| !is_sign(word) && word.chars().count() >= MIN_LETTERS);
    let stems = stems.map(|word| word.chars().take(STEM).collect());
    let pairs = words.windows(2).filter(|pair| is_sign(&pair[0]) && is_sign(&pair[1]));
    stems.chain(pairs.map(|pair| pair.concat())).collect()
}

fn is_sign(word: &str) -> bool {
    word.chars().next().is_some_and(stands_alone)
}

/// The most of a memory that is kept.
const MAX_MEMORY_CHARS: usize = 600;

/// A memory as one short paragraph.
pub(super) fn memory(text: &str) -> Arc<str> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.trim_matches('"');
    match words.char_indices().nth(MAX_MEMORY_CHARS) {
        None => words.into(),
        Some((end, _)) => {
            let kept = &words[..end];
            let whole = kept.rfind(['.', '!', '?']).map_or(kept, |at| &kept[..=at]);
            whole.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::{Seq, SessionId};

    const DAY_MS: u64 = 24 * 3_600_000;
    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    /// A memory of so many days ago.
    fn memory(days: u64, text: &str) -> Memory {
        Memory {
            session: SessionId::from_bytes([7; 16]),
            seq: Seq(9),
            at: Timestamp(NOW.0 - days * DAY_MS),
            story: "office".into(),
            title: "apology".into(),
            agent: "bob".parse().expect("a name"),
            text: text.into(),
        }
    }

    #[test]
    fn what_has_to_do_with_the_scene_comes_to_mind_first_and_then_what_is_fresh() {
        let garden = "I planted roses in the garden.";
        let promise = "I promised Alice weekly check-ins.";
        let lunch = "We had soup for lunch.";
        let gift = "母が庭で花をくれた。";
        let strife = "会議で上司と喧嘩した。";
        for (told, about, most, expected) in [
            (vec![(40, garden), (1, lunch)], "They meet in the garden.", 1, vec![garden]),
            (vec![(40, garden), (1, lunch)], "Nothing of the kind.", 1, vec![lunch]),
            (vec![(3, promise), (2, garden), (1, lunch)], "Alice asks about his promises.", 1, vec![promise]),
            (vec![(3, promise), (2, garden), (1, lunch)], "Alice and the garden.", 2, vec![promise, garden]),
            (vec![(1, lunch), (9, garden)], "", 5, vec![garden, lunch]),
            (vec![(9, gift), (1, strife)], "庭での再会", 1, vec![gift]),
            (vec![(2, lunch), (1, lunch)], "", 5, vec![lunch]),
            (vec![(0, promise), (0, garden)], "", 5, vec![promise, garden]),
            (vec![], "Anything.", 5, vec![]),
            (vec![(1, lunch)], "Anything.", 0, vec![]),
        ] {
            let memories: Vec<Memory> = told.iter().map(|(days, text)| memory(*days, text)).collect();
            let recalled = recall(&memories, about, NOW, Budget { memories: most, ..Budget::default() });
            assert_eq!(recalled.iter().map(|text| &**text).collect::<Vec<_>>(), expected, "about {about}");
        }
    }

    #[test]
    fn a_long_memory_makes_room_for_shorter_ones() {
        let long = "The argument about the garden, in all its length. ".repeat(40);
        let memories = [memory(3, &long), memory(2, "I left."), memory(1, "I came back.")];
        let recalled = recall(&memories, "An argument in the garden.", NOW, Budget::default());
        assert_eq!(recalled, ["I left.".into(), "I came back.".into()] as [Arc<str>; 2]);
    }

    proptest! {
        #[test]
        fn it_stays_within_its_budget_and_in_order_and_is_always_the_same(
            told in proptest::collection::vec((0..100u64, any::<String>()), 0..12),
            about: String, most in 0..6usize, chars in 0..200usize,
        ) {
            let memories: Vec<Memory> = told.iter().map(|(days, text)| memory(*days, text)).collect();
            let budget = Budget { memories: most, chars };
            let recalled = recall(&memories, &about, NOW, budget);
            prop_assert!(recalled.len() <= most);
            prop_assert!(recalled.iter().map(|text| text.chars().count()).sum::<usize>() <= chars);
            let mut shuffled = memories.clone();
            shuffled.reverse();
            shuffled.sort_by_key(|memory| memory.at);
            let mut sorted = memories;
            sorted.sort_by_key(|memory| memory.at);
            let times: BTreeSet<Timestamp> = sorted.iter().map(|memory| memory.at).collect();
            if times.len() == sorted.len() {
                prop_assert_eq!(recall(&shuffled, &about, NOW, budget), recalled);
            }
        }
    }
}
