//! A person's seat in a score: asked on the command line and over HTTP, killed while they are waited for, resumed.

use serde_json::{Value, json};

use super::folder;
use crate::{
    folder::{Folder, said},
    server::Server,
};

const ASKED: &str = "\
score: asked
about: A guest is asked two questions, and a clerk puts down what was said.
roles:
  clerk: { seats: 1, default: gpt }
  guest: { seats: 1, person: true }
phases:
  - repeat:
      at_most: 2
      phases:
        - ask:
            who: clerk
            prompt: Ask your question number {{ round }}.
        - tell:
            who: guest
  - note:
      who: clerk
      prompt: Put it down.
result:
  told: \"{{ tell | map(attribute='text') | first }}\"
";

const REPLIES: &str = r"  - {turn: 1, reply: Where were you?}
  - {turn: 3, contains: At sea, reply: And before?}
  - {turn: 5, contains: On land, reply: First the land and then the sea.}
";

const WORDS: [&str; 5] = [
    "clerk: Where were you?",
    "you: At sea.",
    "clerk: And before?",
    "you: On land.",
    "clerk: First the land and then the sea.",
];

fn house() -> Folder {
    folder(&["gpt"], REPLIES, &[("asked", ASKED)])
}

/// What was said, but for the message and what the session itself says.
fn words(result: &Value) -> Vec<String> {
    let is_word = |line: &&String| line.contains(" (message): ") || line.contains(" (user): ");
    let said = said(result);
    said.iter().filter(is_word).skip(1).map(|line| line.replace(" (message)", "").replace(" (user)", "")).collect()
}

#[test]
fn a_person_is_waited_for_on_the_command_line() {
    let folder = house();
    let play = folder.run(&["play", "asked", "The voyage."]);
    assert_eq!((play.status, play.result()["status"].as_str()), (0, Some("waiting")), "{}", play.stderr);
    assert_eq!(play.result()["awaits"], json!([{"who": "you"}]));
    let first = folder.run(&["scores", "say", "last", "At sea."]);
    assert_eq!((first.status, first.result()["status"].as_str()), (0, Some("waiting")), "{}", first.stderr);
    let last = folder.run(&["scores", "say", "last", "On land."]);
    assert_eq!((last.status, last.reason()), (0, "completed"), "{}", last.stderr);
    assert_eq!(words(last.result()), WORDS);
    assert_eq!(last.result()["results"], json!({"told": "On land."}));
    let late = folder.run(&["scores", "say", "last", "And then."]);
    assert_eq!(late.status, 2, "{:?}", late.lines);
}

#[test]
fn a_person_s_turn_outlives_every_kill() {
    let whole = house();
    let journal = whole.run(&["play", "asked", "The voyage."]).lines;
    for record in journal.iter().filter(|record| record["type"] != "result") {
        let folder = house();
        let mut running = folder.start(&["play", "asked", "The voyage."]);
        assert!(running.read_until(|seen| seen["seq"] == record["seq"]), "there is no record {}", record["seq"]);
        let session = running.session();
        running.kill();
        let shown = folder.run(&["sessions", "show", &session]);
        if shown.result()["status"] != "waiting" {
            let resumed = folder.run(&["sessions", "resume", &session]);
            assert_eq!(resumed.result()["status"], "waiting", "killed at {}: {}", record["seq"], resumed.stderr);
        }
        folder.run(&["scores", "say", &session, "At sea."]);
        let last = folder.run(&["scores", "say", &session, "On land."]);
        assert_eq!(words(last.result()), WORDS, "killed at {}", record["seq"]);
    }
}

#[test]
fn a_person_is_waited_for_over_http_and_by_the_next_server() {
    let folder = house();
    let server = Server::start(&folder, &[]);
    let (status, begun) = server.post("/v1/scores/asked", &json!({"message": "The voyage."}));
    assert_eq!(status, 202, "{begun}");
    let session = begun["sessionId"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{session}");
    let is_waited_for = |server: &Server| {
        let mut records = server.watch(&session);
        while let Some((_, record)) = records.next() {
            if record["decision"] == "awaited" && record["who"] == "you" {
                return true;
            }
        }
        false
    };
    assert!(is_waited_for(&server));
    server.kill();
    let server = Server::start(&folder, &[]);
    assert_eq!(server.get(&path)["awaits"], json!([{"who": "you"}]));
    let say = |server: &Server, text: &str| server.post(&format!("{path}/say"), &json!({"text": text}));
    let (status, answer) = say(&server, "At sea.");
    assert_eq!(status, 202, "{answer}");
    // The words are on disk once they are answered for: whatever is killed now, they are said once.
    server.kill();
    let server = Server::start(&folder, &[]);
    loop {
        let now = server.get(&path);
        if now["status"] == "waiting" {
            break;
        }
        assert!(["running", "left"].contains(&now["status"].as_str().unwrap()), "{now}");
    }
    assert_eq!(say(&server, "On land.").0, 202);
    let mut records = server.watch(&session);
    while records.next().is_some() {}
    let result = server.get(&path);
    assert_eq!((words(&result), &result["results"]), (WORDS.map(str::to_owned).to_vec(), &json!({"told": "On land."})));
}
