//! Where an interruption cuts a line.
//!
//! A character that interrupts quotes from memory, so only the words count: case, punctuation, quotes and blanks do not.
//! Scripts that write no spaces are compared sign by sign.

/// The byte index after `phrase` in `line`, before any punctuation; `None` if the phrase is not in it. Of several
/// places the first counts: an interruption comes at the first chance.
pub fn cut_after(line: &str, phrase: &str) -> Option<usize> {
    let wanted = words(phrase);
    let said = words(line);
    if wanted.is_empty() {
        return None;
    }
    said.windows(wanted.len())
        .find(|window| window.iter().zip(&wanted).all(|(said, wanted)| said.plain == wanted.plain))
        .and_then(|window| window.last().map(|word| word.end))
}

/// The byte index after the first word of a line that has more of them: nobody can come in before it.
pub(crate) fn first_word(line: &str) -> Option<usize> {
    match &words(line)[..] {
        [first, _, ..] => Some(first.end),
        _ => None,
    }
}

/// A word in small letters, with the byte index of its end.
pub(crate) struct Word {
    pub(crate) plain: String,
    end: usize,
}

pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut is_open = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if is_mark(c) {
            // It belongs to the letter before it.
            if let Some(word) = words.last_mut().filter(|_| is_open) {
                word.plain.push(c);
                word.end = end;
            }
        } else if c.is_alphanumeric() {
            match words.last_mut().filter(|_| is_open && !stands_alone(c)) {
                Some(word) => {
                    word.plain.extend(c.to_lowercase());
                    word.end = end;
                }
                None => words.push(Word { plain: c.to_lowercase().collect(), end }),
            }
            is_open = !stands_alone(c);
        } else {
            // An apostrophe neither ends a word nor is part of it.
            is_open &= matches!(c, '\'' | '’' | 'ʼ' | '\u{ad}' | '\u{200b}'..='\u{200d}');
        }
    }
    words
}

/// Signs of scripts that are written without spaces between words.
pub(crate) fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Accents and vowel signs that combine with the letter before them and are no letters themselves.
fn is_mark(c: char) -> bool {
    !c.is_alphanumeric()
        && matches!(c, '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05c7}' | '\u{064b}'..='\u{065f}'
            | '\u{0900}'..='\u{0963}' | '\u{0966}'..='\u{0dff}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_cut_where_the_phrase_ends() {
        let look = "Look, I can explain what happened—I can.";
        let cases = [
            (look, "explain", Some("Look, I can explain")),
            (look, "EXPLAIN...", Some("Look, I can explain")),
            (look, "“look, i”", Some("Look, I")),
            (look, "Look", Some("Look")),
            (look, "I can", Some("Look, I can")),
            (look, "I  can\nexplain", Some("Look, I can explain")),
            (look, "happened", Some("Look, I can explain what happened")),
            (look, "happened - I can", Some("Look, I can explain what happened—I can")),
            (look, "I can.", Some("Look, I can")),
            (look, "plain", None),
            (look, "explain what I", None),
            (look, "", None),
            (look, "…", None),
            ("", "explain", None),
            ("I don't know, well-known or not.", "dont know", Some("I don't know")),
            ("I don’t know, well-known or not.", "don't", Some("I don’t")),
            ("I don't know, well-known or not.", "well known", Some("I don't know, well-known")),
            ("Das weiß ich nicht, Größe ist alles.", "GRÖSSE", None),
            ("Das weiß ich nicht, Größe ist alles.", "größe", Some("Das weiß ich nicht, Größe")),
            ("我想说明一下，请听我说。", "说明", Some("我想说明")),
            ("ちょっと待って、話を聞いて。", "待って", Some("ちょっと待って")),
            ("Я хотел объяснить, что было.", "ХОТЕЛ ОБЪЯСНИТЬ", Some("Я хотел объяснить")),
            ("मैं समझा सकता हूँ।", "समझा", Some("मैं समझा")),
            ("Cafe\u{301}, s'il vous plaît.", "cafe\u{301}", Some("Cafe\u{301}")),
        ];
        for (line, phrase, expected) in cases {
            assert_eq!(cut_after(line, phrase).map(|end| &line[..end]), expected, "{phrase:?} in {line:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(line in any::<String>(), phrase in any::<String>(), at in 0..20usize, length in 1..5usize) {
            if let Some(end) = cut_after(&line, &phrase) {
                prop_assert!(line.is_char_boundary(end) && end > 0);
            }
            // What was quoted from the line is found in it, and no later than where it stands.
            let said: Vec<&str> = line.split_whitespace().collect();
            if let Some(quoted) = said.get(at..at + length) {
                let quoted = quoted.join(" ");
                prop_assert_eq!(cut_after(&line, &quoted).is_some(), !words(&quoted).is_empty());
            }
        }
    }
}
