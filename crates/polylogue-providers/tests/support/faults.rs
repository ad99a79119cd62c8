//! A server that fails as servers do, from a seed, and keeps the books: what it billed and how it failed.
//!
//! It speaks chat completions and messages over plain sockets, because an HTTP framework does not hang up in
//! the middle of a sentence. Every piece of an answer carries the usage so far, so also a half-written answer
//! has a bill that both sides know.

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

/// The ways to fail. Each happens to one request in ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultKind {
    LimitedWithDate,
    Limited,
    Internal,
    Overloaded,
    HangUp,
    HalfWritten,
}

const KINDS: [FaultKind; 6] = [
    FaultKind::LimitedWithDate,
    FaultKind::Limited,
    FaultKind::Internal,
    FaultKind::Overloaded,
    FaultKind::HangUp,
    FaultKind::HalfWritten,
];

/// What the server did so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    pub(crate) requests: u64,
    pub(crate) answered: u64,
    pub(crate) failed: BTreeMap<FaultKind, u64>,
    /// Everything that was billed, half-written answers included.
    pub(crate) billed: Usage,
}

pub(crate) struct FaultServer {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

struct State {
    chance: Mutex<fastrand::Rng>,
    books: Mutex<Books>,
    reply: Box<dyn Fn(&Value) -> String + Send + Sync>,
}

impl FaultServer {
    /// `reply` is what a request is answered with when nothing goes wrong.
    pub(crate) async fn start(seed: u64, reply: impl Fn(&Value) -> String + Send + Sync + 'static) -> FaultServer {
        let state = Arc::new(State {
            chance: Mutex::new(fastrand::Rng::with_seed(seed)),
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
        let fate = self.chance.lock().unwrap().usize(..10);
        let kind = KINDS.get(fate).copied();
        {
            let mut books = self.books.lock().unwrap();
            books.requests += 1;
            match kind {
                Some(kind) => *books.failed.entry(kind).or_default() += 1,
                None => books.answered += 1,
            }
        }
        let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": kind}}).to_string();
        let response = match kind {
            Some(FaultKind::LimitedWithDate) => {
                head(429, "application/json", &["retry-after-ms: 1"]) + &error("rate_limit_error")
            }
            Some(FaultKind::Limited) => head(429, "application/json", &[]) + &error("rate_limit_error"),
            Some(FaultKind::Internal) => head(500, "application/json", &[]) + &error("api_error"),
            Some(FaultKind::Overloaded) => head(529, "application/json", &[]) + &error("overloaded_error"),
            Some(FaultKind::HangUp) => return Some(()),
            Some(FaultKind::HalfWritten) | None => {
                let text = (self.reply)(&body);
                let half: String = text.chars().take(text.chars().count() / 2).collect();
                let said = if kind.is_none() { &text } else { &half };
                let usage = usage(&body, said);
                self.books.lock().unwrap().billed += usage;
                let events = if path.ends_with("/messages") { messages } else { completions };
                head(200, "text/event-stream", &[]) + &chunked(&events(said, usage, kind.is_none()), kind.is_none())
            }
        };
        socket.write_all(response.as_bytes()).await.ok()?;
        socket.shutdown().await.ok()
    }
}

/// As the connector counts it: four bytes a token.
fn usage(body: &Value, said: &str) -> Usage {
    let input = body.to_string().len().div_ceil(4) as u64;
    Usage { input, output: said.len().div_ceil(4) as u64, ..Usage::default() }
}

fn completions(said: &str, usage: Usage, is_whole: bool) -> Vec<String> {
    let counts = json!({"prompt_tokens": usage.input, "completion_tokens": usage.output});
    let mut events = vec![json!({"choices": [{"index": 0, "delta": {"content": said}}], "usage": counts})];
    if is_whole {
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": counts}));
    }
    let mut events: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    if is_whole {
        events.push("data: [DONE]\n\n".to_owned());
    }
    events
}

fn messages(said: &str, usage: Usage, is_whole: bool) -> Vec<String> {
    let start = json!({"input_tokens": usage.input, "output_tokens": 0});
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": start}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said}}),
    ];
    if is_whole {
        let counts = json!({"output_tokens": usage.output});
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counts}));
        events.push(json!({"type": "message_stop"}));
    }
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
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
