//! What an agent of a collaboration replies: a message, and who goes on, or that it is done.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    format::Hearing,
    id::AgentId,
    text::{
        identity::{after_prefix, own_line, settled},
        reply::{self, Field, Problem, Repair, Shape},
    },
};

const MAX_TASK_CHARS: usize = 500;
const MESSAGE: &str = "message";
const HANDOFF: &str = "handoff";

/// The envelope between these agents.
pub(super) fn shape(names: &[String]) -> Shape {
    let mut fields = vec![Field::required(MESSAGE, Shape::Text { max_chars: None })];
    // Who is alone has nobody to hand over to.
    if names.len() > 1 {
        let to = Field::required("to", Shape::Choice(names.to_vec()));
        let task = Field::required("task", Shape::Text { max_chars: Some(MAX_TASK_CHARS) });
        fields.push(Field::optional(HANDOFF, Shape::Object(vec![to, task])));
    }
    fields.push(Field::optional("final", Shape::Bool));
    Shape::Object(fields)
}

/// What a reply comes to.
pub(super) struct Reading {
    pub(super) envelope: Result<Envelope, Problem>,
    /// Why a handoff is ignored.
    pub(super) ignored: Option<Problem>,
    pub(super) repairs: Vec<Repair>,
}

impl Reading {
    /// Whether the end of the reply is missing.
    pub(super) fn is_broken_off(&self) -> bool {
        self.envelope.is_err() || self.repairs.contains(&Repair::Truncated)
    }
}

/// Reads a reply, whole or broken off. A handoff to nobody, or to somebody who is not here, costs nobody their message.
pub(super) fn read(text: &str, shape: &Shape) -> Reading {
    let strict = reply::read(text, shape);
    let ignored = strict.value.as_ref().err().filter(|problem| problem.at().is_some_and(is_in_handoff)).cloned();
    let reading = match (&ignored, shape) {
        (Some(_), Shape::Object(fields)) => {
            let others = fields.iter().filter(|field| field.name != HANDOFF).cloned();
            reply::read(text, &Shape::Object(others.collect()))
        }
        _ => strict,
    };
    Reading { envelope: reading.value.map(Envelope::from), ignored, repairs: reading.repairs }
}

fn is_in_handoff(at: &str) -> bool {
    at.split('.').next() == Some(HANDOFF)
}

/// A message without its speaker's name before it. One in which several speak is a dialogue that the agent wrote: it
/// stays whole.
pub(super) fn message<'a>(message: &'a str, speaker: &str, names: &[&str], repairs: &mut Vec<Repair>) -> &'a str {
    let speaks = |line: &str| names.iter().any(|name| after_prefix(line, name).is_some());
    match message.trim().split('\n').skip(1).any(speaks) {
        true => message,
        false => own_line(message, speaker, &[], repairs),
    }
}

/// How a reply of `speaker` reads while it arrives.
pub(super) fn hearing(speaker: &str, names: &[&str]) -> Hearing {
    let speaker = speaker.to_owned();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Hearing::new(move |partial| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let arrived = reply::text_so_far(partial, MESSAGE);
        message(settled(&arrived, &names), &speaker, &names, &mut Vec::new()).to_owned()
    })
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Envelope {
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handoff: Option<Handoff>,
    #[serde(default, rename = "final", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_final: bool,
}

/// A reply of its shape.
impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).expect("an envelope has string keys"))
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handoff {
    pub(super) to: AgentId,
    pub(super) task: String,
}

/// From a value of [`shape`].
impl From<Value> for Envelope {
    fn from(value: Value) -> Self {
        serde_json::from_value(value).expect("a value of the envelope's shape is an envelope")
    }
}
