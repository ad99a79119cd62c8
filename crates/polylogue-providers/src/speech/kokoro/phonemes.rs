//! Words to phonemes: a dictionary, and reading by rule for what is not in it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::OnceLock,
};

use misaki_rs::{G2P, Language};

use super::reading::Reading;

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
        // The library is young: a text that it cannot take is read by rule alone, which is better than silence.
        let by_dictionary = catch_unwind(AssertUnwindSafe(|| g2p.g2p(&text)));
        match by_dictionary {
            Ok(Ok((phonemes, _))) if !phonemes.contains(UNKNOWN) => phonemes,
            _ => text.split_whitespace().map(|word| by_word(g2p, &reading, word)).collect::<Vec<_>>().join(" "),
        }
    }
}

/// One word by the dictionary, else by rule.
fn by_word(g2p: &G2P, reading: &Reading, word: &str) -> String {
    match catch_unwind(AssertUnwindSafe(|| g2p.g2p(word))) {
        Ok(Ok((phonemes, _))) if !phonemes.contains(UNKNOWN) => phonemes,
        _ => {
            let ending: String = word.chars().rev().take_while(|c| ".,;:!?…—".contains(*c)).collect();
            reading.read(word) + &ending.chars().rev().collect::<String>()
        }
    }
}

/// The signs that writers use, as those that the dictionary knows.
fn plain(text: &str) -> String {
    let as_known = |c| match c {
        '‘' | '’' | 'ʼ' => '\'',
        '–' | '―' => '—',
        '\u{a0}' | '\u{202f}' | '\u{2009}' => ' ',
        // These open links with a pronunciation of their own, which texts do not have.
        '[' | ']' | '/' | '\\' | '|' | '#' => ' ',
        c => c,
    };
    text.chars().map(as_known).filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Phonemes;
    use crate::speech::kokoro::vocabulary::tokens;

    #[test]
    fn every_word_is_heard() {
        let phonemes = Phonemes::default();
        let cases = [
            ("Hello, world!", "həlˈO, wˈɜɹld!"),
            ("Zorblax met Kubernetina.", "zˈɔɹblæks mˈɛt kʌbəɹnɛtˈɪnə."),
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
    fn any_text_is_taken() {
        let phonemes = Phonemes::default();
        let texts = prop_oneof![any::<String>(), r#"[a-zA-Z0-9 .,;:!?$%&()'"—…-]{0,60}"#];
        proptest!(ProptestConfig::with_cases(200), |(text in texts)| {
            let heard = phonemes.of(&text, false);
            prop_assert!(!heard.contains('❓'), "{heard} of {text}");
            prop_assert!(!tokens(&heard).is_empty() || !text.chars().any(|c| c.is_ascii_alphanumeric()), "{heard} of {text}");
        });
    }
}
