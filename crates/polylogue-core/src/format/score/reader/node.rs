//! What was written, as a tree in which everything knows its line.

use std::sync::Arc;

use serde_json::{Number, Value};

/// A value with the line that it stands in, from 1; 0 where that is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub line: u32,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Nothing,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub line: u32,
    pub name: Arc<str>,
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Node {
        let content = match value {
            Value::Null => Content::Nothing,
            Value::Bool(truth) => Content::Bool(*truth),
            Value::Number(number) => Content::Number(number.clone()),
            Value::String(text) => Content::Text(text.as_str().into()),
            Value::Array(items) => Content::List(items.iter().map(Node::from).collect()),
            Value::Object(fields) => {
                let field =
                    |(name, field): (&String, &Value)| (Key { line: 0, name: name.as_str().into() }, Node::from(field));
                Content::Map(fields.iter().map(field).collect())
            }
        };
        Node { line: 0, content }
    }
}

impl Node {
    /// What it is, in words.
    pub(super) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Nothing => "nothing",
            Content::Bool(_) => "yes or no",
            Content::Number(_) => "a number",
            Content::Text(_) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// The text of what is one: numbers are read as they are written.
    pub(super) fn text(&self) -> Option<Arc<str>> {
        match &self.content {
            Content::Text(text) => Some(text.clone()),
            Content::Number(number) => Some(number.to_string().into()),
            Content::Nothing | Content::Bool(_) | Content::List(_) | Content::Map(_) => None,
        }
    }
}
