//! Words to phonemes: a dictionary, and reading by rule for what is not in it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::OnceLock,
};

use deunicode::deunicode_char;
use misaki_rs::{G2P, Language};

use super::{reading::Reading, vocabulary::tokens};

/// What the dictionary leaves in place of a word that it gives up on.
const UNKNOWN: char = '❓';

/// The dictionaries, each loaded when it is first needed.
#[derive(Default)]
pub(super) struct Phonemes {
    american: OnceLock<G2P>,
    british: OnceLock<G2P>,
}

impl Phonemes {
    pub(super) fn of(&self, text: &str, is_british: bool) -> String {
        let (cell, language) = match is_british {
            true => (&self.british, Language::EnglishGB),
            false => (&self.american, Language::EnglishUS),
        };
        let reading = Reading { is_british };
        let g2p = cell.get_or_init(|| G2P::with_fallback(language, Some(Box::new(reading))));
        let text = plain(text);
        // The library is young: a text that it cannot take is given to it word by word, and a word by rule.
        by_dictionary(g2p, &reading, &text).unwrap_or_else(|| {
            let by_word = |word| by_dictionary(g2p, &reading, word).unwrap_or_else(|| reading.read(word));
            text.split_whitespace().map(by_word).collect::<Vec<_>>().join(" ")
        })
    }
}

/// What the dictionary says, with the words that it does not know or leaves out read by rule; `None` when it
/// fails.
fn by_dictionary(g2p: &G2P, reading: &Reading, text: &str) -> Option<String> {
    let (_, words) = catch_unwind(AssertUnwindSafe(|| g2p.g2p(text))).ok()?.ok()?;
    let mut heard = String::new();
    for word in &words {
        let phonemes = word.phonemes.as_deref().filter(|phonemes| !phonemes.contains(UNKNOWN)).unwrap_or("");
        let is_lost = tokens(phonemes).is_empty() && word.text.chars().any(char::is_alphanumeric);
        heard.push_str(&if is_lost { reading.read(&word.text) } else { phonemes.to_owned() });
        heard.push_str(&word.whitespace);
    }
    let is_lost = tokens(&heard).is_empty() && text.chars().any(char::is_alphanumeric);
    (!is_lost).then_some(heard)
}

/// The signs that writers use, as those that the dictionary knows: `café` is in it without its accent.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '‘' | '’' | 'ʼ' => plain.push('\''),
            '–' | '―' => plain.push('—'),
            // The first open links with a pronunciation of their own, which texts do not have.
            '[' | ']' | '/' | '\\' | '|' | '#' => plain.push(' '),
            sign if sign.is_alphanumeric() && !sign.is_ascii() => plain.push_str(deunicode_char(sign).unwrap_or("")),
            sign if sign.is_whitespace() || sign.is_control() => plain.push(' '),
            sign => plain.push(sign),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Phonemes, tokens};

    #[test]
    fn every_word_is_heard() {
        let phonemes = Phonemes::default();
        let cases = [
            ("Hello, world!", "həlˈO, wˈɜɹld!"),
            ("Zorblax met Kubernetina.", "zˈɔɹblæks mˈɛt kʌbəɹnɛtˈɪnə."),
            ("naïve café", "nɑˈiv kæfˈA"),
            ("It’s xqzt—really?", "ˌɪts ˈɛks kjˈu zˈi tˈi—ɹˈiᵊli?"),
        ];
        for (text, expected) in cases {
            assert_eq!(phonemes.of(text, false), expected, "of {text}");
        }
        for text in [
            "In 1984, 3.5 million people paid $20.",
            "привет, 你好 und Łódź",
            "GPT-4o vs. claude-sonnet-4-5",
            "a/b [c] #d",
        ] {
            let heard = phonemes.of(text, true);
            assert!(!heard.contains('❓'), "{heard}");
            assert!(heard.split_whitespace().count() >= text.split_whitespace().count(), "{heard} of {text}");
        }
    }

    #[test]
    fn any_text_is_taken_and_no_word_lost() {
        let phonemes = Phonemes::default();
        let word = r"[a-zA-Z]{1,9}|[0-9]{1,4}|[à-öø-ÿ]{1,4}|[а-щ]{1,5}";
        let words = prop::collection::vec(word, 1..6).prop_map(|words| words.join(" "));
        let texts = prop_oneof![any::<String>(), r#"[a-zA-Z0-9 .,;:!?$%&()'"—…-]{0,60}"#, words.clone()];
        proptest!(ProptestConfig::with_cases(60), |(text in texts, words in words)| {
            let heard = phonemes.of(&text, false);
            prop_assert!(!heard.contains('❓'), "{heard} of {text}");
            prop_assert!(!tokens(&heard).is_empty() || !text.chars().any(|c| c.is_ascii_alphanumeric()), "{heard} of {text}");
            let heard = phonemes.of(&words, false);
            prop_assert!(heard.split_whitespace().count() >= words.split_whitespace().count(), "{heard} of {words}");
        });
    }
}
