//! A server on this machine that stands in for OpenAI, Anthropic, Gemini, Ollama and ElevenLabs: it answers every
//! request in the vendor's own form, with whatever fits the form of reply that it was asked for.

use std::{
    net::SocketAddr,
    process::Command,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Body, extract::State, http::Uri, response::Response};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};

/// What every agent says here.
pub(crate) const WORDS: &str = "Well said.";

pub(crate) struct Vendors {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Serves for as long as it is there.
    _runtime: Runtime,
}

#[derive(Default)]
struct Shared {
    /// The models of Ollama, each with what it can do.
    models: Vec<(Value, Value)>,
    asked: Mutex<Vec<String>>,
    /// Requests that are turned away before one is answered.
    refusals: Mutex<usize>,
}

impl Vendors {
    /// With one model to talk to in Ollama.
    pub(crate) fn start() -> Vendors {
        Vendors::with_ollama(vec![talking("llama3.2:latest")])
    }

    /// With these models in Ollama, as `/api/tags` and `/api/show` tell of them.
    pub(crate) fn with_ollama(models: Vec<(Value, Value)>) -> Vendors {
        let runtime = Runtime::new().unwrap();
        let shared = Arc::new(Shared { models, ..Shared::default() });
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(shared.clone());
        runtime.spawn(async move { axum::serve(listener, router).await });
        Vendors { address, shared, _runtime: runtime }
    }

    /// The next requests to a model are turned away with a 429 that says when to come again.
    #[cfg(unix)]
    pub(crate) fn turn_away(&self, requests: usize) {
        *self.shared.refusals.lock().unwrap() = requests;
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where Ollama is, for a command.
    pub(crate) fn as_ollama(&self, mut command: Command) -> Command {
        command.env("OLLAMA_HOST", self.address.to_string());
        command
    }

    /// The paths that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }
}

/// A model of Ollama that one can talk to.
pub(crate) fn talking(name: &str) -> (Value, Value) {
    (json!({"name": name, "details": {"family": "llama"}}), json!({"capabilities": ["completion", "tools"]}))
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, body: String) -> Response {
    let (path, body) = (uri.path(), serde_json::from_str(&body).unwrap_or(Value::Null));
    shared.asked.lock().unwrap().push(path.to_owned());
    match path {
        "/api/tags" => {
            let models: Vec<&Value> = shared.models.iter().map(|(tag, _)| tag).collect();
            return whole(200, "application/json", json!({ "models": models }).to_string());
        }
        "/api/show" => {
            let known = shared.models.iter().find(|(tag, _)| tag["name"] == body["model"]);
            let (status, said) = known.map_or((404, Value::Null), |(_, shown)| (200, shown.clone()));
            return whole(status, "application/json", said.to_string());
        }
        _ => {}
    }
    let left = shared.refusals.lock().unwrap().checked_sub(1);
    if let Some(left) = left {
        *shared.refusals.lock().unwrap() = left;
        let error =
            json!({"error": {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}});
        let response = Response::builder().status(429).header("retry-after", "1");
        return response.header("content-type", "application/json").body(Body::from(error.to_string())).unwrap();
    }
    match path {
        _ if path.contains("/text-to-speech/") => whole(200, "audio/pcm", tone()),
        _ if path.ends_with("/api/chat") => whole(200, "application/x-ndjson", ollama(&body)),
        _ if path.ends_with("/chat/completions") => whole(200, "text/event-stream", openai(&body)),
        _ if path.ends_with("/messages") => whole(200, "text/event-stream", anthropic(&body)),
        _ if path.contains(":streamGenerateContent") => whole(200, "text/event-stream", gemini(&body)),
        _ => whole(404, "application/json", json!({"error": format!("nothing is at {path}")}).to_string()),
    }
}

fn whole(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    Response::builder().status(status).header("content-type", kind).body(body.into()).unwrap()
}

fn ollama(body: &Value) -> String {
    let line = |text: &str, more: Value| {
        let mut line = json!({"message": {"role": "assistant", "content": text}, "done": false});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let counts = json!({"done": true, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 20});
    line(&said(&body["format"], body), json!({})) + &line("", counts)
}

fn openai(body: &Value) -> String {
    let text = said(&body["response_format"]["json_schema"]["schema"], body);
    let chunk =
        |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}});
    let frames = [chunk(json!({"content": text}), Value::Null), chunk(json!({}), json!("stop")), usage];
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect::<String>() + "data: [DONE]\n\n"
}

fn anthropic(body: &Value) -> String {
    let text = said(&body["output_config"]["format"]["schema"], body);
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let frames = [
        json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ];
    let event = |frame: &Value| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap());
    frames.iter().map(event).collect()
}

fn gemini(body: &Value) -> String {
    let text = said(&body["generationConfig"]["responseJsonSchema"], body);
    let content = json!({"role": "model", "parts": [{"text": text}]});
    let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120});
    let frame = json!({"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage});
    format!("data: {frame}\n\n")
}

/// A reply of the form that is asked for. Characters of a scene are told theirs in words.
fn said(schema: &Value, body: &Value) -> String {
    match schema {
        Value::Object(_) => filled(schema).to_string(),
        _ if body.to_string().contains("[TO:") => format!("[TONE: calm] \"{WORDS}\""),
        _ => WORDS.to_owned(),
    }
}

/// A value that a schema allows: everything is true, the first choice is taken, nothing is listed.
fn filled(schema: &Value) -> Value {
    let first = |name: &str| schema[name].as_array().and_then(|values| values.first());
    if let Some(choice) = first("enum").or(schema.get("const")) {
        return choice.clone();
    }
    if let Some(one) = first("anyOf").or(first("oneOf")) {
        return filled(one);
    }
    match schema["type"].as_str().or(first("type").and_then(Value::as_str)) {
        Some("object") => {
            let members = schema["properties"].as_object().into_iter().flatten();
            members.map(|(name, member)| (name.clone(), filled(member))).collect::<serde_json::Map<_, _>>().into()
        }
        Some("array") => json!([]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => schema.get("maximum").cloned().unwrap_or(json!(1)),
        _ => json!(WORDS),
    }
}

/// A fifth of a second of sound, 16 bits at 24 kHz.
fn tone() -> Vec<u8> {
    let sample = |at: u32| if (at / 50).is_multiple_of(2) { 6000_i16 } else { -6000 };
    (0..4800).flat_map(|at| sample(at).to_le_bytes()).collect()
}
