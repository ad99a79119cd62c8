//! The items of a bracket, each by its key or by what it looks like. Nothing here knows the cast.

use super::{ActionKind, MAX_VALUE};

/// The longest key in characters.
const MAX_KEY: usize = 24;

/// One item of a bracket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Item<'a> {
    Kind(ActionKind, &'a str),
    To(&'a str),
    Tone(&'a str),
    Act(&'a str),
    Text(&'a str),
    After(&'a str),
    /// `EVENT`, `SYSTEM` and their like are the moderator's.
    Foreign,
    Unknown(&'a str, &'a str),
    Bare(&'a str),
}

/// Whether a bracket has a key or keyword of the form.
pub(super) fn is_keyed(inner: &str) -> bool {
    items(inner).into_iter().any(|item| match item {
        Item::Kind(..) | Item::To(_) | Item::Tone(_) | Item::Text(_) | Item::After(_) => true,
        Item::Act(_) | Item::Foreign | Item::Unknown(..) | Item::Bare(_) => false,
    })
}

/// Whether a bracket is the moderator's and not a character's.
pub(super) fn is_foreign(inner: &str) -> bool {
    items(inner).first() == Some(&Item::Foreign)
}

/// Whether a text begins with a keyword or key of the form, without a bracket before it.
pub(super) fn begins_bare(text: &str) -> bool {
    let Some(word) = text.split(|c: char| !c.is_alphanumeric()).next() else { return false };
    let rest = text[word.len()..].trim_start();
    match word {
        "TO" | "TONE" => rest.starts_with([':', '：', '=']),
        "SILENT" | "REACT" => rest.is_empty() || rest.starts_with([',', ':', ']', '*', '.', ';', '"', '\n']),
        "INTERRUPT" => rest.is_empty() || rest.starts_with([',', ':', ']', '"']) || rest.starts_with("after"),
        _ => {
            let near = matches!(word.to_lowercase().as_str(), "to" | "tone" | "mood" | "emotion");
            near && rest.starts_with([':', '：']) && text.contains([']', '"', '“'])
        }
    }
}

/// Where a bracket ends that is not closed: before the words, or at the end of the line.
pub(super) fn open_end(text: &str) -> usize {
    let mut quoted_until = None;
    for (at, c) in text.char_indices().take(MAX_VALUE) {
        match c {
            ']' | '\n' => return at,
            '"' | '“' | '«' | '「' if quoted_until.is_none() => {
                if !says_after(&text[..at]) {
                    return at;
                }
                quoted_until = Some(closing(c));
            }
            _ if quoted_until == Some(c) => quoted_until = None,
            _ => {}
        }
    }
    text.char_indices().nth(MAX_VALUE).map_or(text.len(), |(at, _)| at)
}

pub(super) fn items(inner: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut from = 0;
    let mut at = 0;
    let mut before: Option<char> = None;
    let flush = |from: usize, to: usize, items: &mut Vec<_>| {
        let part = inner[from..to].trim();
        if !part.is_empty() {
            items.push(item(part));
        }
    };
    while let Some(c) = inner[at..].chars().next() {
        let is_word_start = before.is_none_or(|c| !c.is_alphanumeric());
        let mut next = at + c.len_utf8();
        match c {
            '\\' => next += inner[next..].chars().next().map_or(0, char::len_utf8),
            ',' | ';' | '|' | '，' | '；' | '、' | '\n' | '[' | ']' => {
                flush(from, at, &mut items);
                from = next;
            }
            '*' if is_word_start => {
                flush(from, at, &mut items);
                // Commas within an act are part of it; an act that does not end is all that is left.
                let end = inner[next..].find('*').map_or(inner.len(), |end| next + end);
                let act = inner[next..end].trim();
                if !act.is_empty() {
                    items.push(Item::Act(act));
                }
                next = (end + 1).min(inner.len());
                from = next;
            }
            '"' | '“' | '«' | '「' => next += end_of_quote(&inner[next..], closing(c)).unwrap_or(0),
            '\'' if says_after(&inner[..at]) => {
                let is_end = |end: &usize| inner[next + end + 1..].chars().next().is_none_or(|c| ",;|]".contains(c));
                let mut marks = inner[next..].match_indices('\'').map(|(end, _)| end);
                next += marks.find(is_end).map_or(0, |end| end + 1);
            }
            // A key in capitals begins an item also where the comma is missing.
            'T' | 'M' | 'E' if is_word_start && from < at && begins_key(&inner[at..]) => {
                flush(from, at, &mut items);
                from = at;
            }
            _ => {}
        }
        before = inner[..next].chars().next_back();
        at = next;
    }
    flush(from, inner.len(), &mut items);
    items
}

fn closing(open: char) -> char {
    match open {
        '“' => '”',
        '«' => '»',
        '「' => '」',
        _ => '"',
    }
}

fn begins_key(text: &str) -> bool {
    ["TO:", "TONE:", "MOOD:", "EMOTION:"].iter().any(|key| text.starts_with(key))
}

/// Whether a text ends with the word before a phrase.
fn says_after(text: &str) -> bool {
    let text = text.trim_end_matches([' ', ':']);
    text.len()
        .checked_sub("after".len())
        .and_then(|at| text.get(at..))
        .is_some_and(|end| end.eq_ignore_ascii_case("after"))
}

fn end_of_quote(text: &str, close: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == close && !is_escaped {
            return Some(at + c.len_utf8());
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

fn item(part: &str) -> Item<'_> {
    let part = part.trim();
    let colon = part.find([':', '：', '=']).filter(|at| !part[..*at].contains(['"', '“']));
    if let Some(at) = colon {
        let key = part[..at].trim_matches(|c: char| !c.is_alphanumeric());
        let mark = part[at..].chars().next().map_or(1, char::len_utf8);
        let rest = part[at + mark..].trim();
        if let Some(found) = keyed(key, rest) {
            return found;
        }
        if !key.is_empty() && key.chars().count() <= MAX_KEY && !rest.is_empty() {
            return Item::Unknown(key, rest);
        }
    }
    let word = part.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let rest = part[word.len()..].trim_start_matches([':', ' ', '-', '–', '.']).trim();
    match word {
        "TO" if !rest.is_empty() => return Item::To(rest),
        "TONE" | "MOOD" if !rest.is_empty() => return Item::Tone(rest),
        "EVENT" | "SYSTEM" | "SCENE" => return Item::Foreign,
        _ => {}
    }
    match kind_of(word) {
        Some(ActionKind::Interrupt) => Item::Kind(ActionKind::Interrupt, rest),
        Some(kind) if rest.is_empty() || word.chars().all(char::is_uppercase) => Item::Kind(kind, rest),
        _ => Item::Bare(part),
    }
}

/// The item of a key that is known, in some of the languages that models answer in.
fn keyed<'a>(key: &str, rest: &'a str) -> Option<Item<'a>> {
    let lower = key.to_lowercase();
    Some(match lower.as_str() {
        "to" | "target" | "addressing" | "addressed to" | "speaking to" | "an" | "zu" | "à" | "para" | "кому"
        | "对" | "對" | "给" | "給" => Item::To(rest),
        "tone" | "mood" | "emotion" | "feeling" | "emotional state" | "ton" | "tono" | "tom" | "stimmung"
        | "emoción" | "émotion" | "тон" | "语气" | "語氣" | "情绪" | "情緒" | "口調" | "トーン" | "어조" => {
            Item::Tone(rest)
        }
        "nonverbal" | "non-verbal" | "gesture" | "body language" | "physical" | "does" => Item::Act(rest),
        "action" | "type" => match kind_of(rest) {
            Some(kind) => Item::Kind(kind, ""),
            None => Item::Act(rest),
        },
        "text" | "dialog" | "dialogue" | "content" | "line" => Item::Text(rest),
        "after" | "interrupt after" | "interrupts after" | "interruptafter" => Item::After(rest),
        "event" | "system" | "scene" | "setting" | "scene end" | "scene start" => Item::Foreign,
        _ => Item::Kind(kind_of(key)?, rest),
    })
}

/// The kind that a word names.
pub(super) fn kind_of(word: &str) -> Option<ActionKind> {
    match word.trim().to_lowercase().as_str() {
        "speak" | "speaks" | "speaking" | "say" | "says" => Some(ActionKind::Speak),
        "interrupt" | "interrupts" | "interrupting" | "interrupted" | "interruption" => Some(ActionKind::Interrupt),
        "silent" | "silence" | "silently" => Some(ActionKind::Silent),
        "react" | "reacts" | "reacting" | "reaction" => Some(ActionKind::React),
        _ => None,
    }
}
