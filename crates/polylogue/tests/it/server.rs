//! `polylogue serve` as a real process, and a client that asks it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Child,
};

use serde_json::Value;

use crate::folder::Folder;

pub(crate) struct Server {
    child: Child,
    at: String,
}

impl Server {
    /// Returns when it listens.
    pub(crate) fn start(folder: &Folder) -> Server {
        let mut child = folder.spawn(&["serve", "--listen", "127.0.0.1:0"]);
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = log.find_map(|line| {
            let line = line.unwrap();
            line.split_once("listens on http://").map(|(_, rest)| rest.split(' ').next().unwrap().to_owned())
        });
        let at = said.expect("it says where it listens");
        // Whoever writes to a pipe that nobody reads stands still.
        std::thread::spawn(move || log.for_each(drop));
        Server { child, at }
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> std::io::Result<TcpStream> {
        let mut socket = TcpStream::connect(&self.at)?;
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.at);
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        socket.write_all(format!("{head}\r\n{body}").as_bytes())?;
        Ok(socket)
    }

    /// Asks and does not wait for the answer.
    pub(crate) fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        self.send(method, path, headers, body).expect("it listens")
    }

    /// The status and the body; `None` when the server is gone before it answers.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<(u16, Value)> {
        let mut answer = String::new();
        self.send(method, path, headers, body).ok()?.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).ok()?))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, &[], "").expect("it answers");
        assert_eq!(status, 200, "{body}");
        body
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, &[], &body.to_string()).expect("it answers")
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
