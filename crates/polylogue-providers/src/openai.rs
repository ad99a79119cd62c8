//! OpenAI's chat completions, and every server that speaks them.
//!
//! The facts are those of the vendor's Python client 3.49 (November 2026): reasoning models take
//! `max_completion_tokens` and `reasoning_effort` and refuse `temperature` and `stop`; at most four stop
//! sequences; strict schemas require every property. Other servers know the older names.

mod family;

use polylogue_core::{
    ask::{Request, Role},
    ledger::Usage,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use self::family::{Family, has_schema_mode};
use crate::{
    answer::{Answer, End},
    connector::{Count, Dialect, Outgoing, Reader, Reported, Unreadable, tokens},
    frames::Framing,
    params::{Names, Param, Params},
    schema::{self, Lengths},
};

/// Stop sequences that the API takes; the others are applied on our side.
const MAX_STOPS: usize = 4;

/// Chat completions, at OpenAI itself or elsewhere.
#[derive(Debug)]
pub(crate) struct OpenAi {
    /// Whether the server is the vendor's own, so that it knows what only the vendor has.
    pub(crate) is_vendor: bool,
}

impl Dialect for OpenAi {
    fn refused(&self, model: &str) -> Params {
        let mut refused = match Family::of(model) {
            Family::Reasoning => Params::of(&[Param::Temperature, Param::Stop]),
            Family::Chat => Params::of(&[Param::Effort]),
            Family::Unknown => Params::of(&[Param::Effort, Param::CacheKey]),
        };
        if !has_schema_mode(model) {
            refused = refused.and(Params::of(&[Param::Schema, Param::JsonMode]));
        }
        if family::only_thinks_hard(model) {
            refused = refused.with(Param::Effort);
        }
        if !self.is_vendor {
            refused = refused.with(Param::CacheKey);
        }
        refused
    }

    fn names(&self) -> Names {
        &[
            ("temperature", &[Param::Temperature]),
            ("stop", &[Param::Stop]),
            ("reasoning_effort", &[Param::Effort]),
            ("max_completion_tokens", &[Param::MaxCompletionTokens]),
            ("max_tokens", &[Param::MaxTokens]),
            ("response_format", &[Param::Schema, Param::JsonMode]),
            ("response format", &[Param::Schema, Param::JsonMode]),
            ("json_schema", &[Param::Schema, Param::JsonMode]),
            ("json_object", &[Param::Schema, Param::JsonMode]),
            ("stream_options", &[Param::StreamUsage]),
            ("stream", &[Param::Stream]),
            ("prompt_cache_key", &[Param::CacheKey]),
            ("system role", &[Param::System]),
            ("system messages", &[Param::System]),
            ("messages[0].role", &[Param::System]),
        ]
    }

    fn outgoing(&self, request: &Request, without: Params) -> Outgoing {
        let takes = |param: Param| !without.has(param);
        let mut system = request.system.trim().to_owned();
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(request.model.model));
        // Filled in last, but its place is here: what a cache looks at comes before what changes.
        body.insert("messages".to_owned(), Value::Null);
        if let Some(shape) = &request.shape {
            if takes(Param::Schema) {
                let schema = schema::strict(&shape.schema(), Lengths::Told);
                let format = json!({"name": "reply", "strict": true, "schema": schema});
                body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": format}));
            } else if takes(Param::JsonMode) {
                let schema = schema::strict(&shape.schema(), Lengths::LeastKept);
                body.insert("response_format".to_owned(), json!({"type": "json_object", "schema": schema}));
            } else {
                system = format!("{system}\n\n{}", schema::instruction(&shape.schema())).trim().to_owned();
            }
        }
        let (newer, older) = ((Param::MaxCompletionTokens, "max_completion_tokens"), (Param::MaxTokens, "max_tokens"));
        let limits = match Family::of(&request.model.model) {
            Family::Reasoning | Family::Chat => [newer, older],
            Family::Unknown => [older, newer],
        };
        if let Some((_, name)) = limits.into_iter().find(|(param, _)| takes(*param)) {
            body.insert(name.to_owned(), json!(request.max_output_tokens()));
        }
        if let Some(temperature) = request.sampling.temperature.filter(|_| takes(Param::Temperature)) {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        let stops: Vec<&String> =
            request.sampling.stop.iter().filter(|stop| !stop.is_empty()).take(MAX_STOPS).collect();
        if takes(Param::Stop) && !stops.is_empty() {
            body.insert("stop".to_owned(), json!(stops));
        }
        if takes(Param::Effort) {
            // A turn of a conversation is short and waited for; thinking counts against the output limit.
            body.insert("reasoning_effort".to_owned(), json!("low"));
        }
        if takes(Param::CacheKey) {
            body.insert("prompt_cache_key".to_owned(), json!(cache_key(&request.system)));
        }
        if takes(Param::Stream) {
            body.insert("stream".to_owned(), json!(true));
            if takes(Param::StreamUsage) {
                body.insert("stream_options".to_owned(), json!({"include_usage": true}));
            }
        }
        body.insert("messages".to_owned(), messages(request, &system, takes(Param::System)));
        Outgoing { path: "/chat/completions".to_owned(), body: Value::Object(body), framing: Framing::Events }
    }

    fn reader(&self, _: Framing) -> Box<dyn Reader> {
        Box::new(Chunks { refusal: String::new() })
    }
}

/// The messages, with neighbours of the same role joined: the chat templates of many local models insist that
/// the roles take turns. Joining only ever appends, so prefixes stay prefixes.
pub(crate) fn messages(request: &Request, system: &str, has_system_role: bool) -> Value {
    let mut turns: Vec<(&str, String)> = Vec::new();
    let mut add = |role: &'static str, text: &str| match turns.last_mut() {
        _ if text.is_empty() => {}
        Some((last, joined)) if *last == role => {
            joined.push_str("\n\n");
            joined.push_str(text);
        }
        _ => turns.push((role, text.to_owned())),
    };
    add(if has_system_role { "system" } else { "user" }, system);
    for message in request.thread.messages() {
        match message.role {
            Role::User => add("user", &message.text),
            Role::Assistant => add("assistant", &message.text),
        }
    }
    add("user", &request.prompt);
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// Keeps the requests of one agent on the machine that has its prefix: the same head, the same key.
fn cache_key(system: &str) -> String {
    let mut digest = polylogue_core::ask::Digest::default();
    digest.add(system);
    format!("polylogue-{}", String::from(digest))
}

/// A chunk of a stream, or a whole completion: they differ in `delta` and `message` only.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Reported<WireUsage>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "message")]
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    /// Thoughts, where a server shows them: some call them so, some the other way, some send both.
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<Count>,
    completion_tokens: Option<Count>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<Count>,
    cache_write_tokens: Option<Count>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<Count>,
}

/// `prompt_tokens` counts cached tokens too, and `completion_tokens` those of reasoning.
impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Usage {
        let prompt = wire.prompt_tokens_details;
        let completion = wire.completion_tokens_details;
        Usage {
            input: tokens(wire.prompt_tokens),
            output: tokens(wire.completion_tokens),
            cached: tokens(prompt.as_ref().and_then(|details| details.cached_tokens)),
            cache_written: tokens(prompt.and_then(|details| details.cache_write_tokens)),
            reasoning: tokens(completion.and_then(|details| details.reasoning_tokens)),
            estimated: false,
        }
    }
}

struct Chunks {
    /// A refusal comes in pieces, like a text.
    refusal: String,
}

impl Reader for Chunks {
    fn read(&mut self, document: Value, answer: &mut Answer<'_>) -> Result<(), Unreadable> {
        if document.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Unreadable::Error(document));
        }
        if document.get("choices").is_none() && document.get("usage").is_none() {
            return Err(Unreadable::Malformed("no choices".to_owned()));
        }
        let chunk: Chunk = serde_json::from_value(document)?;
        answer.reported(chunk.usage);
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(()) };
        if let Some(delta) = choice.delta {
            let thought = delta.reasoning_content.or(delta.reasoning);
            answer.thought(thought.as_ref().and_then(Value::as_str).unwrap_or_default());
            answer.text(delta.content.as_deref().unwrap_or_default());
            self.refusal.push_str(delta.refusal.as_deref().unwrap_or_default());
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some(_) if !self.refusal.is_empty() => answer.end(End::Refused(std::mem::take(&mut self.refusal))),
            Some("content_filter") => answer.end(End::Refused("the content filter took the answer away".to_owned())),
            Some("length") => answer.end(End::OutputFull),
            Some(_) => answer.end(End::Complete),
        }
        Ok(())
    }
}
