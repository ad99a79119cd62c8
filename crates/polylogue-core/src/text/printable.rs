//! Makes text fit for a terminal, and for files that people read on one. Models, titles, people and files can carry
//! escape codes and control characters; here they become text that can be seen, and nothing acts on them any more.

use std::{borrow::Cow, fmt::Write};

/// Text as it can be seen: newlines and tabs stay, whatever else would steer a terminal is written out.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // The line ends of Windows.
            '\r' if chars.peek() == Some(&'\n') => {}
            '\0'..='\u{1f}' if is_unprintable(c) => seen.extend(char::from_u32(0x2400 + c as u32)),
            '\u{7f}' => seen.push('␡'),
            _ if is_unprintable(c) => seen.extend(c.escape_unicode()),
            _ => seen.push(c),
        }
    }
    Cow::Owned(seen)
}

/// JSON in which the same characters are escaped as JSON escapes them: to a program it is the same.
pub fn printable_json(json: String) -> String {
    if !json.contains(is_unprintable) {
        return json;
    }
    let mut seen = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_unprintable(c) {
            let _ = write!(seen, "\\u{:04x}", c as u32);
        } else {
            seen.push(c);
        }
    }
    seen
}

/// Whether a character steers a terminal, or turns the text around it.
fn is_unprintable(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{fdd0}'..='\u{fdef}' => true,
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_seen_and_does_nothing() {
        for (text, seen) in [
            ("plain\n\ttext, Größe, 雪, 👩‍🚀", "plain\n\ttext, Größe, 雪, 👩‍🚀"),
            ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
            ("\u{1b}[2J\u{1b}[H", "␛[2J␛[H"),
            ("\u{9b}31m \u{9d}0;t\u{9c}", "\\u{9b}31m \\u{9d}0;t\\u{9c}"),
            ("one\r\ntwo\rthree\u{8}\u{7f}\0", "one\ntwo␍three␈␡␀"),
            ("\u{202e}txt.exe\u{2066}\u{2069}", "\\u{202e}txt.exe\\u{2066}\\u{2069}"),
            ("\u{fdd0}\u{fddf}", "\\u{fdd0}\\u{fddf}"),
        ] {
            assert_eq!(printable(text), seen, "{text:?}");
            assert_eq!(printable(seen), seen, "what can be seen stays as it is");
        }
        assert_eq!(printable_json("[\"\u{9b}31m\u{202e}\"]\n".to_owned()), "[\"\\u009b31m\\u202e\"]\n");
    }
}
