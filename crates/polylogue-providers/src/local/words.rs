//! What words out of a small model are worth: where they end, what is left of them, and which of several drafts is
//! kept.

use std::collections::HashSet;

/// As many words in a row as somebody else's are no chance any more.
const RUN: usize = 6;
/// Words in a row by which likeness is measured.
const GRAM: usize = 3;
/// Fewer words than this say little.
const FEW_WORDS: usize = 4;

/// Before these a full stop ends no sentence.
const ABBREVIATIONS: [&str; 8] = ["mr", "mrs", "ms", "dr", "st", "vs", "etc", "prof"];

/// How many sentences have ended in a text that may go on.
pub(super) fn sentences(text: &str) -> usize {
    ends(text).count()
}

/// Where sentences end, after their closing quotes.
fn ends(text: &str) -> impl Iterator<Item = usize> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if !is_end(chars[at].1) || (chars[at].1 == '.' && is_inside(text, chars[at].0)) {
            at += 1;
            continue;
        }
        let mut last = at;
        while chars.get(last + 1).is_some_and(|(_, next)| is_end(*next) || is_closing(*next)) {
            last += 1;
        }
        let is_boundary = chars.get(last + 1).is_none_or(|(_, next)| next.is_whitespace() || is_wide(chars[last].1));
        if is_boundary {
            found.push(chars[last].0 + chars[last].1.len_utf8());
        }
        at = last + 1;
    }
    found.into_iter()
}

fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…') || is_wide(c)
}

/// Ends of sentences after which no space comes.
fn is_wide(c: char) -> bool {
    matches!(c, '。' | '！' | '？')
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | ')' | '»' | '」')
}

/// Whether the full stop at this place belongs to a word or a number.
fn is_inside(text: &str, at: usize) -> bool {
    let before = text[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = before.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_initial = word.chars().count() == 1 && word != "i";
    let is_number = word.ends_with(|c: char| c.is_ascii_digit()) && !word.contains(char::is_alphabetic);
    let ends_text = text[at + 1..].trim().is_empty();
    ABBREVIATIONS.contains(&word.as_str()) || is_initial || (is_number && (word.len() < 3 || !ends_text))
}

/// The words of a reply that has ended: without what stood around them, at most so many sentences and characters,
/// and up to the end of the last whole sentence if there is one.
pub(super) fn cleaned(text: &str, sentences: usize, max_chars: usize, names: &str) -> String {
    let mut text = unquoted(text.trim());
    if let Some((name, rest)) = text.split_once(':')
        && is_label(name, names)
    {
        text = unquoted(rest.trim());
    }
    let end = text.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| at);
    let text = &text[..end];
    let whole = ends(text).take(sentences).last().unwrap_or(text.len());
    text[..whole].trim().to_owned()
}

/// Whether what stands before a colon is who speaks, or what is asked for, and not what is said.
fn is_label(name: &str, known: &str) -> bool {
    let name = name.trim();
    !name.is_empty() && name.split_whitespace().count() <= 2 && known.contains(name)
}

/// Without the quotes around all of it.
fn unquoted(text: &str) -> &str {
    let pairs = [('"', '"'), ('“', '”'), ('\'', '\''), ('«', '»'), ('「', '」')];
    for (open, close) in pairs {
        let inner = text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
        if let Some(inner) = inner.filter(|inner| !inner.contains([open, close])) {
            return inner.trim();
        }
        // One that is opened and never closed, or the other way round.
        if open != '\'' && text.matches([open, close]).count() == 1 {
            return text.trim_start_matches(open).trim_end_matches(close).trim();
        }
    }
    text
}

/// What has been said and asked, for drafts to be held against.
#[derive(Default)]
pub(super) struct Said {
    runs: HashSet<Vec<String>>,
    grams: Vec<HashSet<Vec<String>>>,
    starts: HashSet<Vec<String>>,
    /// What is answered, by the words that mean something.
    about: HashSet<String>,
    /// What was chosen before, which is no line.
    chosen: Vec<String>,
}

impl Said {
    /// What is asked is not to be said again at all; lines of others and one's own not in the same words.
    pub(super) fn of<'a>(asked: &str, lines: impl Iterator<Item = &'a str>) -> Said {
        let mut said = Said { runs: grams(&words(asked), RUN), ..Said::default() };
        lines.for_each(|line| said.add(line));
        said
    }

    pub(super) fn add(&mut self, line: &str) {
        let words = words(line);
        self.runs.extend(grams(&words, RUN));
        self.starts.extend(words.get(..GRAM).map(<[String]>::to_vec));
        self.grams.push(grams(&words, GRAM));
    }

    /// What a draft is to have to do with.
    pub(super) fn answering<'a>(mut self, lines: impl Iterator<Item = &'a str>) -> Said {
        self.about = lines.flat_map(meaning).collect();
        self
    }

    /// What a model chose before it came to its words, in words that are no line.
    pub(super) fn having_chosen(mut self, chosen: &[String]) -> Said {
        self.chosen = chosen.iter().filter(|words| words.contains(' ')).map(|words| words.to_lowercase()).collect();
        self
    }

    /// Whether a draft has so much of it that it is no line of its own.
    pub(super) fn is_echoed_in(&self, draft: &str) -> bool {
        let lower = draft.to_lowercase();
        grams(&words(draft), RUN).iter().any(|run| self.runs.contains(run))
            || self.chosen.iter().any(|chosen| lower.contains(chosen.as_str()))
    }

    /// How little a draft is worth: the smaller the better.
    pub(super) fn penalty(&self, draft: &str, is_whole: bool) -> f64 {
        let words = words(draft);
        if words.is_empty() {
            return f64::INFINITY;
        }
        let own = grams(&words, GRAM);
        let like = |other: &HashSet<Vec<String>>| own.intersection(other).count() as f64 / own.len().max(1) as f64;
        let nearest = self.grams.iter().map(like).fold(0.0, f64::max);
        let possible = (words.len() + 1).saturating_sub(GRAM).max(1);
        let repeats_itself = 1.0 - own.len().max(1).min(possible) as f64 / possible as f64;
        let begins_alike = words.get(..GRAM).is_some_and(|start| self.starts.contains(start));
        let answered = meaning(draft).filter(|word| self.about.contains(word)).collect::<HashSet<_>>().len();
        let is_beside = match self.about.is_empty() {
            true => 0.0,
            false => 1.0 - answered.min(ENOUGH) as f64 / ENOUGH as f64,
        };
        let mut penalty = 3.0 * nearest + 2.0 * repeats_itself + 2.5 * is_beside + stock_phrases(draft) as f64;
        for (holds, weight) in [
            (self.is_echoed_in(draft), 10.0),
            (speaks_of_itself(draft), 8.0),
            (is_told(&words), 1.5),
            (!is_whole, 1.0),
            (begins_alike, 0.5),
            (words.len() < FEW_WORDS, 0.5),
        ] {
            penalty += if holds { weight } else { 0.0 };
        }
        penalty
    }
}

/// So many words in common are enough to see what is answered.
const ENOUGH: usize = 2;

/// The words of a text that mean something, by their beginnings, so that `homes` is `home`.
fn meaning(text: &str) -> impl Iterator<Item = String> {
    let short = |word: String| word.chars().take(5).collect::<String>();
    words(text).into_iter().filter(|word| word.chars().count() > 3 && !COMMON.contains(&word.as_str())).map(short)
}

/// Longer words that say nothing of what a text is about.
const COMMON: [&str; 40] = [
    "about", "after", "again", "also", "because", "been", "before", "being", "could", "does", "even", "every", "from",
    "have", "into", "just", "like", "made", "make", "more", "much", "only", "other", "over", "really", "some", "than",
    "that", "their", "them", "then", "there", "these", "they", "this", "very", "what", "when", "with", "your",
];

/// How often a text has what assistants say to everybody.
fn stock_phrases(text: &str) -> usize {
    const PHRASES: [&str; 18] = [
        "sorry to hear",
        "thank you",
        "thanks for",
        "glad you",
        "glad to hear",
        "i appreciate",
        "great question",
        "i agree",
        "you're right",
        "i understand",
        "it's okay",
        "it's important to",
        "let me know",
        "feel free",
        "i'm here to",
        "how can i",
        "safe and secure",
        "i'm not sure",
    ];
    let text = text.to_lowercase().replace('’', "'");
    PHRASES.iter().filter(|phrase| text.contains(*phrase)).count()
}

/// Whether a line tells that it is said, as books do and people do not.
fn is_told(words: &[String]) -> bool {
    words.iter().any(|word| matches!(word.as_str(), "says" | "speaks" | "replies"))
}

/// Whether a model tells that it is one.
fn speaks_of_itself(text: &str) -> bool {
    let text = text.to_lowercase();
    ["as an ai", "language model", "i'm sorry, but i can", "ai assistant", "i don't have personal"]
        .iter()
        .any(|phrase| text.contains(phrase))
}

/// Whether a text ends where a sentence does.
pub(super) fn is_whole(text: &str) -> bool {
    ends(text).last() == Some(text.len())
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn grams(words: &[String], n: usize) -> HashSet<Vec<String>> {
    words.windows(n).map(<[String]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_people_end_them() {
        for (text, count) in [
            ("", 0),
            ("A home is", 0),
            ("A home is a door.", 1),
            ("A home is a door. You knock", 1),
            ("Dr. Ade came at 3.5 and left!", 1),
            ("\"Go.\" She went.", 2),
            ("Well... maybe?!", 2),
            ("Yes! No? Perhaps.", 3),
            ("家は窓です。庭です。", 2),
            ("It was I. You knew.", 2),
        ] {
            assert_eq!(sentences(text), count, "{text}");
        }
        assert!(is_whole("He said \"no.\"") && !is_whole("He said") && !is_whole(""));
    }

    #[test]
    fn words_are_taken_out_of_what_stands_around_them() {
        let names = "You are Ada. Tell the visitor.";
        for (text, words) in [
            (" \"A door.\" ", "A door."),
            ("Ada: A door. A window. A", "A door. A window."),
            ("Ada: “A door.”", "A door."),
            ("Listen: it rains.", "Listen: it rains."),
            ("One. Two. Three.", "One. Two."),
            ("no end", "no end"),
            ("\"An end is missing", "An end is missing"),
            ("She said \"no\" and \"yes\".", "She said \"no\" and \"yes\"."),
        ] {
            assert_eq!(cleaned(text, 2, 80, names), words, "{text}");
        }
        assert_eq!(cleaned("A door opens. A window is too long for this", 2, 20, ""), "A door opens.");
    }

    #[test]
    fn the_draft_that_says_something_of_its_own_is_worth_most() {
        let asked = "Tell the visitor what you think of it, in your own way.";
        let said = Said::of(asked, ["A home is where the heart is, they say."].into_iter());
        let good = "My ship had a bunk with my name scratched into it.";
        for worse in [
            "Tell the visitor what you think of it.",
            "A home is where the heart is.",
            "A home is where my mother's kettle stood.",
            "As an AI language model I have no home of any kind.",
            "A bunk a bunk a bunk a bunk a bunk a bunk.",
            "My ship had a bunk with",
            "No.",
            "",
        ] {
            let whole = is_whole(worse);
            assert!(said.penalty(worse, whole) > said.penalty(good, true), "{worse}");
        }
        let said = said.answering(["My ship sank in the harbour."].into_iter());
        let penalty = |draft: &str| said.penalty(draft, true);
        assert!(penalty("Which harbour lets a ship sink like that?") < penalty("The weather is fine for once."));
        assert!(
            penalty("Which harbour lets a ship sink like that?") < penalty("Thank you for the ship and the harbour.")
        );
        assert!(said.is_echoed_in("So I tell the visitor what you think of it, and leave."));
        assert!(!said.is_echoed_in(good));
        let said = said.having_chosen(&["Yes, Ines speaks".to_owned(), "cold".to_owned()]);
        assert!(said.is_echoed_in("Yes, Ines speaks.") && !said.is_echoed_in("It is cold in here."));
        assert!(
            said.penalty("The harbour is closed, Ines says.", true)
                > said.penalty("The harbour is closed, I fear.", true)
        );
    }
}
