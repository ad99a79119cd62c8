//! Anthropic's messages.
//!
//! The facts are those of the vendor's Python client 2.8 and of API version 2026-10-21: there is no
//! `temperature`, a structured reply is `output_config.format`, newer models think unless told how little
//! (`output_config.effort`), and a stop sequence must not be blank. Input that was cached or written to the
//! cache is counted apart from `input_tokens`.

use polylogue_core::{
    ask::{Request, Role},
    ledger::Usage,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, End},
    connector::{Count, Dialect, Outgoing, Reader, Reported, Unreadable, tokens},
    frames::Framing,
    params::{Names, Param, Params},
    schema::{self, Lengths},
};

/// The version of the API that the requests below are written for.
pub(crate) const VERSION: &str = "2026-10-21";

#[derive(Debug)]
pub(crate) struct Anthropic;

impl Dialect for Anthropic {
    fn refused(&self, model: &str) -> Params {
        // Removed from the API with the version above, for every model.
        let mut refused = Params::of(&[Param::Temperature]);
        if !has_schema_mode(model) {
            refused = refused.with(Param::Schema);
        }
        if !has_effort(model) {
            refused = refused.with(Param::Effort);
        }
        refused
    }

    fn names(&self) -> Names {
        &[
            ("stop_sequences", &[Param::Stop]),
            ("output_config.effort", &[Param::Effort]),
            ("effort", &[Param::Effort]),
            ("output_config.format", &[Param::Schema]),
            ("output format", &[Param::Schema]),
            ("structured output", &[Param::Schema]),
            ("structured outputs", &[Param::Schema]),
            ("output_config", &[Param::Effort, Param::Schema]),
            ("cache_control", &[Param::CacheControl]),
            // What a proxy makes of it, when the server behind it knows only texts and no schemas.
            ("content", &[Param::CacheControl]),
            ("response_format", &[Param::Schema]),
            ("reasoning_effort", &[Param::Effort]),
            ("stream", &[Param::Stream]),
        ]
    }

    fn outgoing(&self, request: &Request, without: Params) -> Outgoing {
        let takes = |param: Param| !without.has(param);
        let mut system = request.system.trim().to_owned();
        let mut output = Map::new();
        if takes(Param::Effort) {
            // A turn of a conversation is short and waited for; thinking counts against the output limit.
            output.insert("effort".to_owned(), json!("low"));
        }
        if let Some(shape) = &request.shape {
            if takes(Param::Schema) {
                let format = json!({"type": "json_schema", "schema": schema::plain(&shape.schema(), Lengths::Told)});
                output.insert("format".to_owned(), format);
            } else {
                system = format!("{system}\n\n{}", schema::instruction(&shape.schema())).trim().to_owned();
            }
        }
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(request.model.model));
        body.insert("max_tokens".to_owned(), json!(request.max_output_tokens()));
        if !system.is_empty() {
            let system = if takes(Param::CacheControl) { json!([block(&system, true)]) } else { json!(system) };
            body.insert("system".to_owned(), system);
        }
        body.insert("messages".to_owned(), messages(request, takes(Param::CacheControl)));
        let stops: Vec<&String> = request.sampling.stop.iter().filter(|stop| !stop.trim().is_empty()).collect();
        if takes(Param::Stop) && !stops.is_empty() {
            body.insert("stop_sequences".to_owned(), json!(stops));
        }
        if !output.is_empty() {
            body.insert("output_config".to_owned(), Value::Object(output));
        }
        if takes(Param::Stream) {
            body.insert("stream".to_owned(), json!(true));
        }
        Outgoing { path: "/v1/messages".to_owned(), body: Value::Object(body), framing: Framing::Events }
    }

    fn reader(&self, _: Framing) -> Box<dyn Reader> {
        Box::new(Events::default())
    }
}

/// The thread and what is said now, as blocks where the cache needs them and as plain texts elsewhere. The end of the thread is marked for the cache: next time everything up to
/// there is read from it, and only what was added is new.
fn messages(request: &Request, caches: bool) -> Value {
    let said = request.thread.messages().iter().filter(|message| !message.text.trim().is_empty());
    let mut messages: Vec<(Role, &str)> = said.map(|message| (message.role, &*message.text)).collect();
    let last_of_thread = messages.len().checked_sub(1);
    messages.push((Role::User, &request.prompt));
    let wire = messages.into_iter().enumerate().map(|(at, (role, text))| {
        let role = match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let content = if caches { json!([block(text, Some(at) == last_of_thread)]) } else { json!(text) };
        json!({"role": role, "content": content})
    });
    wire.collect()
}

fn block(text: &str, is_marked: bool) -> Value {
    if is_marked {
        json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
    } else {
        json!({"type": "text", "text": text})
    }
}

/// The models from before structured output. What is not known is tried: a refusal is learned from.
pub(crate) fn has_schema_mode(model: &str) -> bool {
    const WITHOUT: [&str; 9] = [
        "claude-1",
        "claude-2",
        "claude-instant",
        "claude-3",
        "claude-opus-4-0",
        "claude-opus-4-2",
        "claude-sonnet-4-0",
        "claude-sonnet-4-2",
        "claude-4-",
    ];
    !WITHOUT.iter().any(|without| model.starts_with(without))
}

fn has_effort(model: &str) -> bool {
    const WITHOUT: [&str; 3] = ["claude-haiku-4", "claude-sonnet-4-5", "claude-opus-4-1"];
    has_schema_mode(model) && !WITHOUT.iter().any(|without| model.starts_with(without))
}

/// An event of a stream, or a whole message.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockDelta {
        delta: BlockDelta,
    },
    MessageDelta {
        delta: Stopped,
        #[serde(default)]
        usage: Reported<WireUsage>,
    },
    /// A whole message, from a server that does not stream.
    Message {
        content: Vec<Block>,
        #[serde(default)]
        usage: Reported<WireUsage>,
        #[serde(flatten)]
        stopped: Stopped,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default)]
    usage: Reported<WireUsage>,
}

#[derive(Deserialize)]
struct BlockDelta {
    /// Only text has it: thinking and signatures are something else.
    text: Option<String>,
    thinking: Option<String>,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Stopped {
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

#[derive(Deserialize)]
struct StopDetails {
    category: Option<String>,
    explanation: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub(crate) struct WireUsage {
    input_tokens: Option<Count>,
    cache_creation_input_tokens: Option<Count>,
    cache_read_input_tokens: Option<Count>,
    output_tokens: Option<Count>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<Count>,
}

impl WireUsage {
    /// Later counts replace earlier ones; what a later event does not say stands.
    fn updated(self, later: WireUsage) -> WireUsage {
        WireUsage {
            input_tokens: later.input_tokens.or(self.input_tokens),
            cache_creation_input_tokens: later.cache_creation_input_tokens.or(self.cache_creation_input_tokens),
            cache_read_input_tokens: later.cache_read_input_tokens.or(self.cache_read_input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            output_tokens_details: later.output_tokens_details.or(self.output_tokens_details),
        }
    }
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Usage {
        let cached = tokens(wire.cache_read_input_tokens);
        let cache_written = tokens(wire.cache_creation_input_tokens);
        Usage {
            input: tokens(wire.input_tokens) + cached + cache_written,
            output: tokens(wire.output_tokens),
            cached,
            cache_written,
            reasoning: tokens(wire.output_tokens_details.and_then(|details| details.thinking_tokens)),
            estimated: false,
        }
    }
}

#[derive(Default)]
struct Events {
    usage: WireUsage,
}

impl Events {
    fn count(&mut self, usage: Reported<WireUsage>, answer: &mut Answer<'_>) {
        answer.reported(match usage {
            Reported::Counts(later) => {
                self.usage = self.usage.updated(later);
                Reported::Counts(self.usage)
            }
            other => other,
        });
    }
}

impl Reader for Events {
    fn read(&mut self, document: Value, answer: &mut Answer<'_>) -> Result<(), Unreadable> {
        if document["type"] == "error" || document.get("type").is_none() && document.get("error").is_some() {
            return Err(Unreadable::Error(document));
        }
        match serde_json::from_value(document)? {
            Event::MessageStart { message } => self.count(message.usage, answer),
            Event::ContentBlockDelta { delta } => {
                answer.thought(delta.thinking.as_deref().unwrap_or_default());
                answer.text(delta.text.as_deref().unwrap_or_default());
            }
            Event::MessageDelta { delta, usage } => {
                stop(delta, answer);
                self.count(usage, answer);
            }
            Event::Message { content, usage, stopped } => {
                for block in content {
                    answer.text(block.text.as_deref().unwrap_or_default());
                }
                stop(stopped, answer);
                self.count(usage, answer);
            }
            Event::Other => {}
        }
        Ok(())
    }
}

fn stop(stopped: Stopped, answer: &mut Answer<'_>) {
    match stopped.stop_reason.as_deref() {
        None => {}
        Some("refusal") => {
            let details = stopped.stop_details;
            let why = details.and_then(|details| details.explanation.or(details.category));
            answer.end(End::Refused(why.unwrap_or_else(|| "it gave no reason".to_owned())));
        }
        Some("max_tokens") => answer.end(End::OutputFull),
        Some("model_context_window_exceeded") => answer.end(End::ContextFull),
        Some(_) => answer.end(End::Complete),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_model_takes() {
        for (model, schema, effort) in [
            ("claude-sonnet-5-5", true, true),
            ("claude-fable-5-2", true, true),
            ("claude-opus-4-8", true, true),
            ("claude-opus-4-5", true, true),
            ("claude-sonnet-4-6", true, true),
            ("claude-sonnet-4-5-20250929", true, false),
            ("claude-haiku-4-5", true, false),
            ("claude-opus-4-1", true, false),
            ("claude-opus-4-20250514", false, false),
            ("claude-3-5-haiku-latest", false, false),
            ("smollm2", true, true),
        ] {
            assert_eq!((has_schema_mode(model), has_effort(model)), (schema, effort), "{model}");
        }
    }
}
