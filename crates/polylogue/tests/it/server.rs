//! `polylogue serve` as a real process, and a small client of it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

use serde_json::Value;

use crate::folder::Folder;

pub(crate) struct Server {
    child: Child,
    at: SocketAddr,
    log: Option<JoinHandle<Vec<String>>>,
}

/// The address that a server says, which is not all that it says.
fn where_it_listens(mut lines: impl Iterator<Item = String>) -> SocketAddr {
    let address = |line: String| {
        let (_, rest) = line.split_once("listens on http://")?;
        rest.split(' ').next()?.parse().ok()
    };
    lines.find_map(address).expect("it listens")
}

impl Server {
    /// Starts one in the folder, on a port that is free, and waits until it listens.
    pub(crate) fn start(folder: &Folder, args: &[&str]) -> Server {
        let mut command = folder.command(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let at = where_it_listens(&mut lines);
        // Whoever writes to a pipe that nobody reads stands still.
        let log = Some(thread::spawn(move || lines.collect()));
        Server { child, at, log }
    }

    /// One whose standard error is closed as soon as it has said where it listens.
    pub(crate) fn start_unread(folder: &Folder) -> Server {
        let mut command = folder.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let at = where_it_listens(lines);
        Server { child, at, log: None }
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn terminate(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// `kill -9`; what it had logged by then.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }

    fn open(&self, method: &str, path: &str, more: &str, body: &str) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(self.at).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{more}", self.at);
        write!(socket, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        BufReader::new(socket)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        read(self.open("POST", path, "content-type: application/json\r\n", &body.to_string()))
    }

    /// The whole answer, as it is sent.
    pub(crate) fn text_of_post(&self, path: &str, body: &Value) -> String {
        let mut answer = String::new();
        let more = "content-type: application/json\r\n";
        self.open("POST", path, more, &body.to_string()).read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks and does not wait for the answer.
    pub(crate) fn begin(&self, path: &str, key: &str, body: &Value) -> impl Sized + use<> {
        let more = format!("content-type: application/json\r\nidempotency-key: {key}\r\n");
        self.open("POST", path, &more, &body.to_string())
    }

    /// The status and the answer to words that have a key.
    pub(crate) fn post_with(&self, path: &str, key: &str, body: &Value) -> (u16, Value) {
        let more = format!("content-type: application/json\r\nidempotency-key: {key}\r\n");
        read(self.open("POST", path, &more, &body.to_string()))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = read(self.open("GET", path, "", ""));
        assert_eq!(status, 200, "{body}");
        body
    }

    pub(crate) fn text(&self, path: &str) -> String {
        let mut answer = String::new();
        self.open("GET", path, "", "").read_to_string(&mut answer).unwrap();
        answer
    }

    /// The head of an answer, and the bytes that follow it.
    pub(crate) fn bytes(&self, method: &str, path: &str, more: &str) -> (String, Vec<u8>) {
        let mut answer = Vec::new();
        self.open(method, path, more, "").read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let body = answer.split_off(end + 4);
        (String::from_utf8(answer).unwrap().to_lowercase(), body)
    }

    /// Says something in a room that is taken.
    pub(crate) fn say(&self, room: &str, body: &Value) -> Value {
        let (status, answer) = self.post(&format!("/v1/rooms/{room}/messages"), body);
        assert_eq!(status, 202, "{answer}");
        answer
    }

    /// The records of a session, to its last.
    pub(crate) fn watch(&self, session: &str) -> Listener {
        Listener { lines: self.open("GET", &format!("/v1/sessions/{session}/events"), "", ""), id: 0 }
    }

    /// The events of a room after this one.
    pub(crate) fn listen(&self, room: &str, after: u64) -> Listener {
        let header = format!("last-event-id: {after}\r\n");
        Listener { lines: self.open("GET", &format!("/v1/rooms/{room}/events"), &header, ""), id: after }
    }
}

/// The status of an answer, and its body.
fn read(mut socket: BufReader<TcpStream>) -> (u16, Value) {
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is dead already unless the test is over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Listener {
    lines: BufReader<TcpStream>,
    id: u64,
}

impl Listener {
    /// The next event; `None` when the server is gone.
    pub(crate) fn next(&mut self) -> Option<(u64, Value)> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(id) = line.strip_prefix("id: ") {
                self.id = id.trim().parse().unwrap();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((self.id, serde_json::from_str(data).unwrap()));
            }
        }
    }

    pub(crate) fn take(&mut self, events: usize) -> Vec<(u64, Value)> {
        (0..events).map(|_| self.next().expect("a room does not end")).collect()
    }

    /// The events of a session up to its end, as the router tells it; those of others in between are left out.
    pub(crate) fn session(&mut self, session: &Value) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let (_, event) = self.next().expect("a room does not end");
            if event["session_id"] != *session {
                continue;
            }
            let text = event["text"].as_str().unwrap();
            let is_end = event["sender"] == "router"
                && (text.starts_with("Collaboration ended") || text.starts_with("Collaboration canceled"));
            events.push(event);
            if is_end {
                return events;
            }
        }
    }
}
