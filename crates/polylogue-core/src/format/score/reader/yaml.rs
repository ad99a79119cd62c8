//! The text of a score as a tree. JSON is read as well: it is YAML too.

use std::{fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;
use serde_saphyr::Spanned;

use super::{Content, Key, Node, Problem};

/// Bytes of a score that are read.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// The tree of a text, or why it has none.
pub(super) fn tree(text: &str) -> Result<Node, Problem> {
    let wrong = |line: Option<u32>, message: String| Problem { line, phase: None, message };
    if text.len() > MAX_BYTES {
        return Err(wrong(None, format!("the score is larger than {MAX_BYTES} bytes")));
    }
    // A name such as `y` or `No` is a text here, as it is to people.
    let options = serde_saphyr::options! { strict_booleans: true };
    let spanned: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().and_then(|at| u32::try_from(at.line()).ok());
        let problem = error.without_snippet().to_string();
        let first = problem.lines().next().unwrap_or_default();
        wrong(line, format!("does not parse as YAML: {first}"))
    })?;
    let lines: Vec<&str> = text.lines().collect();
    Ok(node(spanned, &lines))
}

/// A value as the parser gives it.
enum Raw {
    Content(Content),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn node(spanned: Spanned<Raw>, lines: &[&str]) -> Node {
    let line = line_of(&spanned);
    let content = match spanned.value {
        Raw::Content(content) => content,
        Raw::List(items) => Content::List(items.into_iter().map(|item| node(item, lines)).collect()),
        Raw::Map(fields) => {
            let field = |(name, field): (Spanned<String>, Spanned<Raw>)| {
                (Key { line: line_of(&name), name: name.value.into() }, node(field, lines))
            };
            Content::Map(fields.into_iter().map(field).collect())
        }
    };
    // The words of a block stand below the sign that begins it.
    let begins = lines.get(line.saturating_sub(1) as usize).copied().unwrap_or_default().trim_end();
    let is_block = ["|", "|-", "|+", ">", ">-", ">+"].iter().any(|sign| begins.ends_with(sign));
    let below = u32::from(is_block && matches!(content, Content::Text(_)));
    Node { line: line + below, content }
}

fn line_of<T>(spanned: &Spanned<T>) -> u32 {
    u32::try_from(spanned.referenced.line()).unwrap_or(0)
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Content(Content::Nothing))
    }

    fn visit_none<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Content(Content::Nothing))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Raw, E> {
        Ok(Raw::Content(Content::Bool(truth)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Raw, E> {
        Ok(Raw::Content(Content::Number(number.into())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Raw, E> {
        Ok(Raw::Content(Content::Number(number.into())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Raw, E> {
        let number = Number::from_f64(number).ok_or_else(|| E::custom("a number without end"))?;
        Ok(Raw::Content(Content::Number(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Content(Content::Text(Arc::from(text))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(field) = fields.next_entry()? {
            map.push(field);
        }
        Ok(Raw::Map(map))
    }
}
