//! From a model's text to a value of a known shape: the ladder.
//!
//! A strict reading first; then what is inside fences and prose; then a lenient reading that repairs;
//! then the shape is fitted. Every rung that was needed is reported. Nothing here panics, whatever it is
//! given, and nothing here asks again: that is the format's decision.

mod extract;
mod lenient;
mod near;
mod partial;
mod shape;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use near::nearest;
pub(crate) use partial::{text_so_far, thought_through};
pub use shape::{Field, Shape};

/// Bytes of a reply that are read; what is beyond is not looked at.
pub const MAX_BYTES: usize = 256 * 1024;

/// What had to be done to a reply to understand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Longer than is read at all.
    TooLong,
    /// Thinking aloud was removed.
    Thinking,
    /// The value was inside a code fence.
    Fence,
    /// There was prose before or after the value.
    Prose,
    /// More values followed; the first counts.
    FirstOfSeveral,
    /// The value was inside another object.
    Nested,
    /// Quotes other than `"`.
    Quotes,
    /// A quote inside a text was not escaped.
    InnerQuote,
    /// A line break inside a text was not escaped.
    RawNewline,
    /// A key or word without quotes, or a literal of another language.
    BareWord,
    /// A comma too many or too few.
    Comma,
    /// A comment.
    Comment,
    /// The reply broke off and was closed.
    Truncated,
    /// A choice that is nearly right: written in another case, with spaces or an `@`, or with a slip of a letter.
    Choice,
    /// An optional field that was null or empty, left out.
    EmptyField,
    /// A field that the shape does not have, left out.
    UnknownField,
    /// A value of another type that says the same, such as `"true"`.
    Type,
    /// A text over its length, cut.
    Cut,
    /// No voice profile that there is; the speaker's own or a drawn one is used.
    Voice,
    /// The speaker's own name before the line.
    NamePrefix,
    /// Another participant's line, cut off.
    OtherSpeaker,
    /// What followed a stop sequence, cut off.
    Stop,
}

/// What a reply turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub value: Result<Value, Problem>,
    pub repairs: Vec<Repair>,
}

impl Reading {
    /// What it is worth if the output limit was reached: nothing, if the end had to be made up.
    pub(crate) fn within_limit(self, is_full: bool) -> Reading {
        match is_full && self.repairs.contains(&Repair::Truncated) {
            true => Reading { value: Err(Problem::BrokenOff), repairs: Vec::new() },
            false => self,
        }
    }
}

/// Why a reply has not the shape that was asked for, in words that a model can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("there is no JSON object in the reply")]
    NoObject,
    #[error("`{0}` is missing")]
    Missing(String),
    #[error("`{at}` must be {wanted}")]
    Wrong { at: String, wanted: String },
    #[error("the reply broke off at the output limit")]
    BrokenOff,
}

impl Problem {
    /// The field that it is about, such as `handoff.to`.
    pub(crate) fn at(&self) -> Option<&str> {
        match self {
            Problem::Missing(at) | Problem::Wrong { at, .. } => Some(at),
            Problem::NoObject | Problem::BrokenOff => None,
        }
    }
}

/// Reads a reply as a value of `shape`.
pub fn read(text: &str, shape: &Shape) -> Reading {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        let mut repairs = Vec::new();
        if let Ok(value) = shape.fit(value, &mut repairs) {
            return done(Ok(value), repairs);
        }
    }
    let mut first_problem = None;
    let (text, mut common) = extract::prepare(text);
    for candidate in extract::candidates(&text) {
        let mut repairs = candidate.repairs;
        match fit_somewhere(candidate.value, shape, &mut repairs) {
            Ok(value) => {
                common.extend(repairs);
                return done(Ok(value), common);
            }
            Err(problem) => first_problem = first_problem.or(Some(problem)),
        }
    }
    done(Err(first_problem.unwrap_or(Problem::NoObject)), Vec::new())
}

/// What a reply that is still arriving says so far: the text itself or, in an object, its first text.
pub fn preview(partial: &str) -> Option<String> {
    let partial = partial.trim_start();
    if !partial.starts_with('{') {
        return Some(partial.to_owned()).filter(|text| !text.is_empty());
    }
    let object = lenient::read(partial)?.value;
    object.as_object()?.values().find_map(|value| value.as_str().map(str::to_owned))
}

/// The text within its bound and without thinking aloud.
pub(crate) fn without_thinking(text: &str) -> (Cow<'_, str>, Vec<Repair>) {
    extract::prepare(text)
}

/// The first object that can be read from the text, repaired as it must be.
pub(crate) fn first_object(text: &str) -> Option<Value> {
    extract::candidates(text).next().map(|candidate| candidate.value)
}

fn done(value: Result<Value, Problem>, mut repairs: Vec<Repair>) -> Reading {
    repairs.sort_unstable();
    repairs.dedup();
    Reading { value, repairs }
}

/// How deep inside other objects a reply is looked for.
const MAX_NESTING: usize = 3;

/// Fits the value itself or, failing that, the first member inside it that fits.
fn fit_somewhere(value: Value, shape: &Shape, repairs: &mut Vec<Repair>) -> Result<Value, Problem> {
    let inside = members(&value);
    let mut tried = Vec::new();
    let problem = match shape.fit(value, &mut tried) {
        Ok(value) => {
            repairs.extend(tried);
            return Ok(value);
        }
        Err(problem) => problem,
    };
    let mut level = inside;
    for _ in 0..MAX_NESTING {
        let mut deeper = Vec::new();
        for value in level {
            deeper.extend(members(&value));
            let mut tried = Vec::new();
            if let Ok(value) = shape.fit(value, &mut tried) {
                repairs.extend(tried);
                repairs.push(Repair::Nested);
                return Ok(value);
            }
        }
        level = deeper;
    }
    Err(problem)
}

fn members(value: &Value) -> Vec<Value> {
    let composite = |value: &&Value| value.is_object() || value.is_array();
    match value {
        Value::Object(map) => map.values().filter(composite).cloned().collect(),
        Value::Array(items) => items.iter().filter(composite).cloned().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
