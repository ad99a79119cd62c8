//! Keeps a line to its speaker: models like to write their own name before a line, and the others' lines after it.

use crate::text::reply::Repair;

/// How many characters of decoration may stand around a name.
const DECORATION: &[char] = &['*', '_', '[', ']', '(', ')', '<', '>', '#', '"', '\'', ' ', '\t'];

/// The text as `speaker`'s own line: without the speaker's name before it, and only up to the place where
/// the text goes on as one of the `others`. A text with words never becomes empty.
pub fn own_line<'a>(text: &'a str, speaker: &str, others: &[&str], repairs: &mut Vec<Repair>) -> &'a str {
    let mut text = text.trim();
    while let Some(rest) = after_prefix(text, speaker).filter(|rest| !rest.is_empty()) {
        repairs.push(Repair::NamePrefix);
        text = rest;
    }
    let mut start = 0;
    for (offset, line) in lines(text) {
        let Some(rest) = others.iter().find_map(|other| after_prefix(line, other)) else { continue };
        repairs.push(Repair::OtherSpeaker);
        let own = text[start..offset].trim_end();
        if !own.is_empty() {
            return own;
        }
        // The text begins as another speaker: without that name it is still what was said.
        start = offset + line.len() - rest.len();
    }
    let own = text[start..].trim();
    if own.is_empty() { text } else { own }
}

/// As much of a text that is still arriving as cannot turn out to be a name before a line. Names that stand there
/// with nothing after them yet are left out too.
pub(crate) fn settled<'a>(text: &'a str, names: &[&str]) -> &'a str {
    let mut text = text.trim_end();
    while !text.is_empty() {
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        if !may_be_name(&text[start..], names) {
            break;
        }
        text = text[..start].trim_end();
    }
    text
}

/// Whether a line is nothing but names with their colons, the last of them perhaps in part.
fn may_be_name(line: &str, names: &[&str]) -> bool {
    let mut line = line;
    while let Some(rest) = names.iter().find_map(|name| after_prefix(line, name)) {
        line = rest;
    }
    let bare = line.trim_start_matches(DECORATION);
    let begins = |name: &&str| match strip_ignoring_case(bare, name) {
        Some(rest) => rest.trim_start_matches(DECORATION).is_empty(),
        None => strip_ignoring_case(name, bare).is_some(),
    };
    bare.is_empty() || names.iter().any(begins)
}

/// What follows `name:` at the start of a line, past decoration such as `**name:**`.
pub(crate) fn after_prefix<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let bare = line.trim_start_matches(DECORATION);
    let rest = strip_ignoring_case(bare, name)?.trim_start_matches(DECORATION);
    let rest = rest.strip_prefix([':', '：'])?;
    Some(rest.trim_start_matches(['*', '_', ' ', '\t']).trim_start())
}

pub(crate) fn strip_ignoring_case<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text.chars();
    for wanted in name.chars() {
        let found = rest.next()?;
        if found != wanted && !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(rest.as_str())
}

/// Lines with their offsets, line ends left out.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let offset = *at;
        *at += line.len();
        Some((offset, line.trim_end()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_its_speakers_own() {
        use Repair::*;
        let cases: &[(&str, &str, &[Repair])] = &[
            ("Hello.", "Hello.", &[]),
            ("claude: Hello.", "Hello.", &[NamePrefix]),
            ("Claude: Hello.", "Hello.", &[NamePrefix]),
            ("**Claude:** Hello.", "Hello.", &[NamePrefix]),
            ("[claude]: Hello.", "Hello.", &[NamePrefix]),
            ("claude: claude: Hello.", "Hello.", &[NamePrefix, NamePrefix]),
            ("claude:", "claude:", &[]),
            ("Hello.\ngpt: And I say hi.", "Hello.", &[OtherSpeaker]),
            ("Hello.\n\n**GPT**: And I say hi.\nclaude: More.", "Hello.", &[OtherSpeaker]),
            ("gpt: Hello.", "Hello.", &[OtherSpeaker]),
            ("gpt: Hello.\ngpt: Again.", "Hello.", &[OtherSpeaker, OtherSpeaker]),
            ("gpt:", "gpt:", &[OtherSpeaker]),
            ("I asked gpt: what now?", "I asked gpt: what now?", &[]),
            ("claudette: Hello.", "claudette: Hello.", &[]),
            ("Steps:\n1. gpt edits\n2. done", "Steps:\n1. gpt edits\n2. done", &[]),
            ("gpt：こんにちは", "こんにちは", &[OtherSpeaker]),
        ];
        for (text, line, repairs) in cases {
            let mut found = Vec::new();
            assert_eq!(own_line(text, "claude", &["gpt", "you"], &mut found), *line, "{text}");
            assert_eq!(found, *repairs, "{text}");
        }
    }

    proptest! {
        #[test]
        fn words_never_become_nothing(text in "((claude|gpt|\\*\\*|:|\n| |[a-z]){0,6}){0,8}") {
            let own = own_line(&text, "claude", &["gpt"], &mut Vec::new());
            prop_assert_eq!(own.is_empty(), text.trim().is_empty());
        }
    }
}
