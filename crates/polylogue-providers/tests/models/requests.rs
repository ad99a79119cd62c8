//! What is sent, whole: each vendor's body for the same ask, and the vendors' own rules for it.

use polylogue_core::{
    ask::{Request, Role},
    setup::Sampling,
};
use polylogue_providers::Limits;
use polylogue_runtime::port::Model;
use serde_json::{Value, json};

use crate::support::{
    ask::{KEY, call, models_at, request, shape, thread},
    server::{Answer, Seen, Server},
};

/// What a model is sent, seen from the other side.
async fn sent(request: Request) -> Seen {
    let server = Server::start(vec![Answer::json(500, &Value::Null)]).await;
    models_at(&server.base(), Limits::default()).answer(&call(request)).await.unwrap_err();
    server.only()
}

fn full(model: &str) -> Request {
    Request {
        shape: Some(shape()),
        sampling: Sampling {
            temperature: Some(0.7),
            max_output_tokens: Some(300),
            stop: vec!["\n\n".into(), "Bob:".into()],
            ..Sampling::default()
        },
        ..request(model)
    }
}

fn handoff(extra: &Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "to": {"type": "string", "enum": ["gpt", "claude"]},
            "task": {"type": "string", "description": "At most 500 characters."},
        },
        "required": ["to", "task"],
        "additionalProperties": false,
    });
    for (name, value) in extra.as_object().unwrap() {
        schema[name] = value.clone();
    }
    schema
}

fn strict() -> Value {
    json!({
        "type": "object",
        "properties": {
            "message": {"type": "string"},
            "handoff": {"anyOf": [handoff(&json!({})), {"type": "null"}]},
            "final": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
        "required": ["message", "handoff", "final"],
        "additionalProperties": false,
    })
}

fn plain() -> Value {
    json!({
        "type": "object",
        "properties": {"message": {"type": "string"}, "handoff": handoff(&json!({})), "final": {"type": "boolean"}},
        "required": ["message"],
        "additionalProperties": false,
    })
}

fn openai_messages() -> Value {
    json!([
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Good morning."},
        {"role": "assistant", "content": "Morning, Bob."},
        {"role": "user", "content": "What is a home?"},
    ])
}

#[tokio::test]
async fn openai_chat_models_get_everything() {
    let seen = sent(full("openai/gpt-4o")).await;
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
    let expected = json!({
        "model": "gpt-4o",
        "messages": openai_messages(),
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": strict()}},
        "max_completion_tokens": 300,
        "temperature": 0.7,
        "stop": ["\n\n", "Bob:"],
        "prompt_cache_key": seen.body["prompt_cache_key"],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(seen.body, expected);
    // Byte for byte where order matters: what a cache reads comes first, and the schema's properties in order.
    assert!(seen.text.starts_with(r#"{"model":"gpt-4o","messages":[{"role":"system","content":"You are Ada."},"#));
    assert!(seen.text.contains(r#""properties":{"message":{"type":"string"},"handoff":{"anyOf":[{"type":"object","#));
}

#[tokio::test]
async fn openai_reasoning_models_get_what_they_take() {
    let body = sent(full("openai/gpt-6.1-terra")).await.body;
    let expected = json!({
        "model": "gpt-6.1-terra",
        "messages": openai_messages(),
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": strict()}},
        "max_completion_tokens": 300,
        "reasoning_effort": "low",
        "prompt_cache_key": body["prompt_cache_key"],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn other_servers_get_the_older_names_and_models_without_a_schema_mode_instructions() {
    let body = sent(full("lab/qwen3-8b")).await.body;
    let expected = json!({
        "model": "qwen3-8b",
        "messages": openai_messages(),
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": strict()}},
        "max_tokens": 300,
        "temperature": 0.7,
        "stop": ["\n\n", "Bob:"],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(body, expected);

    for model in ["openai/gpt-3.5-turbo", "anthropic/claude-3-5-haiku-latest", "gemini/gemma-3-27b-it"] {
        let text = sent(full(model)).await.text;
        assert!(text.contains("It must fit this JSON schema"), "{model}: {text}");
        for mode in ["response_format", "output_config", "responseJsonSchema"] {
            assert!(!text.contains(mode), "{model}: {text}");
        }
    }
}

#[tokio::test]
async fn anthropic_marks_the_head_and_the_end_of_the_thread() {
    let seen = sent(full("anthropic/claude-sonnet-5-5")).await;
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.headers["x-api-key"], KEY);
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(seen.headers["anthropic-version"], "2026-10-21");
    let expected = json!({
        "model": "claude-sonnet-5-5",
        "max_tokens": 300,
        "system": [{"type": "text", "text": "You are Ada.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Good morning."}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Morning, Bob.", "cache_control": {"type": "ephemeral"}}
            ]},
            {"role": "user", "content": [{"type": "text", "text": "What is a home?"}]},
        ],
        // A blank stop sequence is not taken: it is applied on our side.
        "stop_sequences": ["Bob:"],
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": plain()}},
        "stream": true,
    });
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn gemini_gets_its_own_form() {
    let seen = sent(full("gemini/gemini-3.8-flash")).await;
    assert_eq!(seen.path, "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse");
    assert_eq!(seen.headers["x-goog-api-key"], KEY);
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "You are Ada."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Good morning."}]},
            {"role": "model", "parts": [{"text": "Morning, Bob."}]},
            {"role": "user", "parts": [{"text": "What is a home?"}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 300,
            "temperature": 0.7,
            "stopSequences": ["\n\n", "Bob:"],
            "responseMimeType": "application/json",
            "responseJsonSchema": plain(),
            "thinkingConfig": {"thinkingLevel": "LOW"},
        },
    });
    assert_eq!(seen.body, expected);
    let odd = sent(request("gemini/models/x?y")).await;
    assert_eq!(odd.path, "/v1beta/models/models%2Fx%3Fy:streamGenerateContent?alt=sse");
}

#[tokio::test]
async fn ollama_gets_the_schema_in_format_and_a_context_that_fits() {
    let seen = sent(full("ollama/llama3.2")).await;
    assert_eq!(seen.path, "/api/chat");
    // A grammar can hold to the least length.
    let mut schema = plain();
    for text in ["/properties/message", "/properties/handoff/properties/task"] {
        schema.pointer_mut(text).unwrap()["minLength"] = json!(1);
    }
    let expected = json!({
        "model": "llama3.2",
        "messages": openai_messages(),
        "format": schema,
        "options": {"num_predict": 300, "num_ctx": 8192, "temperature": 0.7, "stop": ["\n\n", "Bob:"]},
        "stream": true,
    });
    assert_eq!(seen.body, expected);
    let mut long = request("ollama/llama3.2");
    long.prompt = "word ".repeat(10_000).into();
    assert_eq!(sent(long).await.body["options"]["num_ctx"], 32_768);
}

/// The vendors' descriptions of their requests say yes to all that we send.
#[tokio::test]
async fn requests_are_valid_by_the_vendors_own_descriptions() {
    let bare = |model: &str| Request { system: "".into(), thread: thread(&[]), ..request(model) };
    let odd = |model: &str| {
        let mut odd = full(model);
        odd.thread =
            thread(&[(Role::User, "One."), (Role::User, "Two."), (Role::Assistant, ""), (Role::Assistant, "Three.")]);
        odd.sampling.stop = ["a", "b", "c", "d", "e", "", " "].map(str::to_owned).to_vec();
        odd
    };
    let cases: [(&str, &str, &[&str]); 2] = [
        (
            include_str!("schemas/openai.json"),
            "openai",
            &["gpt-6.1-terra", "gpt-4o", "o3", "gpt-5.2-chat-latest", "gpt-3.5-turbo", "gpt-5.2-pro", "my-own"],
        ),
        (
            include_str!("schemas/anthropic.json"),
            "anthropic",
            &["claude-sonnet-5-5", "claude-haiku-4-5", "claude-sonnet-4-5", "claude-3-5-haiku-latest"],
        ),
    ];
    for (schema, provider, models) in cases {
        let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        for model in models {
            let model = format!("{provider}/{model}");
            for request in [full(&model), request(&model), bare(&model), odd(&model)] {
                let body = sent(request).await.body;
                let problems: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
                assert!(problems.is_empty(), "{model}: {problems:?} in {body:#}");
                all_required(&body["response_format"]["json_schema"]["schema"]);
            }
        }
        let mut wrong = sent(full(&format!("{provider}/{}", models[0]))).await.body;
        wrong["temprature"] = json!(1);
        assert!(!validator.is_valid(&wrong), "the description is not so loose that it takes anything");
    }
}

/// Strict mode wants every property among the required, at every depth.
fn all_required(schema: &Value) {
    if let Some(properties) = schema["properties"].as_object() {
        let names: Vec<Value> = properties.keys().map(|name| json!(name)).collect();
        assert_eq!(schema["required"], Value::Array(names));
        properties.values().for_each(all_required);
    }
    schema["anyOf"].as_array().into_iter().flatten().for_each(all_required);
}
