//! The last resort when a model says more than its turn allows: a cut at the end of a sentence.

use super::phase::Phase;

/// A sentence of fewer characters is a sigh, such as "Hmm...": it goes with the one after it.
const SIGH: usize = 16;

/// Sentences and characters that a turn allows.
fn bounds(phase: Phase) -> (usize, usize) {
    match phase {
        Phase::Respond => (3, 400),
        Phase::Comment => (1, 200),
        Phase::Reply => (2, 400),
    }
}

/// The text, if it is not too long. One that is too long ends after as many whole sentences as the turn allows or,
/// when not even the first fits, at a word, with an ellipsis.
pub(super) fn within(text: &str, phase: Phase) -> String {
    let (sentences, chars) = bounds(phase);
    let Some((limit, _)) = text.char_indices().nth(chars - 1).filter(|_| text.chars().count() > chars) else {
        return text.to_owned();
    };
    let fits = |end: &usize| text[..*end].trim_end().chars().count() <= chars;
    if let Some(end) = sentence_ends(text).take(sentences).take_while(fits).last() {
        return text[..end].trim_end().to_owned();
    }
    let kept = &text[..limit];
    let words = kept.rfind(char::is_whitespace).map_or(kept, |end| &kept[..end]);
    format!("{}…", words.trim_end_matches(|c: char| c.is_whitespace() || ",;:–—-".contains(c)))
}

/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: [&str; 16] =
    ["mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "e.g", "i.e", "cf", "no", "vol", "jr", "sr", "approx"];

/// Where sentences end that are more than a sigh, as byte offsets after their last mark; the last is the end of the
/// text.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut from = 0;
    all_ends(text).filter(move |end| {
        let is_whole = *end == text.len() || text[from..*end].trim().chars().count() >= SIGH;
        if is_whole {
            from = *end;
        }
        is_whole
    })
}

fn all_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
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
    fn what_is_not_too_long_stays_whole() {
        for text in [
            "One sentence.",
            "No mark at all",
            "Hmm... I love how you hear the kettle.",
            "Ah! Yes. And the rain on the roof, too.",
            &"x".repeat(200),
        ] {
            assert_eq!(within(text, Phase::Comment), text);
        }
        let four = "A b. ".repeat(80);
        assert_eq!(within(four.trim(), Phase::Respond), four.trim());
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_at_the_end_of_a_sentence() {
        let rest = format!("And {}so on.", "then ".repeat(100));
        let kettle = "Hmm... I love how you hear the kettle.";
        let doctor = "Dr. No has 3.5 stars, e.g. from J. Doe!";
        let quoted = "\"Why do you leave so early?!\"";
        let wide = "一つ目の文はこのようにして少し長く書かれています。";
        let three = "I live by the sea. I have a boat there, too. It is small and green.";
        // Turn, what stands before the long rest, what is kept.
        let cases: &[(Phase, String, &str)] = &[
            (Phase::Comment, format!("{kettle} {rest}"), kettle),
            (Phase::Comment, format!("{doctor} {rest}"), doctor),
            (Phase::Comment, format!("{quoted} {rest}"), quoted),
            (Phase::Comment, format!("So am I, and so are you. {rest}"), "So am I, and so are you."),
            (Phase::Comment, format!("{wide}{}", "二".repeat(300)), wide),
            (Phase::Respond, format!("{three} I row it on Sundays, when it is calm. {rest}"), three),
            (
                Phase::Reply,
                format!("A window that is open. A door that is not. {rest}"),
                "A window that is open. A door that is not.",
            ),
        ];
        for (phase, text, kept) in cases {
            assert_eq!(within(text, *phase), *kept, "{text}");
        }
        let words = "word ".repeat(60);
        let at_a_word = format!("{}…", "word ".repeat(39).trim_end());
        assert_eq!(within(words.trim_end(), Phase::Comment), at_a_word);
        assert!(
            within(&format!("Hmm... {words}"), Phase::Comment).ends_with("word…"),
            "a sigh is not all that is left"
        );
        assert_eq!(within(&"x".repeat(500), Phase::Comment).chars().count(), 200);
    }
}
