//! What an agent of a collaboration replies: a message, and who goes on, or that it is done.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    id::AgentId,
    text::reply::{self, Field, Problem, Repair, Shape},
};

const MAX_TASK_CHARS: usize = 500;
const HANDOFF: &str = "handoff";

/// The envelope between these agents.
pub(super) fn shape(names: &[String]) -> Shape {
    let mut fields = vec![Field::required("message", Shape::Text { max_chars: None })];
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

#[derive(Debug, Deserialize)]
pub(super) struct Envelope {
    pub(super) message: String,
    pub(super) handoff: Option<Handoff>,
    #[serde(default, rename = "final")]
    pub(super) is_final: bool,
}

#[derive(Debug, Deserialize)]
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
