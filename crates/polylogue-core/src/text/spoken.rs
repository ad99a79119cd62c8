//! What is said aloud of a line: its words, without the markup around them.
//!
//! Brackets, tones, stage directions, Markdown, links and emoji are for the eye. What is left may be empty: a
//! line that is all gesture has nothing to be heard.

mod marks;

use marks::{is_emoji, is_emoticon, is_shortcode};

/// Longer texts are spoken up to here, which is about twenty minutes of speech.
pub const MAX_CHARS: usize = 20_000;

/// A mark that is not closed within so many bytes is taken for a plain sign: looking further for each of many
/// would take time that grows with the square of the text.
const MAX_MARKED: usize = 500;

/// The words of a line as they are to be spoken, on one line, sentences closed by punctuation.
pub fn spoken(text: &str) -> String {
    let text: String = text.chars().take(MAX_CHARS).collect();
    let prose = paragraphs(&text);
    let words = without_inline(&prose);
    let words = without_quotation(&tidy(&words)).to_owned();
    if words.chars().any(char::is_alphanumeric) { words } else { String::new() }
}

/// Joins lines to one text: fenced code, rules and table borders go, markers at the start of a line go, and
/// what ends without punctuation (a heading, an item) gets a full stop.
fn paragraphs(text: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        let opening = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, opening) {
            (Some(open), Some(mark)) if mark == open => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) if !line[3..].contains(mark) => fence = Some(mark),
            (None, _) => {
                let (line, is_block) = without_block_mark(line);
                if line.is_empty() {
                    continue;
                }
                out.push_str(&line);
                let ends_paragraph = is_block
                    || lines.peek().is_none_or(|next| next.trim().is_empty() || without_block_mark(next.trim()).1);
                if ends_paragraph
                    && line.ends_with(|c: char| c.is_alphanumeric() || "*_`)".contains(c))
                    && lines.peek().is_some()
                {
                    out.push('.');
                }
                out.push(' ');
            }
        }
    }
    out
}

/// A line without its heading, quote, list or table marks, and whether it had one.
fn without_block_mark(line: &str) -> (String, bool) {
    if line.len() >= 3 && line.chars().all(|c| "-*_= ".contains(c)) {
        return (String::new(), true);
    }
    if line.starts_with('|') && line.ends_with('|') && line.len() > 1 {
        if line.chars().all(|c| "|-: ".contains(c)) {
            return (String::new(), true);
        }
        let cells: Vec<&str> =
            line.trim_matches('|').split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        return (cells.join(", "), true);
    }
    let quoted = line.trim_start_matches('>').trim_start();
    let plain = quoted.trim_start_matches('#');
    if plain.len() < quoted.len() && (plain.is_empty() || plain.starts_with(' ')) {
        return (plain.trim().to_owned(), true);
    }
    for bullet in ["- ", "* ", "+ ", "• "] {
        if let Some(item) = quoted.strip_prefix(bullet) {
            let item = ["[ ] ", "[x] ", "[X] "].iter().find_map(|tick| item.strip_prefix(tick)).unwrap_or(item);
            return (item.trim().to_owned(), true);
        }
    }
    (quoted.to_owned(), quoted.len() < line.len())
}

/// Takes out what stands within a line: brackets, links, emphasis marks, stage directions, tags, emoji.
fn without_inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '!' if after.starts_with('[') => link(after).map_or_else(
                || {
                    out.push('!');
                    after
                },
                |(_, rest)| rest,
            ),
            '[' => match link(rest) {
                Some((words, beyond)) => {
                    out.push_str(&without_inline(words));
                    beyond
                }
                None => closing(rest, '[', ']').map_or(after, |end| &rest[end..]),
            },
            ']' | '`' => after,
            '*' | '_' | '~' => emphasis(rest, &mut out),
            '(' => parenthesis(rest, &mut out),
            '<' => tag(rest).unwrap_or_else(|| {
                out.push(' ');
                after
            }),
            '\\' => after,
            ':' if is_word_start(&out) => match is_shortcode(rest).or_else(|| is_emoticon(rest)) {
                Some(length) => &rest[length..],
                None => {
                    out.push(':');
                    after
                }
            },
            ';' if is_word_start(&out) && is_emoticon(rest).is_some() => &rest[is_emoticon(rest).unwrap_or(1)..],
            c if is_emoji(c) => after,
            c if is_word_start(&out) && is_address(rest) => {
                let end = rest.find(|c: char| c.is_whitespace() || ")>\"”".contains(c)).unwrap_or(rest.len());
                let kept = rest[..end].trim_end_matches(|c: char| ".,;:!?".contains(c)).len();
                out.extend((kept == 0).then_some(c));
                &rest[kept.max(c.len_utf8())..]
            }
            c if c.is_control() => {
                out.push(' ');
                after
            }
            c => {
                out.push(c);
                after
            }
        };
    }
    out
}

fn is_word_start(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| !c.is_alphanumeric())
}

fn is_address(text: &str) -> bool {
    ["http://", "https://", "ftp://", "mailto:", "www."]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// `[words](address)` or `[words][reference]` at the start: the words, and what follows the link.
fn link(text: &str) -> Option<(&str, &str)> {
    let end = closing(text, '[', ']')?;
    let beyond = &text[end..];
    let length = match beyond.chars().next()? {
        '(' => closing(beyond, '(', ')')?,
        '[' => closing(beyond, '[', ']')?,
        _ => return None,
    };
    Some((&text[1..end - 1], &beyond[length..]))
}

/// The byte index after the bracket that closes the one at the start.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < MAX_MARKED) {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at + c.len_utf8());
            }
        }
    }
    None
}

/// `<b>`, `</p>`, `<br/>`, `<!-- … -->` at the start: what follows it.
fn tag(text: &str) -> Option<&str> {
    if let Some(after) = text.strip_prefix("<3") {
        return Some(after);
    }
    let second = text.chars().nth(1)?;
    (second.is_ascii_alphabetic() || second == '/' || second == '!').then_some(())?;
    text.char_indices().take_while(|(at, _)| *at < MAX_MARKED).find(|(_, c)| *c == '>').map(|(at, _)| &text[at + 1..])
}

/// Marks of emphasis go and their words stay, unless the words stand alone between sentences: `*sighs*` is an
/// act and not a word.
fn emphasis<'a>(text: &'a str, out: &mut String) -> &'a str {
    let mark = text.chars().next().unwrap_or('*');
    let run = text.chars().take_while(|c| *c == mark).count();
    let after = &text[run..];
    // An underscore within a word belongs to the word; said aloud it is a break.
    if mark == '_' && !is_word_start(out) && after.starts_with(char::is_alphanumeric) {
        out.push(' ');
        return after;
    }
    if mark == '~' && run == 1 {
        return after;
    }
    if run == 1
        && let Some((length, _)) = after.char_indices().take_while(|(at, _)| *at < MAX_MARKED).find(|(_, c)| *c == mark)
        && is_direction(&after[..length], out, &after[length + 1..])
    {
        return &after[length + 1..];
    }
    after
}

/// A parenthesis that is a stage direction goes; any other stays, as a pause before and after it.
fn parenthesis<'a>(text: &'a str, out: &mut String) -> &'a str {
    if let Some(end) = closing(text, '(', ')') {
        let (inner, beyond) = (&text[1..end - 1], &text[end..]);
        let first = inner.split_whitespace().next().unwrap_or("");
        let is_act = first.ends_with("ing") || (first.ends_with('s') && !first.ends_with("ss") && first.len() > 3);
        if inner.trim().is_empty() || (is_act && is_direction(inner, out, beyond)) {
            return beyond;
        }
    }
    out.push('(');
    &text[1..]
}

/// Whether words in marks, between what is before and after, tell what is done and not what is said.
fn is_direction(inner: &str, before: &str, after: &str) -> bool {
    let begins = before.trim_end().chars().next_back().is_none_or(|c| !c.is_alphanumeric());
    let ends = after.trim_start().chars().next().is_none_or(|c| !c.is_lowercase() && !",;:.!?".contains(c))
        || after.trim().chars().all(|c| !c.is_alphanumeric());
    let is_act =
        inner.chars().next().is_some_and(char::is_lowercase) || (before.trim().is_empty() && after.trim().is_empty());
    begins && ends && is_act && !inner.contains('*')
}

/// One space between words, none before punctuation, and no punctuation left hanging at the start.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let clings = word.starts_with(|c: char| ",.;:!?)".contains(c));
        if clings && out.is_empty() && word.chars().all(|c| !c.is_alphanumeric()) {
            continue;
        }
        // After a word was taken out, a second comma or full stop may follow the first.
        if clings && out.ends_with(|c: char| ",;:".contains(c)) {
            out.pop();
        }
        if !out.is_empty() && !clings {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Without the quotation marks that enclose the whole.
fn without_quotation(text: &str) -> &str {
    for (open, close) in [('"', '"'), ('“', '”'), ('«', '»'), ('„', '“')] {
        if let Some(inner) = text.strip_prefix(open).and_then(|text| text.strip_suffix(close))
            && !inner.contains([open, close])
        {
            return inner.trim();
        }
    }
    text
}

#[cfg(test)]
mod tests;
