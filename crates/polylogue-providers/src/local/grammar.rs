//! What a reply is held to while it is made: a shape as JSON without white space, a grammar as it is.

use llama_cpp_2::sampling::LlamaSampler;
use llguidance::{Matcher, ParserFactory, api::TopLevelGrammar};
use polylogue_core::{
    ask::Request,
    text::reply::{Field, Shape},
};
use polylogue_runtime::port::CallError;
use serde_json::{Map, Value, json};

/// Characters of one text of a shape, at most. Small models ramble, and JSON that does not close is none.
const LONGEST_TEXT: usize = 600;
const SHORTEST_TEXT: usize = 40;
/// Characters between the first and the last of a text, at least: a comma alone is nothing that could be said.
const LEAST_TEXT: usize = 12;
/// Items of one list, at most.
const LONGEST_LIST: usize = 3;

/// Makes samplers that let only what fits through.
pub(super) struct Grammars {
    parsers: ParserFactory,
}

impl Grammars {
    pub(super) fn new(parsers: ParserFactory) -> Grammars {
        Grammars { parsers }
    }

    /// The sampler for a request's form; `None` when it asks for none.
    pub(super) fn sampler(&self, request: &Request, output: usize) -> Result<Option<LlamaSampler>, CallError> {
        let grammar = match (&request.shape, &request.grammar) {
            (Some(shape), _) => TopLevelGrammar::from_json_schema(schema(shape, output)),
            (None, Some(grammar)) => TopLevelGrammar::from_lark(grammar.to_string()),
            (None, None) => return Ok(None),
        };
        let matcher = Matcher::new(self.parsers.create_parser(grammar));
        match matcher.get_error() {
            None => Ok(Some(matcher.into())),
            Some(problem) => {
                tracing::warn!(%problem, "a grammar cannot be used");
                Err(CallError::Rejected("the form of the reply cannot be made a grammar".to_owned()))
            }
        }
    }
}

/// The shape's JSON schema, with texts that are sentences and end before the output does.
fn schema(shape: &Shape, output: usize) -> Value {
    // English has four letters to a token; half of that leaves room for everything around the texts.
    let longest = (output * 2 / texts(shape).max(1)).clamp(SHORTEST_TEXT, LONGEST_TEXT);
    let mut schema = bounded(shape, longest);
    schema["x-guidance"] = json!({"whitespace_flexible": false, "item_separator": ",", "key_separator": ":"});
    schema
}

fn bounded(shape: &Shape, longest: usize) -> Value {
    match shape {
        Shape::Text { max_chars } => {
            let most = max_chars.map_or(longest, |max| max.min(longest)).saturating_sub(2).max(1);
            let least = LEAST_TEXT.min(most / 3);
            // A letter, words without what JSON is made of, and the end of a sentence.
            let pattern =
                format!("^[^\\x00-\\x40\\x5b-\\x60\\x7b-\\x7f][^\\x00-\\x1f\"\\\\\\[\\]{{}}]{{{least},{most}}}[.!?]$");
            json!({"type": "string", "pattern": pattern})
        }
        Shape::Object(fields) => {
            let property = |field: &Field| (field.name.to_string(), bounded(&field.shape, longest));
            let mut schema = shape.schema();
            schema["properties"] = Value::Object(fields.iter().map(property).collect::<Map<_, _>>());
            schema
        }
        Shape::List(of, most) => {
            json!({"type": "array", "items": bounded(of, longest), "maxItems": most.min(&LONGEST_LIST)})
        }
        // A number in words of its own could have digits without end.
        Shape::Range(least, most) if least.fract() == 0.0 && most.fract() == 0.0 && most - least <= 100.0 => {
            json!({"enum": (*least as i64..=*most as i64).collect::<Vec<i64>>()})
        }
        Shape::Fraction(least, most) | Shape::Range(least, most) => {
            let part = |n: u32| ((least + (most - least) * f64::from(n) / 20.0) * 100.0).round() / 100.0;
            json!({"enum": (0..=20).map(part).collect::<Vec<f64>>()})
        }
        Shape::Choice(_) | Shape::Bool | Shape::Number(_) | Shape::Order(_) => shape.schema(),
    }
}

/// How many texts a shape has that may be long.
fn texts(shape: &Shape) -> usize {
    match shape {
        Shape::Text { .. } => 1,
        Shape::Object(fields) => fields.iter().map(|field| texts(&field.shape)).sum(),
        Shape::List(of, most) => texts(of) * most.min(&LONGEST_LIST),
        Shape::Choice(_)
        | Shape::Bool
        | Shape::Number(_)
        | Shape::Fraction(..)
        | Shape::Range(..)
        | Shape::Order(_) => 0,
    }
}
