//! The last resort when a model says more than its turn allows: a cut at the end of a sentence.

use super::phase::Phase;

/// Sentences and characters that a turn allows.
fn bounds(phase: Phase) -> (usize, usize) {
    match phase {
        Phase::Respond => (3, 400),
        Phase::Comment => (1, 200),
        Phase::Reply => (2, 400),
    }
}

/// As many whole sentences as the turn allows. When not even the first fits, it ends at a word, with an
/// ellipsis.
pub(super) fn within(text: &str, phase: Phase) -> String {
    let (sentences, chars) = bounds(phase);
    let fits = |end: &usize| text[..*end].trim_end().chars().count() <= chars;
    if let Some(end) = sentence_ends(text).take(sentences).take_while(fits).last() {
        return text[..end].trim_end().to_owned();
    }
    let Some((limit, _)) = text.char_indices().nth(chars - 1) else { return text.to_owned() };
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept = &text[..limit];
    let words = kept.rfind(char::is_whitespace).map_or(kept, |end| &kept[..end]);
    format!("{}…", words.trim_end_matches(|c: char| c.is_whitespace() || ",;:–—-".contains(c)))
}

/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: [&str; 16] =
    ["mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "e.g", "i.e", "cf", "no", "vol", "jr", "sr", "approx"];

/// Where sentences end, as byte offsets after their last mark; the last is the end of the text.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        if from >= text.len() {
            return None;
        }
        let mut chars = text[from..].char_indices().map(|(at, c)| (from + at, c)).peekable();
        while let Some((at, c)) = chars.next() {
            if !is_end_mark(c) {
                continue;
            }
            let mut end = at + c.len_utf8();
            while let Some((at, c)) = chars.next_if(|(_, c)| is_end_mark(*c) || is_closing(*c)) {
                end = at + c.len_utf8();
            }
            let ends_here = match chars.peek() {
                None => true,
                Some((_, next)) => {
                    is_wide(c) || (next.is_whitespace() && !(c == '.' && is_abbreviated(&text[from..at])))
                }
            };
            if ends_here {
                from = end;
                return Some(end);
            }
        }
        from = text.len();
        Some(from)
    })
}

fn is_end_mark(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…') || is_wide(c)
}

/// Marks that need no space after them.
fn is_wide(c: char) -> bool {
    matches!(c, '。' | '！' | '？')
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '」' | '』')
}

/// Whether the word before a full stop is an abbreviation or an initial.
fn is_abbreviated(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches(['(', '"', '“', '\'']);
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
    is_initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_the_end_of_a_sentence() {
        let long = "word ".repeat(60);
        let two = format!("{}end. Another one that is short.", "word ".repeat(35));
        let cases: &[(Phase, &str, &str)] = &[
            (Phase::Comment, "One sentence.", "One sentence."),
            (Phase::Comment, "No mark at all", "No mark at all"),
            (Phase::Comment, "One. Two.", "One."),
            (Phase::Comment, "Dr. No has 3.5 stars, e.g. from J. Doe! Two.", "Dr. No has 3.5 stars, e.g. from J. Doe!"),
            (Phase::Comment, "\"Why?!\" Two.", "\"Why?!\""),
            (Phase::Comment, "So am I. Two.", "So am I."),
            (Phase::Comment, "一つ。二つ。", "一つ。"),
            (Phase::Respond, "A b. C d. E f. G h.", "A b. C d. E f."),
            (Phase::Reply, "A b. C d. E f.", "A b. C d."),
            (Phase::Comment, &two, two.split_inclusive("end.").next().unwrap()),
            (Phase::Comment, &long, &format!("{}…", "word ".repeat(39).trim_end())),
        ];
        for (phase, text, kept) in cases {
            assert_eq!(within(text, *phase), *kept, "{text}");
        }
        let no_space = "x".repeat(500);
        assert_eq!(within(&no_space, Phase::Comment).chars().count(), 200);
    }
}
