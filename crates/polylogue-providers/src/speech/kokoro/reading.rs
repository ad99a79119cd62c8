//! Reading words that no dictionary has: names, inventions, other scripts. They are spelled or read by rule;
//! nothing is left out.

use deunicode::deunicode;
use misaki_rs::{Fallback, fallback::FallbackError};

#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) is_british: bool,
}

impl Fallback for Reading {
    fn phonemize(&self, word: &str) -> Result<String, FallbackError> {
        let sounds = self.read(word);
        if sounds.is_empty() { Err(FallbackError::NoPhonemes { word: word.to_owned() }) } else { Ok(sounds) }
    }
}

impl Reading {
    /// The sounds of a word. Only what has no letters and no digits has none.
    pub(super) fn read(&self, word: &str) -> String {
        let plain = deunicode(word);
        // A script without spaces may have become several words.
        let parts = plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '\'').filter(|part| !part.is_empty());
        let read: Vec<String> = parts.map(|part| self.part(part)).filter(|sounds| !sounds.is_empty()).collect();
        read.join(" ")
    }

    fn part(&self, part: &str) -> String {
        let part = part.trim_matches('\'');
        let (letters, digits) = part.split_at(part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len()));
        if !digits.is_empty() {
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let parts = [self.part(letters), self.spell(&digits[..end]), self.part(&digits[end..])];
            return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        }
        let is_short_capital = part.len() <= 5 && part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
        let has_vowel = part.chars().any(|c| "aeiouyAEIOUY".contains(c));
        if part.len() == 1 || is_short_capital || !has_vowel { self.spell(part) } else { by_rule(&part.to_lowercase()) }
    }

    /// The names of letters and digits.
    fn spell(&self, letters: &str) -> String {
        letters.chars().filter_map(|letter| self.letter(letter.to_ascii_lowercase())).collect::<Vec<_>>().join(" ")
    }

    fn letter(&self, letter: char) -> Option<&'static str> {
        Some(match letter {
            'a' => "ˈA",
            'b' => "bˈi",
            'c' => "sˈi",
            'd' => "dˈi",
            'e' => "ˈi",
            'f' => "ˈɛf",
            'g' => "ʤˈi",
            'h' => "ˈAʧ",
            'i' => "ˈI",
            'j' => "ʤˈA",
            'k' => "kˈA",
            'l' => "ˈɛl",
            'm' => "ˈɛm",
            'n' => "ˈɛn",
            'o' if self.is_british => "ˈQ",
            'o' => "ˈO",
            'p' => "pˈi",
            'q' => "kjˈu",
            'r' if self.is_british => "ˈɑː",
            'r' => "ˈɑɹ",
            's' => "ˈɛs",
            't' => "tˈi",
            'u' => "jˈu",
            'v' => "vˈi",
            'w' => "dˈʌbᵊlju",
            'x' => "ˈɛks",
            'y' => "wˈI",
            'z' if self.is_british => "zˈɛd",
            'z' => "zˈi",
            '0' => "zˈɪɹO",
            '1' => "wˈʌn",
            '2' => "tˈu",
            '3' => "θɹˈi",
            '4' => "fˈɔɹ",
            '5' => "fˈIv",
            '6' => "sˈɪks",
            '7' => "sˈɛvən",
            '8' => "ˈAt",
            '9' => "nˈIn",
            _ => return None,
        })
    }
}

/// Where in a word a rule holds.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Any,
    Start,
    End,
    /// Before `e`, `i` or `y`.
    Soft,
    /// Before one consonant and a last `e`.
    Magic,
}

/// Spellings and their sounds; the first that fits is taken.
const RULES: &[(&str, At, &str)] = &[
    ("tion", At::End, "ʃən"),
    ("sion", At::End, "ʒən"),
    ("ough", At::Any, "O"),
    ("augh", At::Any, "ɔ"),
    ("eigh", At::Any, "A"),
    ("tch", At::Any, "ʧ"),
    ("dge", At::Any, "ʤ"),
    ("igh", At::Any, "I"),
    ("sch", At::Any, "ʃ"),
    ("que", At::End, "k"),
    ("ear", At::Any, "ɪɹ"),
    ("air", At::Any, "ɛɹ"),
    ("oor", At::Any, "ɔɹ"),
    ("our", At::Any, "ɔɹ"),
    ("kn", At::Start, "n"),
    ("gn", At::Start, "n"),
    ("wr", At::Start, "ɹ"),
    ("ps", At::Start, "s"),
    ("le", At::End, "ᵊl"),
    ("es", At::End, "ᵻz"),
    ("ch", At::Any, "ʧ"),
    ("sh", At::Any, "ʃ"),
    ("zh", At::Any, "ʒ"),
    ("kh", At::Any, "k"),
    ("th", At::Any, "θ"),
    ("ph", At::Any, "f"),
    ("wh", At::Any, "w"),
    ("gh", At::Any, "ɡ"),
    ("rh", At::Any, "ɹ"),
    ("ck", At::Any, "k"),
    ("ng", At::End, "ŋ"),
    ("qu", At::Any, "kw"),
    ("sc", At::Soft, "s"),
    ("ee", At::Any, "i"),
    ("ea", At::Any, "i"),
    ("ei", At::Any, "A"),
    ("ey", At::Any, "A"),
    ("eu", At::Any, "ju"),
    ("ew", At::Any, "ju"),
    ("ie", At::Any, "i"),
    ("oo", At::Any, "u"),
    ("ou", At::Any, "W"),
    ("ow", At::Any, "W"),
    ("oi", At::Any, "Y"),
    ("oy", At::Any, "Y"),
    ("oa", At::Any, "O"),
    ("ai", At::Any, "A"),
    ("ay", At::Any, "A"),
    ("au", At::Any, "ɔ"),
    ("aw", At::Any, "ɔ"),
    ("ue", At::End, "u"),
    ("ar", At::Any, "ɑɹ"),
    ("er", At::Any, "əɹ"),
    ("ir", At::Any, "ɜɹ"),
    ("or", At::Any, "ɔɹ"),
    ("ur", At::Any, "ɜɹ"),
    ("a", At::Magic, "A"),
    ("e", At::Magic, "i"),
    ("i", At::Magic, "I"),
    ("o", At::Magic, "O"),
    ("u", At::Magic, "u"),
    ("y", At::Magic, "I"),
    ("a", At::End, "ə"),
    ("i", At::End, "i"),
    ("o", At::End, "O"),
    ("u", At::End, "u"),
    ("y", At::End, "i"),
    ("y", At::Start, "j"),
    ("x", At::Start, "z"),
    ("c", At::Soft, "s"),
    ("g", At::Soft, "ʤ"),
    ("a", At::Any, "æ"),
    ("e", At::Any, "ɛ"),
    ("i", At::Any, "ɪ"),
    ("o", At::Any, "ɑ"),
    ("u", At::Any, "ʌ"),
    ("y", At::Any, "ɪ"),
    ("c", At::Any, "k"),
    ("g", At::Any, "ɡ"),
    ("j", At::Any, "ʤ"),
    ("q", At::Any, "k"),
    ("r", At::Any, "ɹ"),
    ("x", At::Any, "ks"),
];

fn is_vowel(letter: u8) -> bool {
    b"aeiouy".contains(&letter)
}

/// Reads a word of small letters. The stress goes to the last syllable but one of a word that ends in a vowel,
/// as in most names, and to the first of others.
fn by_rule(word: &str) -> String {
    let letters: String = word.chars().filter(char::is_ascii_lowercase).collect();
    let word = letters.as_bytes();
    let mut sounds: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < word.len() {
        let is_doubled = at > 0 && word[at] == word[at - 1] && !is_vowel(word[at]);
        let is_last = at + 1 == word.len();
        let is_mute = is_last && word[at] == b'e' && word[..at].iter().any(|letter| is_vowel(*letter));
        if is_doubled || is_mute {
            at += 1;
        } else if let Some((spelling, _, sound)) =
            RULES.iter().find(|(spelling, place, _)| fits(word, at, spelling, *place))
        {
            sounds.push(sound);
            at += spelling.len();
        } else {
            sounds.push(&letters[at..=at]);
            at += 1;
        }
    }
    let is_syllable = |sound: &&str| sound.contains(|c: char| "AIOQWYaeiouæɑɔəɛɜɪʊʌᵊᵻ".contains(c));
    let syllables: Vec<usize> = (0..sounds.len()).filter(|at| is_syllable(&sounds[*at])).collect();
    let ends_open = word.last().is_some_and(|letter| b"aiou".contains(letter));
    let stressed =
        if ends_open && syllables.len() > 1 { syllables.get(syllables.len() - 2) } else { syllables.first() };
    let mut read = String::new();
    for (at, sound) in sounds.iter().enumerate() {
        if stressed == Some(&at) {
            read.push('ˈ');
        }
        read.push_str(sound);
    }
    read
}

fn fits(word: &[u8], at: usize, spelling: &str, place: At) -> bool {
    let end = at + spelling.len();
    word[at..].starts_with(spelling.as_bytes())
        && match place {
            At::Any => true,
            At::Start => at == 0 && end < word.len(),
            At::End => end == word.len() && at > 0,
            At::Soft => word.get(end).is_some_and(|next| b"eiy".contains(next)),
            At::Magic => {
                word.len() == end + 2 && word[end + 1] == b'e' && !is_vowel(word[end]) && !b"xw".contains(&word[end])
            }
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Reading;
    use crate::speech::kokoro::vocabulary::tokens;

    #[test]
    fn unknown_words_are_spelled_or_read() {
        let cases = [
            ("Zorblax", "zˈɔɹblæks"),
            ("polylogue", "pˈɑlɪlɑɡu"),
            ("Kubernetina", "kʌbəɹnɛtˈɪnə"),
            ("Marakesho", "mɑɹækˈɛʃO"),
            ("blike", "blˈIk"),
            ("XQZ", "ˈɛks kjˈu zˈi"),
            ("GPT4o", "ʤˈi pˈi tˈi fˈɔɹ ˈO"),
            ("shhh", "ˈɛs ˈAʧ ˈAʧ ˈAʧ"),
            ("привет", "pɹˈɪvɛt"),
            ("…", ""),
        ];
        for (word, expected) in cases {
            assert_eq!(Reading { is_british: false }.read(word), expected, "of {word}");
        }
        assert_eq!(Reading { is_british: true }.read("ZO"), "zˈɛd ˈQ");
    }

    proptest! {
        #[test]
        fn no_word_is_dropped(word in r"[a-zA-Z0-9']{0,10}[a-zA-Z0-9][a-z']{0,5}|[а-щ]{1,8}|[一-龥]{1,4}", is_british: bool) {
            let sounds = Reading { is_british }.read(&word);
            prop_assert!(!sounds.is_empty(), "{word}");
            prop_assert_eq!(tokens(&sounds).len(), sounds.chars().count(), "{} of {}", sounds, word);
        }
    }
}
