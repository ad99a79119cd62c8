//! What an agent of a collaboration replies: a message, and who goes on, or that it is done.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    id::AgentId,
    text::reply::{Field, Shape},
};

const MAX_TASK_CHARS: usize = 500;

/// The envelope between these agents.
pub(super) fn shape(names: &[String]) -> Shape {
    let mut fields = vec![Field::required("message", Shape::Text { max_chars: None })];
    // Who is alone has nobody to hand over to.
    if names.len() > 1 {
        let to = Field::required("to", Shape::Choice(names.to_vec()));
        let task = Field::required("task", Shape::Text { max_chars: Some(MAX_TASK_CHARS) });
        fields.push(Field::optional("handoff", Shape::Object(vec![to, task])));
    }
    fields.push(Field::optional("final", Shape::Bool));
    Shape::Object(fields)
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
