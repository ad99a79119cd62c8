//! Google's generateContent, streamed.
//!
//! The facts are those of the vendor's Python client 3.1: a structured reply is `responseMimeType` with
//! `responseJsonSchema`, the answer of a thinking model shares its limit with its thoughts, thoughts are
//! counted apart from the answer, and at most five stop sequences are taken.

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

/// Stop sequences that the API takes; the others are applied on our side.
const MAX_STOPS: usize = 5;

/// Tokens of thinking for a model that takes a budget: the least that every such model accepts.
const THINKING_BUDGET: u32 = 512;

#[derive(Debug)]
pub(crate) struct Gemini;

impl Dialect for Gemini {
    fn refused(&self, model: &str) -> Params {
        let mut refused = Params::default();
        if Thinking::of(model) == Thinking::None {
            refused = refused.with(Param::Effort);
        }
        if !has_schema_mode(model) {
            refused = refused.with(Param::Schema);
        }
        if model.starts_with("gemma-3") {
            refused = refused.with(Param::System);
        }
        refused
    }

    fn names(&self) -> Names {
        &[
            ("temperature", &[Param::Temperature]),
            ("stopSequences", &[Param::Stop]),
            ("stop_sequences", &[Param::Stop]),
            ("thinkingConfig", &[Param::Effort]),
            ("thinking_config", &[Param::Effort]),
            ("thinkingLevel", &[Param::Effort]),
            ("thinking level", &[Param::Effort]),
            ("thinking budget", &[Param::Effort]),
            ("thinking", &[Param::Effort]),
            ("responseJsonSchema", &[Param::Schema]),
            ("response_json_schema", &[Param::Schema]),
            ("responseMimeType", &[Param::Schema]),
            ("response_mime_type", &[Param::Schema]),
            ("json mode", &[Param::Schema]),
            ("developer instruction", &[Param::System]),
            ("system instruction", &[Param::System]),
            ("systemInstruction", &[Param::System]),
        ]
    }

    fn outgoing(&self, request: &Request, without: Params) -> Outgoing {
        let takes = |param: Param| !without.has(param);
        let model = &*request.model.model;
        let mut system = request.system.trim().to_owned();
        let mut config = Map::new();
        config.insert("maxOutputTokens".to_owned(), json!(request.max_output_tokens()));
        if let Some(temperature) = request.sampling.temperature.filter(|_| takes(Param::Temperature)) {
            config.insert("temperature".to_owned(), json!(temperature));
        }
        let stops: Vec<&String> =
            request.sampling.stop.iter().filter(|stop| !stop.is_empty()).take(MAX_STOPS).collect();
        if takes(Param::Stop) && !stops.is_empty() {
            config.insert("stopSequences".to_owned(), json!(stops));
        }
        if let Some(shape) = &request.shape {
            if takes(Param::Schema) {
                config.insert("responseMimeType".to_owned(), json!("application/json"));
                config.insert("responseJsonSchema".to_owned(), schema::plain(&shape.schema(), Lengths::Told));
            } else {
                system = format!("{system}\n\n{}", schema::instruction(&shape.schema())).trim().to_owned();
            }
        }
        if takes(Param::Effort) {
            // A turn of a conversation is short and waited for; thinking counts against the output limit.
            let thinking = match Thinking::of(model) {
                Thinking::Level => json!({"thinkingLevel": "LOW"}),
                Thinking::Budget | Thinking::None => json!({"thinkingBudget": THINKING_BUDGET}),
            };
            config.insert("thinkingConfig".to_owned(), thinking);
        }
        let mut body = Map::new();
        let mut contents: Vec<Value> = Vec::new();
        if takes(Param::System) && !system.is_empty() {
            body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": system}]}));
        } else if !system.is_empty() {
            contents.push(content("user", &system));
        }
        for message in request.thread.messages().iter().filter(|message| !message.text.is_empty()) {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "model",
            };
            contents.push(content(role, &message.text));
        }
        contents.push(content("user", &request.prompt));
        body.insert("contents".to_owned(), Value::Array(contents));
        body.insert("generationConfig".to_owned(), Value::Object(config));
        let path = format!("/v1beta/models/{}:streamGenerateContent?alt=sse", in_a_path(model));
        Outgoing { path, body: Value::Object(body), framing: Framing::Events }
    }

    fn reader(&self, _: Framing) -> Box<dyn Reader> {
        Box::new(Chunks)
    }
}

/// The name of a model as one segment of a path, whatever a configuration calls it.
fn in_a_path(model: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    model.bytes().map(encode).collect()
}

fn content(role: &str, text: &str) -> Value {
    json!({"role": role, "parts": [{"text": text}]})
}

/// How a family is told to think little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinking {
    Level,
    Budget,
    None,
}

impl Thinking {
    fn of(model: &str) -> Thinking {
        let Some(version) = model.strip_prefix("gemini-") else { return Thinking::None };
        let generation = version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        match generation.parse::<u32>() {
            Ok(3..) => Thinking::Level,
            Ok(2) if version.starts_with("2.5") => Thinking::Budget,
            Ok(_) | Err(_) => Thinking::None,
        }
    }
}

/// The open models have no schema mode behind this API.
pub(crate) fn has_schema_mode(model: &str) -> bool {
    !model.starts_with("gemma-") && !model.starts_with("gemini-1.0")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default)]
    usage_metadata: Reported<WireUsage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Option<Count>,
    cached_content_token_count: Option<Count>,
    candidates_token_count: Option<Count>,
    thoughts_token_count: Option<Count>,
    tool_use_prompt_token_count: Option<Count>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Usage {
        let reasoning = tokens(wire.thoughts_token_count);
        Usage {
            input: tokens(wire.prompt_token_count) + tokens(wire.tool_use_prompt_token_count),
            output: tokens(wire.candidates_token_count) + reasoning,
            cached: tokens(wire.cached_content_token_count),
            cache_written: 0,
            reasoning,
            estimated: false,
        }
    }
}

struct Chunks;

impl Reader for Chunks {
    fn read(&mut self, document: Value, answer: &mut Answer<'_>) -> Result<(), Unreadable> {
        // Without `alt=sse`, as some proxies forward it, the chunks come as one list.
        if let Value::Array(chunks) = document {
            return chunks.into_iter().try_for_each(|chunk| self.read(chunk, answer));
        }
        if document.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Unreadable::Error(document));
        }
        if ["candidates", "promptFeedback", "usageMetadata"].iter().all(|name| document.get(*name).is_none()) {
            return Err(Unreadable::Malformed("no candidates".to_owned()));
        }
        let chunk: Chunk = serde_json::from_value(document)?;
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            answer.end(End::Refused(format!("the prompt was blocked ({reason})")));
        }
        if let Some(candidate) = chunk.candidates.into_iter().next() {
            let parts = candidate.content.map(|content| content.parts).unwrap_or_default();
            for part in parts.iter().filter(|part| !part.thought) {
                answer.text(part.text.as_deref().unwrap_or_default());
            }
            if let Some(reason) = candidate.finish_reason {
                answer.end(end(&reason, candidate.finish_message));
            }
        }
        answer.reported(chunk.usage_metadata);
        Ok(())
    }
}

fn end(reason: &str, message: Option<String>) -> End {
    match reason {
        "MAX_TOKENS" | "CONTINUATION" => End::OutputFull,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            End::Refused(message.unwrap_or_else(|| format!("the answer was blocked ({reason})")))
        }
        _ => End::Complete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_how_a_model_thinks() {
        for (model, thinking) in [
            ("gemini-3.8-flash", Thinking::Level),
            ("gemini-4-argon", Thinking::Level),
            ("gemini-2.5-pro", Thinking::Budget),
            ("gemini-2.0-flash", Thinking::None),
            ("gemini-flash-latest", Thinking::None),
            ("gemma-3", Thinking::None),
        ] {
            assert_eq!(Thinking::of(model), thinking, "{model}");
        }
    }
}
