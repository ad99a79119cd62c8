//! A server that fails as servers do, from a seed, and keeps the books: what it billed and how it failed.
//!
//! It speaks the vendors' protocols over plain sockets, because an HTTP framework does not hang up in the middle of a
//! sentence. It reports usage where the vendors do and nowhere else: what it wrote is billed, also when it hangs up or
//! stalls before it has told.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use polylogue_core::ledger::Usage;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The ways to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultKind {
    LimitedWithDate,
    Limited,
    Internal,
    Overloaded,
    /// Takes the request and closes the connection. The input is billed.
    HangUp,
    /// Writes half of the answer and closes the connection.
    HalfWritten,
    /// Writes half of the answer and falls silent.
    Stalls,
}

use FaultKind::{HalfWritten, HangUp, Internal, Limited, LimitedWithDate, Overloaded, Stalls};

/// What happens to the requests of a storm: six of ten fail. A stall takes long, so there are few.
pub(crate) const STORM: [Option<FaultKind>; 40] = {
    let mut fates = [None; 40];
    let kinds = [LimitedWithDate, Limited, Internal, Overloaded, HangUp, HalfWritten];
    let mut at = 0;
    while at < 24 {
        fates[at] = Some(if at == 23 { Stalls } else { kinds[at % 6] });
        at += 1;
    }
    fates
};

/// Nothing takes long: every kind but stalls.
pub(crate) const QUICK: [Option<FaultKind>; 10] = [
    Some(LimitedWithDate),
    Some(Limited),
    Some(Internal),
    Some(Overloaded),
    Some(HangUp),
    Some(HalfWritten),
    None,
    None,
    None,
    None,
];

/// What the server did so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    pub(crate) requests: u64,
    pub(crate) answered: u64,
    pub(crate) failed: BTreeMap<FaultKind, u64>,
    /// Everything that was billed, by what the test calls the request.
    pub(crate) bills: BTreeMap<String, Usage>,
}

impl Books {
    pub(crate) fn billed(&self) -> Usage {
        let mut sum = Usage::default();
        self.bills.values().for_each(|bill| sum += *bill);
        sum
    }
}

pub(crate) struct FaultServer {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

/// What a request is answered with when nothing goes wrong, and what it is called in the books.
type Replies = dyn Fn(&str, &Value) -> (String, String) + Send + Sync;

struct State {
    chance: Mutex<fastrand::Rng>,
    fates: &'static [Option<FaultKind>],
    books: Mutex<Books>,
    reply: Box<Replies>,
}

impl FaultServer {
    /// `reply` is given the path and the body of a request.
    pub(crate) async fn start(
        seed: u64,
        fates: &'static [Option<FaultKind>],
        reply: impl Fn(&str, &Value) -> (String, String) + Send + Sync + 'static,
    ) -> FaultServer {
        let state = Arc::new(State {
            chance: Mutex::new(fastrand::Rng::with_seed(seed)),
            fates,
            books: Mutex::default(),
            reply: Box::new(reply),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let state = shared.clone();
                tokio::spawn(async move { state.serve(socket).await });
            }
        });
        FaultServer { address, state }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn books(&self) -> Books {
        self.state.books.lock().unwrap().clone()
    }
}

impl State {
    async fn serve(&self, mut socket: TcpStream) -> Option<()> {
        let (path, body) = read_request(&mut socket).await?;
        let fate = self.fates[self.chance.lock().unwrap().usize(..self.fates.len())];
        let (text, name) = (self.reply)(&path, &body);
        let half: String = text.chars().take(text.chars().count() / 2).collect();
        let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": kind}}).to_string();
        let json = "application/json";
        let (billed, response) = match fate {
            Some(LimitedWithDate) => (None, head(429, json, &["retry-after-ms: 1"]) + &error("rate_limit_error")),
            Some(Limited) => (None, head(429, json, &[]) + &error("rate_limit_error")),
            Some(Internal) => (None, head(500, json, &[]) + &error("api_error")),
            Some(Overloaded) => (None, head(529, json, &[]) + &error("overloaded_error")),
            Some(HangUp) => (Some(usage(&body, "")), String::new()),
            Some(HalfWritten | Stalls) | None => {
                let said = if fate.is_none() { &text } else { &half };
                let usage = usage(&body, said);
                let (kind, events) = written(&path, &body, said, usage, fate.is_none());
                (Some(usage), head(200, kind, &[]) + &chunked(&events, fate.is_none()))
            }
        };
        {
            let mut books = self.books.lock().unwrap();
            books.requests += 1;
            match fate {
                Some(kind) => *books.failed.entry(kind).or_default() += 1,
                None => books.answered += 1,
            }
            *books.bills.entry(name).or_default() += billed.unwrap_or_default();
        }
        socket.write_all(response.as_bytes()).await.ok()?;
        if fate == Some(Stalls) {
            // Until the client goes away.
            while socket.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
        }
        socket.shutdown().await.ok()
    }
}

/// What a vendor counts: the words that were sent, the schema, and the words that were written; four bytes a token.
fn usage(body: &Value, said: &str) -> Usage {
    let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
    Usage { input: tokens(bytes_sent(body)), output: tokens(said.len()), ..Usage::default() }
}

fn bytes_sent(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_sent).sum(),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| match key.as_str() {
                "model" | "role" | "type" | "prompt_cache_key" | "stop" | "reasoning_effort" => 0,
                "schema" | "responseJsonSchema" => value.to_string().len(),
                "format" if value.get("properties").is_some() => value.to_string().len(),
                _ => bytes_sent(value),
            };
            fields.iter().map(field).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// An answer in the form of the vendor whose path it is.
fn written(path: &str, body: &Value, said: &str, usage: Usage, is_whole: bool) -> (&'static str, Vec<String>) {
    let events = "text/event-stream";
    match path {
        _ if path.ends_with("/messages") => (events, messages(said, usage, is_whole)),
        _ if path.contains("streamgeneratecontent") => (events, contents(said, usage, is_whole)),
        _ if path.ends_with("/api/chat") => ("application/x-ndjson", lines(said, usage, is_whole)),
        _ => (events, completions(body, said, usage, is_whole)),
    }
}

/// In two pieces.
fn pieces(said: &str) -> [&str; 2] {
    let middle = (said.len() / 2..).find(|at| said.is_char_boundary(*at)).unwrap();
    said.split_at(middle).into()
}

/// OpenAI: the usage comes in a chunk of its own after the last, and only to who asks for it.
fn completions(body: &Value, said: &str, usage: Usage, is_whole: bool) -> Vec<String> {
    let delta = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}], "usage": null});
    let mut events = pieces(said).map(delta).to_vec();
    if is_whole {
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": null}));
        if body["stream_options"]["include_usage"] == true {
            let counts = json!({"prompt_tokens": usage.input, "completion_tokens": usage.output});
            events.push(json!({"choices": [], "usage": counts}));
        }
    }
    let mut events: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    if is_whole {
        events.push("data: [DONE]\n\n".to_owned());
    }
    events
}

/// Anthropic: the input at the start, the output at the end.
fn messages(said: &str, usage: Usage, is_whole: bool) -> Vec<String> {
    let start = json!({"input_tokens": usage.input, "output_tokens": 1});
    let delta =
        |text| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let mut events = vec![json!({"type": "message_start", "message": {"usage": start}})];
    events.extend(pieces(said).map(delta));
    if is_whole {
        let counts = json!({"output_tokens": usage.output});
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counts}));
        events.push(json!({"type": "message_stop"}));
    }
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// Gemini: every chunk has the usage so far.
fn contents(said: &str, usage: Usage, is_whole: bool) -> Vec<String> {
    let mut written = 0;
    let chunk = |text: &str| {
        written += text.len();
        let counts = json!({"promptTokenCount": usage.input, "candidatesTokenCount": written.div_ceil(4)});
        json!({"candidates": [{"content": {"parts": [{"text": text}]}}], "usageMetadata": counts})
    };
    let mut events = pieces(said).map(chunk).to_vec();
    if is_whole {
        events[1]["candidates"][0]["finishReason"] = "STOP".into();
    }
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Ollama: only the last line has it.
fn lines(said: &str, usage: Usage, is_whole: bool) -> Vec<String> {
    let line = |text: &str| json!({"message": {"role": "assistant", "content": text}, "done": false});
    let mut lines = pieces(said).map(line).to_vec();
    if is_whole {
        lines.push(json!({
            "message": {"role": "assistant", "content": ""},
            "done": true,
            "done_reason": "stop",
            "prompt_eval_count": usage.input,
            "eval_count": usage.output,
        }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn head(status: u16, kind: &str, more: &[&str]) -> String {
    let framing = if status == 200 { "transfer-encoding: chunked" } else { "x-framing: until the end" };
    let more: String = more.iter().map(|line| format!("{line}\r\n")).collect();
    format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n{framing}\r\n{more}\r\n")
}

/// Chunks with their end, or without it: then the client knows that it was cut off.
fn chunked(events: &[String], is_whole: bool) -> String {
    let chunks: String = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len())).collect();
    chunks + if is_whole { "0\r\n\r\n" } else { "" }
}

async fn read_request(socket: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let length = socket.read(&mut piece).await.ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse().ok()?;
        if body.len() >= length {
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            return Some((path, serde_json::from_str(body).unwrap_or(Value::Null)));
        }
    }
}
