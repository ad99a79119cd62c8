//! Cutting a long text where a reader would take breath.

/// A piece of a text, and the pause after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) pause_ms: u64,
}

/// Cuts a text to pieces of at most `max_bytes`, after sentences where possible, else after a clause, else
/// after a word. Short sentences stay together.
pub(super) fn pieces(text: &str, max_bytes: usize) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (end, pause_ms) = cut(rest, max_bytes);
        let text = rest[..end].trim();
        if !text.is_empty() {
            pieces.push(Piece { text, pause_ms });
        }
        rest = rest[end..].trim_start();
    }
    pieces
}

/// Where the next piece ends, and how long the pause after it is.
fn cut(text: &str, max_bytes: usize) -> (usize, u64) {
    if text.len() <= max_bytes {
        return (text.len(), 0);
    }
    let mut limit = max_bytes;
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    // A limit below one character still has to take it.
    if limit == 0 {
        return (text.chars().next().map_or(text.len(), char::len_utf8), 0);
    }
    let head = &text[..limit];
    let last = |signs: &str| {
        head.char_indices().rev().find_map(|(at, c)| {
            let end = at + c.len_utf8();
            // A sign within a number or an address ends nothing.
            let ends = text[end..].starts_with(char::is_whitespace);
            (signs.contains(c) && ends).then_some(end)
        })
    };
    if let Some(end) = last(".!?…") {
        (end, 220)
    } else if let Some(end) = last(",;:—)") {
        (end, 120)
    } else if let Some(end) = head.rfind(char::is_whitespace).filter(|end| *end > 0) {
        (end, 20)
    } else {
        (limit, 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::pieces;

    #[test]
    fn cuts_fall_where_a_reader_breathes() {
        let cases: [(&str, usize, &[&str]); 6] = [
            ("One. Two. Three.", 40, &["One. Two. Three."]),
            ("One is here. Two is there. Three.", 27, &["One is here. Two is there.", "Three."]),
            ("It costs 3.50 dollars, or so they say", 30, &["It costs 3.50 dollars,", "or so they say"]),
            ("no stops at all in here", 12, &["no stops at", "all in here"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("  ", 4, &[]),
        ];
        for (text, max, expected) in cases {
            let got: Vec<&str> = pieces(text, max).iter().map(|piece| piece.text).collect();
            assert_eq!(got, expected, "of {text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_word_is_lost(text in any::<String>(), max in 1usize..50) {
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            let joined: String = pieces(&text, max).iter().map(|piece| squeeze(piece.text)).collect();
            prop_assert_eq!(joined, squeeze(&text));
            prop_assert!(pieces(&text, max).iter().all(|piece| piece.text.len() <= max.max(4)));
        }
    }
}
