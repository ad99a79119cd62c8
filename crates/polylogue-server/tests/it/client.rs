//! A small HTTP client that can stop reading where a test wants it to. Whatever it gets is held to the description
//! of the API: an answer that is not described fails the test.

use std::{collections::BTreeMap, net::SocketAddr};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::described::{API, Expected};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The code of the error object that this is.
    pub(crate) fn code(&self) -> String {
        let value = self.json();
        assert_eq!(value["success"], false, "{value}");
        assert!(value["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{value}");
        assert!(value["error"]["context"].is_object(), "{value}");
        value["error"]["code"].as_str().expect("a code").to_owned()
    }
}

/// An event as it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// An answer of which only the head has been read.
pub(crate) struct Opened {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    reader: BufReader<TcpStream>,
    is_chunked: bool,
    arrived: String,
    /// What was asked, and what its answer must be by the description.
    asked: String,
    expected: Expected,
}

pub(crate) async fn open(at: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Opened {
    let mut socket = TcpStream::connect(at).await.expect("the server listens");
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        head += &format!("host: {at}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() {
        head += &format!("content-length: {}\r\n", body.len());
    }
    socket.write_all(format!("{head}\r\n{body}").as_bytes()).await.expect("it reads");
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    reader.read_line(&mut line).await.expect("it answers");
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).await.expect("it answers");
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let is_chunked = headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked");
    let asked = format!("{method} {path} {status}");
    let kind = headers.get("content-type").map_or("", String::as_str);
    let expected = API.expected(method, path, status, kind).unwrap_or_else(|problem| panic!("{problem}"));
    if (200..300).contains(&status) && !body.is_empty() {
        let body = serde_json::from_str(body).expect("what was accepted is JSON");
        API.check_request(method, path, &body).unwrap_or_else(|problem| panic!("the body of {asked}: {problem}"));
    }
    let expected = if method == "HEAD" { Expected::Other } else { expected };
    Opened { status, headers, reader, is_chunked, arrived: String::new(), asked, expected }
}

impl Opened {
    /// The next piece of the body; `None` at its end.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        if !self.is_chunked {
            let mut rest = Vec::new();
            self.reader.read_to_end(&mut rest).await.ok()?;
            return (!rest.is_empty()).then_some(rest);
        }
        let mut size = String::new();
        self.reader.read_line(&mut size).await.ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
        let mut piece = vec![0; size + 2];
        self.reader.read_exact(&mut piece).await.ok()?;
        piece.truncate(size);
        Some(piece)
    }

    /// The next event, past comments; `None` at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<Heard> {
        loop {
            while let Some(end) = self.arrived.find("\n\n") {
                let block: String = self.arrived.drain(..end + 2).collect();
                self.check(&block);
                if let Some(event) = heard(&block) {
                    return Some(event);
                }
            }
            let piece = self.piece().await?;
            self.arrived.push_str(std::str::from_utf8(&piece).expect("text"));
        }
    }

    /// Holds an event to the description, whether it has an id or not.
    fn check(&self, block: &str) {
        let Some((name, data)) = name_and_data(block) else { return };
        let Expected::Events(schema) = &self.expected else { panic!("{}: no events are described", self.asked) };
        let checked = API.check_event(schema, &name, &data);
        checked.unwrap_or_else(|problem| panic!("an event of {}: {problem}", self.asked));
    }

    pub(crate) async fn events(mut self) -> Vec<Heard> {
        assert_eq!(self.status, 200);
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }

    pub(crate) async fn whole(mut self) -> Answer {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await {
            body.extend(piece);
        }
        match &self.expected {
            Expected::Json(schema) => {
                let body = serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{}: {error}", self.asked));
                API.check(schema, &body).unwrap_or_else(|problem| panic!("{}: {problem}", self.asked));
            }
            Expected::Events(_) => {
                let text = String::from_utf8_lossy(&body);
                text.split_inclusive("\n\n").for_each(|block| self.check(block));
            }
            Expected::Other => {}
        }
        Answer { status: self.status, headers: self.headers, body }
    }
}

fn heard(block: &str) -> Option<Heard> {
    let (name, data) = name_and_data(block)?;
    Some(Heard { id: field(block, "id:")?.parse().ok()?, name, data })
}

fn name_and_data(block: &str) -> Option<(String, Value)> {
    let data = serde_json::from_str(field(block, "data:")?).expect("JSON");
    Some((field(block, "event:").unwrap_or_default().to_owned(), data))
}

fn field<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

pub(crate) async fn get(at: SocketAddr, path: &str) -> Answer {
    open(at, "GET", path, &[], "").await.whole().await
}

pub(crate) async fn post(at: SocketAddr, path: &str, body: &Value) -> Opened {
    open(at, "POST", path, &[("content-type", "application/json")], &body.to_string()).await
}
