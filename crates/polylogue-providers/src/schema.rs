//! A reply's JSON schema in each vendor's dialect of it.
//!
//! Schema modes take a part of JSON Schema only, each another part. What a vendor does not take is put into
//! the description, where the model may still read it; the repair ladder holds the reply to it afterwards.

use serde_json::{Map, Value, json};

/// What becomes of the lengths of texts and lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Not every vendor's schema mode takes them.
    Told,
    /// Servers that decode by a grammar can hold to the least length, and small models need it: an empty text
    /// fits every other rule. The greatest stays a word of advice, because it makes grammars slow.
    LeastKept,
}

/// For OpenAI's strict mode: every property is required, what may be absent may be null, nothing else is allowed.
pub(crate) fn strict(schema: &Value, lengths: Lengths) -> Value {
    walk(schema, lengths, &|properties, required| {
        let nullable = |(name, schema): (&String, &Value)| {
            let schema =
                if required.contains(name) { schema.clone() } else { json!({"anyOf": [schema, {"type": "null"}]}) };
            (name.clone(), schema)
        };
        let names = properties.keys().cloned().collect();
        (properties.iter().map(nullable).collect(), names)
    })
}

/// For the vendors that let a property be absent: Anthropic, Gemini, Ollama.
pub(crate) fn plain(schema: &Value, lengths: Lengths) -> Value {
    walk(schema, lengths, &|properties, required| (properties.clone(), required.to_vec()))
}

/// What a dialect makes of an object's properties, given which of them are required.
type Rule<'a> = &'a dyn Fn(&Map<String, Value>, &[String]) -> (Map<String, Value>, Vec<String>);

fn walk(schema: &Value, lengths: Lengths, rule: Rule<'_>) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut adapted = Map::new();
    for (keyword, value) in schema {
        match keyword.as_str() {
            "required" => {}
            "minLength" | "minItems" if lengths == Lengths::Told => {}
            "description" => tell(&mut adapted, value.as_str().unwrap_or_default()),
            "maxLength" => tell(&mut adapted, &format!("At most {value} characters.")),
            "maxItems" => tell(&mut adapted, &format!("At most {value} of them.")),
            "minimum" => tell(&mut adapted, &format!("At least {value}.")),
            "maximum" => tell(&mut adapted, &format!("At most {value}.")),
            "items" => {
                adapted.insert(keyword.clone(), walk(value, lengths, rule));
            }
            "properties" => {
                let walked: Map<String, Value> = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, schema)| (name.clone(), walk(schema, lengths, rule)))
                    .collect();
                let required: Vec<String> = schema
                    .get("required")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(|name| name.as_str().map(str::to_owned))
                    .collect();
                let (properties, required) = rule(&walked, &required);
                adapted.insert(keyword.clone(), Value::Object(properties));
                adapted.insert("required".to_owned(), json!(required));
            }
            _ => {
                adapted.insert(keyword.clone(), value.clone());
            }
        }
    }
    Value::Object(adapted)
}

/// Adds a rule to the description, where it is advice.
fn tell(schema: &mut Map<String, Value>, rule: &str) {
    let said = schema.get("description").and_then(Value::as_str).map(|said| format!("{said} ")).unwrap_or_default();
    schema.insert("description".to_owned(), json!(format!("{said}{rule}")));
}

/// The schema as an instruction, for a model without a schema mode.
pub(crate) fn instruction(schema: &Value) -> String {
    format!(
        "Reply with one JSON object and nothing else: no code fence, no words before or after it. It must fit this \
         JSON schema:\n{schema}"
    )
}

#[cfg(test)]
mod tests {
    use polylogue_core::text::reply::{Field, Shape};

    use super::*;

    fn envelope() -> Value {
        Shape::Object(vec![
            Field::required("message", Shape::Text { max_chars: None }),
            Field::optional(
                "handoff",
                Shape::Object(vec![
                    Field::required("to", Shape::Choice(vec!["gpt".into(), "claude".into()])),
                    Field::required("task", Shape::Text { max_chars: Some(500) }),
                ]),
            ),
            Field::optional("final", Shape::Bool),
        ])
        .schema()
    }

    #[test]
    fn strict_requires_all_and_lets_the_optional_be_null() {
        let task = json!({"type": "string", "description": "At most 500 characters."});
        let to = json!({"type": "string", "enum": ["gpt", "claude"]});
        let handoff = json!({
            "type": "object",
            "properties": {"to": to, "task": task},
            "required": ["to", "task"],
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "handoff": {"anyOf": [handoff, {"type": "null"}]},
                "final": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            },
            "required": ["message", "handoff", "final"],
            "additionalProperties": false,
        });
        assert_eq!(strict(&envelope(), Lengths::Told), expected);
        // Models write the properties in the order of the schema: the message must come first.
        let text = strict(&envelope(), Lengths::Told).to_string();
        assert!(text.find("\"message\"").unwrap() < text.find("\"handoff\"").unwrap());
        assert!(text.find("\"handoff\"").unwrap() < text.find("\"final\"").unwrap());
    }

    #[test]
    fn what_not_every_vendor_takes_is_told() {
        let numbers = json!({"type": "integer", "minimum": 1, "maximum": 6});
        let list = json!({"type": "array", "minItems": 1, "maxItems": 3, "items": numbers});
        let told = json!({"type": "integer", "description": "At least 1. At most 6."});
        let expected = json!({"type": "array", "description": "At most 3 of them.", "items": told});
        assert_eq!(plain(&list, Lengths::Told), expected);
        assert_eq!(strict(&list, Lengths::LeastKept)["minItems"], 1);
    }

    #[test]
    fn plain_leaves_the_optional_out_of_what_is_required() {
        let schema = plain(&envelope(), Lengths::Told);
        assert_eq!(schema["required"], json!(["message"]));
        assert_eq!(schema["properties"]["handoff"]["required"], json!(["to", "task"]));
        assert!(!schema.to_string().contains("Length"));
        let kept = plain(&envelope(), Lengths::LeastKept);
        assert_eq!(kept["properties"]["message"], json!({"type": "string", "minLength": 1}));
        assert!(!kept.to_string().contains("maxLength"));
    }
}
