//! Ollama's own `/api/chat`: lines of JSON, and a schema in `format`.
//!
//! Not its OpenAI-compatible door: only here can the size of the context be set, and without it Ollama cuts a
//! longer conversation off at its head without a word. Where a server has no other door, that one is used:
//! `OLLAMA_HOST` may point to a proxy, or to another program that only speaks chat completions.

use polylogue_core::{ask::Request, ledger::Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, End},
    connector::{Count, Dialect, Outgoing, Reader, Reported, Unreadable, tokens},
    fault::{Fault, Lesson},
    frames::Framing,
    openai::{self, OpenAi},
    params::{Names, Param, Params},
    schema::{self, Lengths},
};

/// The other door.
const COMPATIBLE: OpenAi = OpenAi { is_vendor: false };

#[derive(Debug)]
pub(crate) struct Ollama;

impl Dialect for Ollama {
    fn refused(&self, _model: &str) -> Params {
        Params::default()
    }

    fn names(&self) -> Names {
        &[("format", &[Param::Schema]), ("system role", &[Param::System])]
    }

    fn refuses(&self, fault: &Fault, without: Params) -> Option<Lesson> {
        if fault.is_no_such_path() && !without.has(Param::OwnPath) {
            return Some(Lesson::of_the_model(Param::OwnPath));
        }
        fault.refuses(if without.has(Param::OwnPath) { COMPATIBLE.names() } else { self.names() }, without)
    }

    fn outgoing(&self, request: &Request, without: Params) -> Outgoing {
        if without.has(Param::OwnPath) {
            let without = without.and(COMPATIBLE.refused(&request.model.model));
            let outgoing = COMPATIBLE.outgoing(request, without);
            return Outgoing { path: format!("/v1{}", outgoing.path), ..outgoing };
        }
        let mut system = request.system.trim().to_owned();
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(request.model.model));
        body.insert("messages".to_owned(), Value::Null);
        if let Some(shape) = &request.shape {
            if without.has(Param::Schema) {
                system = format!("{system}\n\n{}", schema::instruction(&shape.schema())).trim().to_owned();
            } else {
                body.insert("format".to_owned(), schema::plain(&shape.schema(), Lengths::LeastKept));
            }
        }
        let mut options = Map::new();
        options.insert("num_predict".to_owned(), json!(request.max_output_tokens()));
        options.insert("num_ctx".to_owned(), json!(context(request)));
        if let Some(temperature) = request.sampling.temperature {
            options.insert("temperature".to_owned(), json!(temperature));
        }
        let stops: Vec<&String> = request.sampling.stop.iter().filter(|stop| !stop.is_empty()).collect();
        if !stops.is_empty() {
            options.insert("stop".to_owned(), json!(stops));
        }
        body.insert("options".to_owned(), Value::Object(options));
        body.insert("stream".to_owned(), json!(true));
        body.insert("messages".to_owned(), openai::messages(request, &system, !without.has(Param::System)));
        Outgoing { path: "/api/chat".to_owned(), body: Value::Object(body), framing: Framing::Lines }
    }

    fn reader(&self, framing: Framing) -> Box<dyn Reader> {
        match framing {
            Framing::Lines => Box::new(Lines),
            Framing::Events => COMPATIBLE.reader(framing),
        }
    }
}

/// The context that the request needs with room to spare, in steps that double: another size makes Ollama load
/// the model again, so it must not change with every turn.
fn context(request: &Request) -> u64 {
    const SMALLEST: u64 = 8_192;
    const LARGEST: u64 = 131_072;
    let needed = request.estimate().total() * 5 / 4;
    needed.next_power_of_two().clamp(SMALLEST, LARGEST)
}

#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_eval_count: Option<Count>,
    eval_count: Option<Count>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Usage {
        Usage { input: tokens(wire.prompt_eval_count), output: tokens(wire.eval_count), ..Usage::default() }
    }
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    thinking: Option<String>,
}

struct Lines;

impl Reader for Lines {
    fn read(&mut self, document: Value, answer: &mut Answer<'_>) -> Result<(), Unreadable> {
        if document.get("error").is_some() {
            return Err(Unreadable::Error(document));
        }
        if document.get("message").is_none() && document.get("done").is_none() {
            return Err(Unreadable::Malformed("no message".to_owned()));
        }
        // The counts are members of the line itself.
        let usage: Reported<WireUsage> = Reported::deserialize(&document)?;
        let line: Line = serde_json::from_value(document)?;
        if let Some(message) = line.message {
            answer.thought(message.thinking.as_deref().unwrap_or_default());
            answer.text(message.content.as_deref().unwrap_or_default());
        }
        if line.done {
            let is_full = line.done_reason.as_deref() == Some("length");
            answer.end(if is_full { End::OutputFull } else { End::Complete });
            answer.reported(usage);
        }
        Ok(())
    }
}
