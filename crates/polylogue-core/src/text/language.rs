//! Which language a text is in: by its script, and by the common words of those that share one.
//!
//! It is for choosing who can speak a line, so it is small and total, and says nothing where a text says too little.
//! What a person calls a language ("German", "de-AT", "日本語") is read here as well.

mod known;

use std::fmt;

use serde::{Serialize, Serializer};

use self::known::{KNOWN, Known, Script};

/// Longer texts are looked at up to here.
const MAX_CHARS: usize = 4_000;

/// How many common words a text of Latin letters must have before it is believed.
const ENOUGH: u32 = 2;

/// A language, by its ISO 639 code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

impl Language {
    pub const ENGLISH: Language = Language(0);

    /// The language of two or three letters.
    pub fn of_code(code: &str) -> Option<Language> {
        let is_it = |known: &Known| known.code.eq_ignore_ascii_case(code) || known.names.contains(&code);
        KNOWN.iter().position(is_it).map(|at| Language(at as u8))
    }

    /// What somebody means who calls a language so: its code, also with a country, or its name in English or its own.
    /// Words around it are passed over.
    pub fn called(name: &str) -> Option<Language> {
        let small: String = name.chars().take(100).flat_map(char::to_lowercase).collect();
        let words: Vec<&str> = small.split(is_between).filter(|word| !word.is_empty()).collect();
        let first = words.first()?;
        if let Some(known) = KNOWN.iter().position(|known| known.code == *first) {
            return Some(Language(known as u8));
        }
        // Scripts without spaces write more to it: 日本語で.
        let is_called =
            |name: &&str| words.iter().any(|word| word == name || (!name.is_ascii() && word.starts_with(name)));
        KNOWN.iter().position(|known| known.names.iter().any(is_called)).map(|at| Language(at as u8))
    }

    /// What somebody calls a language, in English words: its name where it is known, else as it was written.
    pub fn in_words(written: &str) -> &str {
        Language::called(written).map_or(written.trim(), |language| language.name())
    }

    /// The language of a text, where it says enough.
    pub fn of(text: &str) -> Option<Language> {
        Evidence::of(text).language()
    }

    /// `de` and its like.
    pub fn code(self) -> &'static str {
        self.known().code
    }

    /// Its name in English.
    pub fn name(self) -> &'static str {
        self.known().english
    }

    pub fn is_english(&self) -> bool {
        *self == Language::ENGLISH
    }

    /// Whether it is written in the signs that most of this text is written in. What has no letters fits everywhere.
    pub fn fits(self, text: &str) -> bool {
        let scripts = Scripts::of(text);
        scripts.main().is_none_or(|main| match (self.known().script, main) {
            (Script::Japanese, Script::Han) => true,
            (own, main) => own == main,
        })
    }

    fn known(self) -> &'static Known {
        &KNOWN[usize::from(self.0)]
    }
}

impl Default for Language {
    fn default() -> Self {
        Language::ENGLISH
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.code().serialize(serializer)
    }
}

/// What stands between the words of a name. Vowel signs of some scripts are no letters and belong to the word.
fn is_between(c: char) -> bool {
    c.is_whitespace() || (c.is_ascii() && !c.is_alphabetic()) || "、，。（）・".contains(c)
}

/// The language of a line: as its conversation is set up, else as its own words say, else as what was said before.
/// English where nothing says anything.
pub fn of_line<'a>(set_up: Option<&str>, words: &str, before: impl IntoIterator<Item = &'a str>) -> Language {
    if let Some(language) = set_up.and_then(Language::called)
        && language.fits(words)
    {
        return language;
    }
    let own = Evidence::of(words);
    let told = own.language();
    if let Some(language) = told
        && own.is_certain(language)
    {
        return language;
    }
    let mut all = own;
    for earlier in before {
        all.add(earlier);
        if all.chars > MAX_CHARS {
            break;
        }
    }
    let around = all.language().filter(|language| language.fits(words));
    around.or(told).unwrap_or_default()
}

/// What speaks for which language.
#[derive(Debug)]
struct Evidence {
    scripts: Scripts,
    /// Common words of each language that is written in Latin letters.
    hits: [u32; KNOWN.len()],
    words: u32,
    chars: usize,
}

impl Evidence {
    fn of(text: &str) -> Evidence {
        let mut evidence = Evidence { scripts: Scripts::default(), hits: [0; KNOWN.len()], words: 0, chars: 0 };
        evidence.add(text);
        evidence
    }

    fn add(&mut self, text: &str) {
        let small: String = text.chars().take(MAX_CHARS).flat_map(char::to_lowercase).collect();
        self.chars += small.chars().count();
        self.scripts.add(&small);
        for word in small.split(|c: char| !c.is_alphabetic() && c != '\'' && c != '’') {
            let word = word.trim_matches(['\'', '’']);
            if word.is_empty() {
                continue;
            }
            self.words += 1;
            for (at, known) in KNOWN.iter().enumerate() {
                let is_common = known.words.split(' ').any(|common| common == word);
                // A letter that hardly any other language has says as much as a word.
                let is_marked = word.contains(known.letters);
                self.hits[at] += u32::from(is_common) + u32::from(is_marked);
            }
        }
    }

    fn language(&self) -> Option<Language> {
        let main = self.scripts.main()?;
        let of_script = |(_, known): &(usize, &Known)| known.script == main;
        if !main.is_shared() {
            return KNOWN.iter().enumerate().find(of_script).map(|(at, _)| Language(at as u8));
        }
        let (mut best, mut second) = ((0, None), 0);
        for (at, _) in KNOWN.iter().enumerate().filter(of_script) {
            let hits = self.hits[at];
            if hits > best.0 {
                second = best.0;
                best = (hits, Some(Language(at as u8)));
            } else {
                second = second.max(hits);
            }
        }
        best.1.filter(|_| best.0 >= ENOUGH && best.0 > second)
    }

    /// Whether a text alone is enough to leave the language that was spoken before.
    fn is_certain(&self, language: Language) -> bool {
        let hits = self.hits[usize::from(language.0)];
        !language.known().script.is_shared() || (hits >= 3 && hits * 4 >= self.words)
    }
}

/// How many letters of a text are in which script.
#[derive(Clone, Copy, Debug, Default)]
struct Scripts([u32; Script::COUNT]);

impl Scripts {
    fn of(text: &str) -> Scripts {
        let mut scripts = Scripts::default();
        scripts.add(text);
        scripts
    }

    fn add(&mut self, text: &str) {
        for script in text.chars().take(MAX_CHARS).filter_map(Script::of) {
            self.0[script as usize] += 1;
        }
    }

    /// The script of most letters. Japanese mixes: some kana among Chinese signs make it Japanese.
    fn main(&self) -> Option<Script> {
        let count = |script: Script| self.0[script as usize];
        let most =
            Script::ALL.into_iter().max_by_key(|script| (count(*script), std::cmp::Reverse(*script as usize)))?;
        let is_mixed = matches!(most, Script::Han | Script::Japanese);
        match most {
            _ if count(most) == 0 => None,
            _ if is_mixed && count(Script::Japanese) * 10 >= count(Script::Han) && count(Script::Japanese) > 0 => {
                Some(Script::Japanese)
            }
            most => Some(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> &'static str {
        Language::of(text).map_or("?", Language::code)
    }

    #[test]
    fn a_text_tells_its_language() {
        let cases = [
            ("I can't believe that you missed it again.", "en"),
            ("Ich kann nicht glauben, dass du es schon wieder vergessen hast.", "de"),
            ("Je ne peux pas croire que tu l'aies encore oublié.", "fr"),
            ("No puedo creer que lo hayas olvidado otra vez.", "es"),
            ("Non posso credere che tu l'abbia dimenticato di nuovo.", "it"),
            ("Não acredito que você esqueceu isso de novo.", "pt"),
            ("Ik kan niet geloven dat je het weer vergeten bent.", "nl"),
            ("Jag kan inte tro att du har glömt det igen.", "sv"),
            ("Nie mogę uwierzyć, że znowu o tym zapomniałeś.", "pl"),
            ("また忘れたなんて信じられない。", "ja"),
            ("我不敢相信你又忘了。", "zh"),
            ("또 잊었다니 믿을 수가 없어.", "ko"),
            ("Не могу поверить, что ты опять забыл.", "ru"),
            ("Δεν το πιστεύω.", "el"),
            ("لا أصدق ذلك.", "ar"),
            ("אני לא מאמין.", "he"),
            ("मुझे विश्वास नहीं होता।", "hi"),
            ("Hm. Zorblax!", "?"),
            ("No!", "?"),
            ("", "?"),
            ("… 42 …", "?"),
        ];
        for (text, expected) in cases {
            assert_eq!(of(text), expected, "of {text}");
        }
    }

    #[test]
    fn a_language_is_called_many_things() {
        for (name, code) in [
            ("de", "de"),
            ("de-AT", "de"),
            ("German", "de"),
            ("Deutsch", "de"),
            ("Viennese German, informal", "de"),
            ("日本語", "ja"),
            ("日本語で", "ja"),
            ("japanese", "ja"),
            ("zh_CN", "zh"),
            ("Mandarin Chinese", "zh"),
            ("Brazilian Portuguese", "pt"),
            ("English", "en"),
        ] {
            assert_eq!(Language::called(name).map(Language::code), Some(code), "{name}");
        }
        for name in ["", "Klingon", "-", "whatever they like"] {
            assert_eq!(Language::called(name), None, "{name}");
        }
    }

    #[test]
    fn a_line_is_in_the_language_of_its_conversation() {
        let german = ["Ich habe es dir doch gesagt.", "Und warum hast du nichts getan?"];
        let english = ["I told you so.", "And why did you do nothing about it?"];
        let cases: [(Option<&str>, &str, &[&str], &str); 9] = [
            // As it is set up, even where a line is too short to tell.
            (Some("German"), "Nein.", &[], "de"),
            (Some("de"), "OK.", &english, "de"),
            // What is set up cannot be spoken where it is written in other signs.
            (Some("de"), "信じられない。", &[], "ja"),
            // Found out.
            (None, "Nein.", &german, "de"),
            (None, "No.", &english, "en"),
            (None, "Das ist nicht wahr, und du weißt es auch.", &english, "de"),
            (None, "C'est la vie!", &english, "en"),
            (None, "Hm.", &[], "en"),
            (None, "嘘だ。", &english, "ja"),
        ];
        for (set_up, words, before, expected) in cases {
            assert_eq!(of_line(set_up, words, before.iter().copied()).code(), expected, "{set_up:?} {words}");
        }
    }

    #[test]
    fn codes_and_names_lead_to_one_language() {
        for (at, known) in KNOWN.iter().enumerate() {
            assert_eq!(Language::of_code(known.code), Some(Language(at as u8)));
            for name in known.names.iter().copied().chain([known.english]) {
                assert_eq!(Language::called(name).map(Language::code), Some(known.code), "{name}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in any::<String>(), before in any::<String>()) {
            let language = of_line(None, &text, [before.as_str()]);
            prop_assert!(!language.code().is_empty());
        }
    }
}
