//! Going in circles, computed: whether somebody says nearly what they said before.
//!
//! Lines are compared by their letters in threes, which needs no dictionary and works in every script.

use std::collections::BTreeMap;

use crate::text::cut::stands_alone;

/// From here on two lines say the same.
pub(super) const NEAR: f32 = 0.7;

/// Shorter lines ("Yes.", "I know, I know.") are repeated by everybody and mean nothing. A sign of a script that
/// writes whole syllables or words counts as three letters.
const MIN_LETTERS: usize = 18;

/// A line that was said before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Repeat {
    /// The place of the earlier line in what was given.
    pub(super) earlier: usize,
    /// From [`NEAR`] to 1.
    pub(super) similarity: f32,
}

/// Whether the last of these lines (speaker and text, in order) nearly repeats one that the same speaker said
/// among the `window` lines before it; the most similar of them, of equals the latest.
pub(super) fn repeats(lines: &[(&str, &str)], window: usize) -> Option<Repeat> {
    let ((speaker, newest), before) = lines.split_last()?;
    let newest = letters(newest);
    if weight(&newest) < MIN_LETTERS {
        return None;
    }
    let newest = threes(&newest);
    let from = before.len().saturating_sub(window);
    before[from..]
        .iter()
        .enumerate()
        .filter(|(_, (who, _))| who == speaker)
        .map(|(at, (_, text))| Repeat { earlier: from + at, similarity: alike(&newest, &threes(&letters(text))) })
        .filter(|repeat| repeat.similarity >= NEAR)
        .max_by(|a, b| a.similarity.total_cmp(&b.similarity))
}

/// Whether the last of these lines says exactly what the same speaker said among the `window` lines before it,
/// however short it is. Case, punctuation and blanks do not count.
pub(super) fn repeats_exactly(lines: &[(&str, &str)], window: usize) -> bool {
    let Some(((speaker, newest), before)) = lines.split_last() else { return false };
    let newest = letters(newest);
    let from = before.len().saturating_sub(window);
    !newest.is_empty() && before[from..].iter().any(|(who, text)| who == speaker && letters(text) == newest)
}

/// The letters and digits in small letters, with one space between words.
fn letters(text: &str) -> Vec<char> {
    let mut out: Vec<char> = Vec::new();
    for c in text.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !matches!(c, '\'' | '’') && out.last().is_some_and(|last| *last != ' ') {
            out.push(' ');
        }
    }
    if out.last() == Some(&' ') {
        out.pop();
    }
    out
}

fn weight(letters: &[char]) -> usize {
    letters.iter().map(|c| if stands_alone(*c) { 3 } else { usize::from(*c != ' ') }).sum()
}

/// How often each three signs stand together, the ends counted as spaces.
fn threes(letters: &[char]) -> BTreeMap<[char; 3], u32> {
    let mut padded = vec![' '];
    padded.extend(letters);
    padded.push(' ');
    let mut counts = BTreeMap::new();
    for three in padded.windows(3) {
        *counts.entry([three[0], three[1], three[2]]).or_insert(0) += 1;
    }
    counts
}

/// Twice what is shared over all there is.
fn alike(a: &BTreeMap<[char; 3], u32>, b: &BTreeMap<[char; 3], u32>) -> f32 {
    let shared: u32 = a.iter().map(|(three, count)| *count.min(b.get(three).unwrap_or(&0))).sum();
    let all: u32 = a.values().sum::<u32>() + b.values().sum::<u32>();
    if all == 0 { 0.0 } else { (2 * shared) as f32 / all as f32 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_near_repeat_is_told_from_what_is_new() {
        let cases: &[(&str, &str, bool)] = &[
            ("I already told you that I am sorry.", "I already told you that I am sorry.", true),
            ("I already told you that I am sorry.", "I've already told you, I am sorry!", true),
            ("I am really sorry, Alice, I truly am.", "Alice, I am really sorry. I truly am.", true),
            ("We need a plan for the Henderson project.", "We need a plan. For the Henderson project, a plan.", true),
            ("We need a plan for the Henderson project.", "We need to talk about your deadline.", false),
            ("I don't want excuses! We lost the client!", "I appreciate you saying that.", false),
            ("Can we please discuss this calmly?", "Can you help Bob set up the new process?", false),
            ("Yes.", "Yes.", false),
            ("I know, I know.", "I know, I know.", false),
            ("No! No! No!", "No! No! No!", false),
            ("Я уже говорил, что мне очень жаль.", "Я уже говорил: мне очень жаль!", true),
            ("Я уже говорил, что мне очень жаль.", "Давайте спокойно всё обсудим вместе.", false),
            ("我已经说过了，我真的很抱歉。", "我已经说过，我真的很抱歉！", true),
            ("我已经说过了，我真的很抱歉。", "我们明天再讨论这个计划吧。", false),
            ("もう言ったでしょう、本当にごめんなさい。", "もう言ったでしょう。本当に、ごめんなさい。", true),
        ];
        for (earlier, newest, is_repeat) in cases {
            let found = repeats(&[("bob", earlier), ("alice", newest), ("bob", newest)], 10);
            assert_eq!(found.is_some(), *is_repeat, "{earlier:?} and {newest:?}");
        }
    }

    #[test]
    fn an_exact_repeat_may_be_short() {
        for (earlier, newest, is_repeat) in
            [("Yes.", "yes!", true), ("Yes.", "No.", false), ("…", "…", false), ("No! No!", "No, no.", true)]
        {
            let found = repeats_exactly(&[("bob", earlier), ("alice", newest), ("bob", newest)], 10);
            assert_eq!(found, is_repeat, "{earlier} and {newest}");
        }
        assert!(!repeats_exactly(&[("alice", "Yes."), ("bob", "Yes.")], 10), "another said it");
        assert!(!repeats_exactly(&[("bob", "Yes."), ("alice", "No."), ("bob", "Yes.")], 1), "it is long ago");
    }

    #[test]
    fn only_the_same_speaker_within_the_window_counts() {
        let said = "I already told you that I am sorry.";
        let near = "I already told you, I am so sorry.";
        let found = |lines: &[(&str, &str)], window| repeats(lines, window).map(|repeat| repeat.earlier);
        assert_eq!(found(&[], 10), None);
        assert_eq!(found(&[("bob", said)], 10), None);
        assert_eq!(found(&[("alice", said), ("bob", said)], 10), None);
        assert_eq!(found(&[("bob", said), ("bob", said)], 10), Some(0));
        assert_eq!(found(&[("bob", said), ("alice", "No."), ("bob", said)], 1), None);
        assert_eq!(found(&[("bob", said), ("alice", "No."), ("bob", said)], 2), Some(0));
        assert_eq!(found(&[("bob", said), ("bob", near), ("bob", said)], 10), Some(0));
        assert_eq!(found(&[("bob", said), ("bob", said), ("bob", said)], 10), Some(1));
    }

    proptest! {
        #[test]
        fn likeness_is_a_measure(a in any::<String>(), b in any::<String>()) {
            let (a, b) = (threes(&letters(&a)), threes(&letters(&b)));
            prop_assert!((0.0..=1.0).contains(&alike(&a, &b)));
            prop_assert_eq!(alike(&a, &b), alike(&b, &a));
            prop_assert_eq!(alike(&a, &a), if a.is_empty() { 0.0 } else { 1.0 });
        }
    }
}
