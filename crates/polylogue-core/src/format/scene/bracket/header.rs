//! What the items of a bracket mean, taken into the draft of an action.

use super::{
    ActionKind, Problem,
    cast::{Cast, Target},
    draft::{Draft, value},
    items::{Item, items},
    problem::told,
};
use crate::format::scene::mood::Mood;

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
    if draft.to.is_some() {
        draft.note(Problem::SeveralTargets { names: told(&name) });
        draft.spare_act(format!("to {name}"));
        return;
    }
    match cast.target(&name) {
        Target::One(one) => {
            if words(&name) > words(&one) {
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

fn words(text: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count()
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
    let is_short = words.split_whitespace().count() <= 2 && draft.kind.is_none_or(ActionKind::is_verbal);
    match cast.target(words) {
        Target::One(one) if draft.to.is_none() => {
            // What stands beside the name counts if nothing else does.
            if self::words(words) > self::words(&one) {
                draft.spare_act(value(words));
            }
            draft.to = Some(one);
        }
        _ if !draft.has_tone() && (is_mood || (is_short && !looks_like_act(words))) => draft.feel_barely(words),
        _ => draft.act(words),
    }
}
