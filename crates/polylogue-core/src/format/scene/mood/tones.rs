//! Tones as one English word, whatever language they came in: what moods and voices are told by.
//!
//! Characters are told to name their tone in English. One who plays in German answers `wütend` all the same: the
//! tables know the commoner words of eleven languages by their stems, and what they do not know stays as it came.

mod words;

use super::Mood;
use crate::text::language::Language;

/// How many letters of an ending a stem may have.
const MAX_ENDING: usize = 5;

/// How much of a tone is looked at.
const MAX_CHARS: usize = 120;

/// The words of a language for feelings, each with the English word for it.
struct Words {
    code: &'static str,
    /// Stems, most of them with endings of their own.
    stems: &'static [(&'static str, &'static str)],
    /// What stands before a feeling that is not felt.
    negations: &'static [&'static str],
    /// Whether words stand apart. Where they do not, a stem may stand anywhere.
    has_spaces: bool,
}

/// The English word for a tone of a scene in this language, where it is known to be no English word. Where the language
/// is not known, or has no words here, those of all others are looked through.
pub(in crate::format::scene) fn in_english(tone: &str, language: Option<&str>) -> Option<&'static str> {
    let tone: String = tone.to_lowercase().chars().take(MAX_CHARS).collect();
    let code = language.and_then(Language::called).map(|language| language.code());
    if code == Some(Language::ENGLISH.code()) {
        return None;
    }
    match words::ALL.iter().find(|words| Some(words.code) == code) {
        // Also before English words that are written alike: `bang` is Dutch for afraid.
        Some(own) => own.find(&tone),
        None if Mood::of_tone(&tone).is_some() => None,
        None => words::ALL.iter().find_map(|words| words.find(&tone)),
    }
}

impl Words {
    /// The English word for the first feeling that a tone names.
    fn find(&self, tone: &str) -> Option<&'static str> {
        if self.has_spaces { self.find_among_words(tone) } else { self.find_anywhere(tone) }
    }

    fn find_among_words(&self, tone: &str) -> Option<&'static str> {
        let mut is_negated = false;
        for word in tone.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let stems = self
                .stems
                .iter()
                .filter(|(stem, _)| word.strip_prefix(stem).is_some_and(|ending| ending.chars().count() <= MAX_ENDING));
            match stems.max_by_key(|(stem, _)| stem.len()) {
                Some(_) if is_negated => is_negated = false,
                Some((_, english)) => return Some(english),
                None => is_negated |= self.negations.contains(&word),
            }
        }
        None
    }

    fn find_anywhere(&self, tone: &str) -> Option<&'static str> {
        let is_negated = |at: usize, stem: &str| {
            self.negations.iter().any(|no| tone[..at].ends_with(no) || tone[at + stem.len()..].ends_with(no))
        };
        let found = self.stems.iter().filter_map(|(stem, english)| {
            let at = tone.find(stem)?;
            (!is_negated(at, stem)).then_some((at, stem.len(), *english))
        });
        // The first that is named, and of those the longest.
        let first = found.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length)))?;
        Some(first.2)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tone_in_another_language_is_one_english_word() {
        for (tone, language, english) in [
            ("wütend", Some("de"), Some("angry")),
            ("Wütend", None, Some("angry")),
            ("leicht gereizt", Some("German"), Some("irritated")),
            ("mit zitternder Stimme", Some("de"), Some("nervous")),
            ("erleichtert", Some("de"), Some("relieved")),
            ("reumütig und leise", Some("de"), Some("remorseful")),
            ("nicht wütend", Some("de"), None),
            ("nicht wütend, aber traurig", Some("de"), Some("sad")),
            ("en colère", Some("fr"), Some("angry")),
            ("très émue", Some("fr"), Some("tearful")),
            ("furiosa", Some("es"), Some("furious")),
            ("avergonzado", Some("es"), Some("ashamed")),
            ("arrabbiata", Some("it"), Some("angry")),
            ("zangada", Some("pt"), Some("angry")),
            ("bang", Some("nl"), Some("afraid")),
            ("bang", Some("en"), None),
            ("boos", Some("nl"), Some("angry")),
            ("wściekły", Some("pl"), Some("furious")),
            ("сердито", Some("ru"), Some("angry")),
            ("с раскаянием", Some("ru"), Some("remorseful")),
            ("怒り", Some("ja"), Some("angry")),
            ("怒っている", Some("ja"), Some("angry")),
            ("怒っていない", Some("ja"), None),
            ("静かな悲しみ", Some("ja"), Some("quiet")),
            ("申し訳なさそうに", Some("ja"), Some("apologetic")),
            ("愤怒", Some("zh"), Some("angry")),
            ("不高兴", Some("zh"), Some("annoyed")),
            ("不生气", Some("zh"), None),
            ("화난", Some("ko"), Some("angry")),
            ("미안해하는", Some("ko"), Some("apologetic")),
            ("angry", Some("de"), None),
            ("softening", Some("ja"), None),
            ("made of wood", Some("de"), None),
            ("", Some("de"), None),
            ("😡", Some("ja"), None),
        ] {
            assert_eq!(in_english(tone, language), english, "{tone} in {language:?}");
        }
    }

    #[test]
    fn every_word_is_there_once_and_moves_a_mood() {
        assert_eq!(words::ALL.iter().map(|words| words.code).collect::<BTreeSet<_>>().len(), words::ALL.len());
        for words in words::ALL {
            assert!(Language::called(words.code).is_some() && words.stems.len() >= 40, "{}", words.code);
            let mut stems = BTreeSet::new();
            for (stem, english) in words.stems {
                assert!(stems.insert(stem), "{stem} is there twice in {}", words.code);
                assert_eq!(*stem, stem.to_lowercase());
                assert!(Mood::of_tone(english).is_some(), "{english} for {stem} is no word of the lexicon");
                assert_eq!(english.split_whitespace().count(), 1);
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_total_and_what_it_says_is_english(tone: String, at in 0..words::ALL.len()) {
            if let Some(word) = in_english(&tone, Some(words::ALL[at].code)) {
                prop_assert!(Mood::of_tone(word).is_some());
                prop_assert_eq!(in_english(word, None), None);
            }
        }
    }
}
