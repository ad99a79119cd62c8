//! The form of a structured reply, described once: the JSON schema that providers get and the rule that
//! replies are held to both come from it.

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value, json};

use super::{Problem, Repair, near::nearest};

/// A form that a value can have. Only what replies need.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A text that is not blank, of at most so many characters.
    Text {
        max_chars: Option<usize>,
    },
    /// One of these words.
    Choice(Vec<String>),
    Bool,
    /// One of these numbers.
    Number(Vec<u32>),
    /// A fraction from the first to the second. What is outside is brought inside: a model that says 80 or
    /// `80%` for 0.8 is understood.
    Fraction(f64, f64),
    /// A number from the first to the second, as it is.
    Range(f64, f64),
    /// Each of these words once, in an order of the speaker's own.
    Order(Vec<String>),
    /// At most so many of these. What does not fit is left out: one bad item spoils no list.
    List(Box<Shape>, usize),
    Object(Vec<Field>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Cow<'static, str>,
    pub shape: Shape,
    pub required: bool,
}

impl Field {
    pub fn required(name: impl Into<Cow<'static, str>>, shape: Shape) -> Self {
        Field { name: name.into(), shape, required: true }
    }

    pub fn optional(name: impl Into<Cow<'static, str>>, shape: Shape) -> Self {
        Field { name: name.into(), shape, required: false }
    }
}

impl Shape {
    /// The JSON schema of this shape.
    pub fn schema(&self) -> Value {
        match self {
            Shape::Text { max_chars: None } => json!({"type": "string", "minLength": 1}),
            Shape::Text { max_chars: Some(max) } => json!({"type": "string", "minLength": 1, "maxLength": max}),
            Shape::Choice(words) => json!({"type": "string", "enum": words}),
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Number(numbers) => json!({"type": "integer", "enum": numbers}),
            Shape::Fraction(least, most) => json!({"type": "number", "minimum": least, "maximum": most}),
            Shape::Range(least, most) => json!({"type": "number", "minimum": least, "maximum": most}),
            Shape::Order(words) => json!({
                "type": "array",
                "items": {"type": "string", "enum": words},
                "description": "Each of them once, the best first.",
                "maxItems": words.len(),
            }),
            Shape::List(of, most) => json!({"type": "array", "items": of.schema(), "maxItems": most}),
            Shape::Object(fields) => {
                let properties: Map<String, Value> =
                    fields.iter().map(|field| (field.name.to_string(), field.shape.schema())).collect();
                let required: Vec<&str> =
                    fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
                json!({
                    "type": "object",
                    "properties": properties,
                    "required": required,
                    "additionalProperties": false,
                })
            }
        }
    }

    /// Roughly how many tokens the schema is, without writing it.
    pub fn tokens(&self) -> u64 {
        (self.schema_chars() as u64).div_ceil(4)
    }

    /// The length of each part of the schema as JSON. Numbers count as a few digits.
    fn schema_chars(&self) -> usize {
        match self {
            Shape::Text { max_chars: None } => 31,
            Shape::Text { max_chars: Some(_) } => 47,
            Shape::Choice(words) => 25 + words.iter().map(|word| word.len() + 3).sum::<usize>(),
            Shape::Bool => 18,
            Shape::Number(numbers) => 26 + 3 * numbers.len(),
            Shape::Fraction(..) | Shape::Range(..) => 45,
            Shape::Order(words) => 117 + words.iter().map(|word| word.len() + 3).sum::<usize>(),
            Shape::List(of, _) => 42 + of.schema_chars(),
            Shape::Object(fields) => {
                let of_field = |field: &Field| {
                    let name = field.name.len() + 3;
                    name + 1 + field.shape.schema_chars() + if field.required { name } else { 0 }
                };
                74 + fields.iter().map(of_field).sum::<usize>()
            }
        }
    }

    /// Makes the value have this shape by small repairs that do not change its meaning, or says why not.
    pub(super) fn fit(&self, value: Value, repairs: &mut Vec<Repair>) -> Result<Value, Problem> {
        self.fit_at(At::TOP, value, repairs)
    }

    fn fit_at(&self, at: At<'_>, value: Value, repairs: &mut Vec<Repair>) -> Result<Value, Problem> {
        match self {
            Shape::Text { max_chars } => match value {
                Value::String(text) if !text.trim().is_empty() => Ok(Value::String(cut(text, *max_chars, repairs))),
                _ => Err(self.wrong(at)),
            },
            Shape::Choice(words) => {
                let said = value.as_str().map(str::trim).unwrap_or_default();
                let exact = words.iter().find(|word| *word == said);
                let word = exact.or_else(|| nearest(said, words)).ok_or_else(|| self.wrong(at))?;
                if value.as_str() != Some(word) {
                    repairs.push(Repair::Choice);
                }
                Ok(Value::String(word.clone()))
            }
            Shape::Bool => match &value {
                Value::Bool(_) => Ok(value),
                Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Ok(coerced(true, repairs)),
                Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Ok(coerced(false, repairs)),
                _ => Err(self.wrong(at)),
            },
            Shape::Number(numbers) => {
                let number = number(&value).filter(|number| numbers.contains(number)).ok_or_else(|| self.wrong(at))?;
                if !value.is_u64() {
                    repairs.push(Repair::Type);
                }
                Ok(number.into())
            }
            Shape::Fraction(least, most) => {
                let said = fraction(&value).ok_or_else(|| self.wrong(at))?;
                let meant = if said.abs() > least.abs().max(most.abs()) { said / 100.0 } else { said };
                let kept = meant.clamp(*least, *most);
                if value.as_f64() != Some(kept) {
                    repairs.push(Repair::Type);
                }
                Ok(json!(kept))
            }
            Shape::Range(least, most) => {
                let said = match &value {
                    Value::Number(number) => number.as_f64(),
                    Value::String(text) => text.trim().parse().ok(),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                };
                let said = said.filter(|said| (*least..=*most).contains(said)).ok_or_else(|| self.wrong(at))?;
                if value.is_number() {
                    return Ok(value);
                }
                repairs.push(Repair::Type);
                let is_whole = said.fract() == 0.0 && said.abs() < 1e15;
                Ok(if is_whole { json!(said as i64) } else { json!(said) })
            }
            Shape::Order(words) => {
                let Value::Array(items) = value else { return Err(self.wrong(at)) };
                let choice = Shape::Choice(words.clone());
                let mut order: Vec<Value> = Vec::with_capacity(words.len());
                for item in items {
                    let mut tried = Vec::new();
                    match choice.fit_at(at, item, &mut tried) {
                        Ok(word) if !order.contains(&word) => {
                            repairs.extend(tried);
                            order.push(word);
                        }
                        Ok(_) | Err(_) => repairs.push(Repair::UnknownField),
                    }
                }
                if order.len() < words.len() { Err(self.wrong(at)) } else { Ok(Value::Array(order)) }
            }
            Shape::List(of, most) => {
                let items = match value {
                    Value::Array(items) => items,
                    Value::Object(_) | Value::String(_) => {
                        repairs.push(Repair::Type);
                        vec![value]
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) => return Err(self.wrong(at)),
                };
                let given = items.len();
                let fitted = items.into_iter().filter_map(|item| {
                    let mut tried = Vec::new();
                    let item = of.fit_at(at, item, &mut tried).ok()?;
                    repairs.extend(tried);
                    Some(item)
                });
                let fitted: Vec<Value> = fitted.take(*most).collect();
                if fitted.len() < given {
                    repairs.push(Repair::UnknownField);
                }
                Ok(Value::Array(fitted))
            }
            Shape::Object(fields) => {
                let Value::Object(mut given) = value else { return Err(self.wrong(at)) };
                let mut fitted = Map::new();
                for field in fields {
                    let path = At { name: &field.name, within: Some(&at) };
                    match take(&mut given, &field.name, repairs) {
                        Some(value) if !field.required && is_empty(&value) => repairs.push(Repair::EmptyField),
                        Some(value) => {
                            let value = field.shape.fit_at(path, value, repairs)?;
                            fitted.insert(field.name.to_string(), value);
                        }
                        None if field.required => return Err(Problem::Missing(path.to_string())),
                        None => {}
                    }
                }
                if !given.is_empty() {
                    repairs.push(Repair::UnknownField);
                }
                Ok(Value::Object(fitted))
            }
        }
    }

    fn wrong(&self, at: At<'_>) -> Problem {
        let wanted = match self {
            Shape::Text { .. } => "a text that is not empty".to_owned(),
            Shape::Choice(words) => format!("one of {}", words.join(", ")),
            Shape::Bool => "true or false".to_owned(),
            Shape::Number(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                format!("one of {}", numbers.join(", "))
            }
            Shape::Fraction(least, most) => format!("a number from {least} to {most}"),
            Shape::Range(least, most) => format!("a number from {least} to {most}"),
            Shape::Order(words) => format!("a list that has each of {} once", words.join(", ")),
            Shape::List(..) => "a list".to_owned(),
            Shape::Object(_) => "an object".to_owned(),
        };
        Problem::Wrong { at: at.to_string(), wanted }
    }
}

/// Where in a value something is. It becomes text only when something is wrong there.
#[derive(Clone, Copy)]
struct At<'a> {
    name: &'a str,
    within: Option<&'a At<'a>>,
}

impl At<'_> {
    const TOP: At<'static> = At { name: "the reply", within: None };
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(within) = self.within.filter(|within| within.within.is_some()) {
            write!(f, "{within}.")?;
        }
        f.write_str(self.name)
    }
}

/// A number as it is, as `2.0`, or as the only one in a text: `"2"`, `"slot-2"`.
fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => {
            let float =
                number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(float));
            float.map(|float| float as u32)
        }
        Value::String(text) => {
            let mut runs = text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
            let only = runs.next().filter(|_| !text.trim_start().starts_with('-'))?;
            if runs.next().is_some() { None } else { only.parse().ok() }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A fraction as it is, or as a text: `"0.8"`, `"80%"`.
fn fraction(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
            None => text.trim().parse().ok(),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .filter(|fraction| fraction.is_finite())
}

/// Takes a member by its name, or by its name in another case.
fn take(given: &mut Map<String, Value>, name: &str, repairs: &mut Vec<Repair>) -> Option<Value> {
    if let Some(value) = given.remove(name) {
        return Some(value);
    }
    let near = given.keys().find(|key| key.trim().eq_ignore_ascii_case(name))?.clone();
    repairs.push(Repair::Choice);
    given.remove(&near)
}

/// What models write for "nothing": strict schema modes have no absent fields, only null ones.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn coerced(value: bool, repairs: &mut Vec<Repair>) -> Value {
    repairs.push(Repair::Type);
    Value::Bool(value)
}

fn cut(text: String, max_chars: Option<usize>, repairs: &mut Vec<Repair>) -> String {
    match max_chars.and_then(|max| text.char_indices().nth(max)) {
        Some((end, _)) => {
            repairs.push(Repair::Cut);
            text[..end].trim_end().to_owned()
        }
        None => text,
    }
}
