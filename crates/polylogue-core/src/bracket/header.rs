//! What stands in a bracket: keys and their values, keywords, and acts between asterisks.

use super::{
    ActionKind, Problem,
    cast::{Cast, Target},
    draft::{Draft, value},
    problem::told,
};
use crate::mood::Mood;

/// The longest key in characters.
const MAX_KEY: usize = 24;

/// One item of a bracket.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item<'a> {
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

/// Whether a tone can stand in a bracket as it is: nothing in it begins another item.
pub(super) fn is_plain_tone(tone: &str) -> bool {
    let text = format!("TONE: {tone}");
    let mut items = items(&text).into_iter();
    matches!(items.next(), Some(Item::Tone(_)))
        && !tone.contains(['[', ']', '*'])
        && items.all(|item| matches!(item, Item::Bare(words) if goes_on_as_tone(words)))
}

fn goes_on_as_tone(words: &str) -> bool {
    Mood::of_tone(words).is_some() || !looks_like_act(words)
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
    for (at, c) in text.char_indices().take(super::MAX_VALUE) {
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
    text.char_indices().nth(super::MAX_VALUE).map_or(text.len(), |(at, _)| at)
}

/// Takes what a bracket says into the draft.
pub(super) fn read(inner: &str, cast: &Cast<'_>, draft: &mut Draft) {
    // What the item before was, which words without a key may go on with.
    let mut before = None;
    for item in items(inner) {
        match item {
            Item::Kind(kind, rest) => keyword(kind, rest, cast, draft),
            Item::To(name) => address(name, cast, draft),
            Item::Tone(tone) => draft.feel(tone),
            Item::Act(act) => draft.act(act),
            Item::Text(words) => draft.say_in_bracket(words),
            Item::After(phrase) => draft.after_phrase(phrase),
            Item::Foreign => draft.spare(inner),
            Item::Unknown(key, words) if cast.is_speaker(key) => {
                draft.note(Problem::NamePrefix);
                bare(words, None, cast, draft);
            }
            Item::Unknown(key, words) => {
                draft.note(Problem::UnknownKey { key: told(key) });
                draft.act(&format!("{}: {words}", key.to_lowercase()));
            }
            Item::Bare(words) => bare(words, before, cast, draft),
        }
        before = Some(item);
    }
}

/// Words that read like something done: `sighs`, `looking away`.
pub(super) fn looks_like_act(words: &str) -> bool {
    let first = words.split_whitespace().next().unwrap_or_default().trim_matches('*').to_lowercase();
    let is_third_person = first.ends_with('s') && !["ss", "us", "is"].iter().any(|end| first.ends_with(end));
    first.len() > 3 && (first.ends_with("ing") || is_third_person)
}

fn keyword(kind: ActionKind, rest: &str, cast: &Cast<'_>, draft: &mut Draft) {
    draft.kind = draft.kind.or(Some(kind));
    if rest.is_empty() {
        return;
    }
    match kind {
        ActionKind::Speak => draft.say_in_bracket(rest),
        ActionKind::Silent | ActionKind::React => bare(rest, None, cast, draft),
        ActionKind::Interrupt => {
            let lower = rest.to_ascii_lowercase();
            match lower.find("after") {
                Some(at) => {
                    let name = rest[..at].trim_matches(|c: char| !c.is_alphanumeric());
                    if !name.is_empty() {
                        address(name, cast, draft);
                    }
                    draft.after_phrase(rest[at + "after".len()..].trim_start_matches([':', ' ']));
                }
                None => match cast.target(rest) {
                    Target::One(one) if !rest.starts_with(['"', '“', '\'']) => {
                        draft.to = draft.to.take().or(Some(one))
                    }
                    _ => draft.after_phrase(rest),
                },
            }
        }
    }
}

fn address(name: &str, cast: &Cast<'_>, draft: &mut Draft) {
    let name = value(name);
    let words = name.split_whitespace().count();
    if draft.to.is_some() {
        draft.note(Problem::SeveralTargets { names: told(&name) });
        draft.spare_act(format!("to {name}"));
        return;
    }
    match cast.target(&name) {
        Target::One(one) => {
            if words > one.split_whitespace().count() {
                draft.spare_act(format!("to {name}"));
            }
            draft.to = Some(one);
        }
        Target::Everyone => {}
        Target::FirstOf(one) => {
            draft.to = Some(one);
            draft.note(Problem::SeveralTargets { names: told(&name) });
            draft.spare_act(format!("to {name}"));
        }
        Target::Unknown => {
            draft.note(Problem::UnknownTarget { name: told(&name) });
            draft.spare_act(format!("to {name}"));
        }
    }
}

/// Words without a key: they go on with what stood before them, or are what they look like.
fn bare(words: &str, before: Option<Item<'_>>, cast: &Cast<'_>, draft: &mut Draft) {
    let is_mood = Mood::of_tone(words).is_some();
    match before {
        Some(Item::Tone(_)) if goes_on_as_tone(words) => return draft.feel_also(words),
        Some(Item::After(_) | Item::Kind(ActionKind::Interrupt, _)) if draft.has_phrase() && !is_mood => {
            return draft.phrase_goes_on(words);
        }
        Some(Item::To(_)) => {
            if let Target::One(_) = cast.target(words) {
                draft.note(Problem::SeveralTargets { names: told(words) });
                draft.spare_act(format!("to {words}"));
                return;
            }
        }
        _ => {}
    }
    if cast.is_speaker(words) {
        draft.note(Problem::NamePrefix);
        draft.spare(words);
        return;
    }
    draft.note(Problem::NoKey { text: told(words) });
    let is_short = words.split_whitespace().count() <= 2 && !draft.kind.is_some_and(|kind| !kind.is_verbal());
    match cast.target(words) {
        Target::One(one) if draft.to.is_none() => draft.to = Some(one),
        _ if !draft.has_tone() && (is_mood || (is_short && !looks_like_act(words))) => draft.feel_barely(words),
        _ => draft.act(words),
    }
}

fn items(inner: &str) -> Vec<Item<'_>> {
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
            'T' | 'M' | 'E' if is_word_start && from < at => {
                if ["TO:", "TONE:", "MOOD:", "EMOTION:"].iter().any(|key| inner[at..].starts_with(key)) {
                    flush(from, at, &mut items);
                    from = at;
                }
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
