//! A reply that is a JSON object with the members of the form.

use serde_json::Value;

use super::{Problem, cast::Cast, draft::Draft, header, items::kind_of};
use crate::text::reply;

/// How many members of an object are looked at.
const MAX_MEMBERS: usize = 32;

/// The draft that an object makes, if it says or does anything.
pub(super) fn read(text: &str, cast: &Cast<'_>) -> Option<Draft> {
    let Value::Object(members) = reply::first_object(text)? else { return None };
    let mut draft = Draft::default();
    draft.has_header = true;
    draft.note(Problem::Object);
    for (key, value) in members.iter().take(MAX_MEMBERS) {
        let key = key.to_lowercase().replace(['_', '-', ' '], "");
        for value in texts(value) {
            match key.as_str() {
                "action" | "type" | "kind" => match kind_of(value) {
                    Some(kind) => draft.kind = draft.kind.or(Some(kind)),
                    None => draft.act(value),
                },
                "to" | "target" | "tone" | "mood" | "emotion" => {
                    let escaped = value.replace(['[', ']', ',', '*', '"'], " ");
                    header::read(&format!("{key}: {escaped}"), cast, &mut draft);
                }
                "nonverbal" | "gesture" | "actions" | "physical" => draft.act(value),
                "interruptafter" | "after" | "phrase" => draft.after_phrase(value),
                "content" | "text" | "dialog" | "dialogue" | "line" | "message" | "speech" | "say" | "words" => {
                    // What a reaction has for its content describes it.
                    let is_act = draft.kind.is_some_and(|kind| !kind.is_verbal());
                    draft.say(value, !is_act);
                }
                _ => {}
            }
        }
    }
    (!draft.is_blank() || draft.kind.is_some()).then_some(draft)
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().take(MAX_MEMBERS).filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
