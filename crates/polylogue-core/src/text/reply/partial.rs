//! A reply that is still arriving: one of its texts, as far as it is there.

use std::borrow::Cow;

use super::extract;

/// The text of `field`, in whatever object of the reply it stands first, as far as it has arrived. What more of the
/// reply tells begins with what less of it told.
pub(crate) fn text_so_far(partial: &str, field: &str) -> String {
    let text = thought_through(partial);
    let mut rest = text.find('{').map_or("", |start| &text[start..]);
    while let Some(open) = rest.find('"') {
        let key = quoted(&rest[open + 1..]);
        rest = match key.rest {
            Some(rest) => rest,
            None => break,
        };
        if key.text != field {
            continue;
        }
        let value = rest.trim_start().strip_prefix(':').and_then(|value| value.trim_start().strip_prefix('"'));
        if let Some(value) = value {
            return quoted(value).text;
        }
    }
    String::new()
}

/// The reply without thinking aloud. Thoughts that have no end yet are thoughts to the end.
pub(crate) fn thought_through(partial: &str) -> Cow<'_, str> {
    let (text, _) = extract::prepare(partial);
    let open = ["<think>", "<thinking>", "<reasoning>"].iter().filter_map(|tag| text.find(tag)).min();
    match (open, text) {
        (None, text) => text,
        (Some(open), Cow::Borrowed(text)) => Cow::Borrowed(&text[..open]),
        (Some(open), Cow::Owned(mut text)) => {
            text.truncate(open);
            Cow::Owned(text)
        }
    }
}

/// A text in quotes, and what follows its closing quote, if that is there.
struct Quoted<'a> {
    text: String,
    rest: Option<&'a str>,
}

/// Reads what follows an opening quote. An escape that has not arrived in full, or is none, ends it.
fn quoted(from: &str) -> Quoted<'_> {
    let mut text = String::new();
    let mut chars = from.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Quoted { text, rest: Some(chars.as_str()) },
            '\\' => match escaped(&mut chars) {
                Some(c) => text.push(c),
                None => break,
            },
            c => text.push(c),
        }
    }
    Quoted { text, rest: None }
}

fn escaped(chars: &mut std::str::Chars<'_>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'u' => {
            let first = unit(chars)?;
            let units = match first {
                0xD800..=0xDBFF => {
                    chars.as_str().strip_prefix("\\u")?;
                    chars.nth(1);
                    [first, unit(chars)?]
                }
                _ => [first, 0],
            };
            char::decode_utf16(units).next()?.ok()
        }
        mark @ ('"' | '\\' | '/') => Some(mark),
        _ => None,
    }
}

fn unit(chars: &mut std::str::Chars<'_>) -> Option<u16> {
    let digits: String = chars.take(4).collect();
    (digits.len() == 4).then(|| u16::from_str_radix(&digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_reply_are_there_before_its_end() {
        let cases = [
            ("", ""),
            ("{\"mess", ""),
            ("{\"message\"", ""),
            ("{\"message\": ", ""),
            ("{\"message\": \"", ""),
            ("{\"message\": \"Once u", "Once u"),
            ("{\"message\": \"Once \\", "Once "),
            ("{\"message\": \"a\\u00e", "a"),
            ("{\"message\": \"a\\u00e9b\\n\\\"c\\\"", "aéb\n\"c\""),
            ("{\"message\": \"\\ud83d", ""),
            ("{\"message\": \"\\ud83d\\ude00!", "😀!"),
            ("{\"message\": \"Once\", \"final\": tr", "Once"),
            ("{\"handoff\": {\"to\": \"ann\", \"task\": \"x\"}, \"message\" : \"On", "On"),
            ("{\"task\": \"message\", \"message\": \"On", "On"),
            ("Sure!\n```json\n{\"message\": \"On", "On"),
            ("<think>{\"message\": \"no", ""),
            ("<think>{\"message\": \"no\"}</think>{\"message\": \"yes", "yes"),
            ("Once upon a time", ""),
        ];
        for (partial, words) in cases {
            assert_eq!(text_so_far(partial, "message"), words, "{partial}");
        }
    }
}
