//! Values between the three worlds that they live in: JSON, templates, and words that people read.

use minijinja::{Value, value::ValueKind};
use serde_json::{Map, Number, Value as Json};

/// As templates know it.
pub(super) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(fraction)) => fraction.into(),
            (None, None) => Value::from(()),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(value).collect::<Vec<Value>>().into(),
        Json::Object(fields) => Value::from_pairs(fields.iter().map(|(name, field)| (name.as_str(), value(field)))),
    }
}

/// As it is recorded.
pub(super) fn json(value: &Value) -> Json {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None | ValueKind::Invalid => Json::Null,
        ValueKind::Bool => value.is_true().into(),
        ValueKind::Number => match (value.as_i64(), f64::try_from(value.clone()).ok()) {
            (Some(whole), _) => whole.into(),
            (None, fraction) => fraction.and_then(Number::from_f64).map_or(Json::Null, Json::Number),
        },
        ValueKind::Seq | ValueKind::Iterable => match value.try_iter() {
            Ok(items) => Json::Array(items.map(|item| json(&item)).collect()),
            Err(_) => Json::Null,
        },
        ValueKind::Map => {
            let Ok(keys) = value.try_iter() else { return Json::Null };
            let field = |key: Value| (key.to_string(), value.get_item(&key).map_or(Json::Null, |field| json(&field)));
            Json::Object(keys.map(field).collect::<Map<_, _>>())
        }
        _ => Json::String(value.to_string()),
    }
}

/// As it reads in a sentence.
pub(super) fn in_words(json: &Json) -> String {
    match json {
        Json::Null => "none".to_owned(),
        Json::Bool(truth) => if *truth { "yes" } else { "no" }.to_owned(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(", "),
        // What is counted, and how much it came to: `gpt 5`.
        Json::Object(fields) => fields.values().map(in_words).collect::<Vec<_>>().join(" "),
    }
}
