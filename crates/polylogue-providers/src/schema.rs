//! A reply's JSON schema in each vendor's dialect of it.
//!
//! Schema modes take a part of JSON Schema only, each another part. What a vendor does not take is put into
//! the description, where the model may still read it; the repair ladder holds the reply to it afterwards.

use serde_json::{Map, Value, json};

/// For OpenAI's strict mode: every property is required, what may be absent may be null, nothing else is allowed.
pub(crate) fn strict(schema: &Value) -> Value {
    walk(schema, &|properties, required| {
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
pub(crate) fn plain(schema: &Value) -> Value {
    walk(schema, &|properties, required| (properties.clone(), required.to_vec()))
}

/// What a dialect makes of an object's properties, given which of them are required.
type Rule<'a> = &'a dyn Fn(&Map<String, Value>, &[String]) -> (Map<String, Value>, Vec<String>);

fn walk(schema: &Value, rule: Rule<'_>) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut adapted = Map::new();
    for (keyword, value) in schema {
        match keyword.as_str() {
            "minLength" | "required" => {}
            "maxLength" => {
                adapted.insert("description".to_owned(), json!(format!("At most {value} characters.")));
            }
            "items" => {
                adapted.insert(keyword.clone(), walk(value, rule));
            }
            "properties" => {
                let walked: Map<String, Value> = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, schema)| (name.clone(), walk(schema, rule)))
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

/// The schema as an instruction, for a model without a schema mode.
pub(crate) fn instruction(schema: &Value) -> String {
    format!(
        "Reply with one JSON object and nothing else: no code fence, no words before or after it. It must fit this \
         JSON schema:\n{schema}"
    )
}

#[cfg(test)]
mod tests {
    use polylogue_core::reply::{Field, Shape};

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
        assert_eq!(strict(&envelope()), expected);
        // Models write the properties in the order of the schema: the message must come first.
        let text = strict(&envelope()).to_string();
        assert!(text.find("\"message\"").unwrap() < text.find("\"handoff\"").unwrap());
        assert!(text.find("\"handoff\"").unwrap() < text.find("\"final\"").unwrap());
    }

    #[test]
    fn plain_leaves_the_optional_out_of_what_is_required() {
        let schema = plain(&envelope());
        assert_eq!(schema["required"], json!(["message"]));
        assert_eq!(schema["properties"]["handoff"]["required"], json!(["to", "task"]));
        assert!(!schema.to_string().contains("Length"));
    }
}
