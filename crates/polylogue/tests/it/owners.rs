//! Several processes on one store: one of them runs a session, and the others know it.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    crash::calls,
    folder::{Folder, is_ask_of},
    server::Server,
};

/// Two who hand on to each other three times; the reply of `slow_turn` takes longer than any test.
fn folder(slow_turn: Option<u64>) -> Folder {
    let folder = Folder::new();
    prepare(&folder, slow_turn);
    folder
}

fn prepare(folder: &Folder, slow_turn: Option<u64>) {
    let model = "model = \"script/replies.yaml\"\n";
    folder.write("polylogue.toml", &format!("[agents.gpt]\n{model}[agents.claude]\n{model}"));
    let mut script = "log: calls.jsonl\nreplies:\n".to_owned();
    for turn in 1..=3 {
        let other = if turn % 2 == 1 { "claude" } else { "gpt" };
        let delay = if slow_turn == Some(turn) { "120s" } else { "0s" };
        script += &format!(
            "  - {{turn: {turn}, delay: {delay}, reply: {{message: More., handoff: {{to: {other}, task: Go on.}}}}}}\n"
        );
    }
    folder.write("replies.yaml", &script);
}

const COLLABORATE: [&str; 4] = ["collaborate", "Work it out.", "--max-rounds", "3"];

/// What the list of the command line, its `show`, and the two routes say of the only session.
fn statuses(folder: &Folder, server: Option<&Server>) -> Vec<Value> {
    let listed = folder.run(&["sessions", "list"]).lines.remove(0);
    let id = listed["sessionId"].as_str().unwrap().to_owned();
    let mut statuses = vec![listed["status"].clone()];
    statuses.push(folder.run(&["sessions", "show", &id]).lines[0]["status"].clone());
    if let Some(server) = server {
        statuses.push(server.get("/v1/sessions")["sessions"][0]["status"].clone());
        statuses.push(server.get(&format!("/v1/sessions/{id}"))["status"].clone());
    }
    statuses
}

#[test]
fn what_a_command_line_runs_is_its_own_until_it_is_gone() {
    let folder = folder(Some(2));
    let mut running = folder.start(&COLLABORATE);
    assert!(running.read_until(is_ask_of(2)));
    let session = running.session();
    let server = Server::start(&folder, &[]);
    assert_eq!(statuses(&folder, Some(&server)), ["running"; 4]);
    let (status, refused) = server.post(&format!("/v1/sessions/{session}/resume"), &json!({}));
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("CONFLICT")));
    let resumed = folder.run(&["sessions", "resume", &session]);
    assert_eq!((resumed.status, &resumed.lines[0]["error"]["code"]), (1, &json!("CONFLICT")));
    assert_eq!(calls(&folder).values().sum::<usize>(), 2, "nobody else has asked");

    // Who listens to it on the server hears it to its end, whoever runs it.
    let mut listener = server.watch(&session);
    prepare(&folder, None);
    running.kill();
    let mut last = Value::Null;
    while let Some((_, event)) = listener.next() {
        last = event;
    }
    assert_eq!((&last["type"], &last["reason"]), (&json!("ended"), &json!("cap_reached")));
    assert_eq!(statuses(&folder, Some(&server)), ["ended"; 4]);
    let mut asked: Vec<usize> = calls(&folder).into_values().collect();
    asked.sort_unstable();
    assert_eq!(asked.iter().sum::<usize>(), 4, "only the one that was in flight is asked again: {asked:?}");
}

#[test]
fn what_nobody_runs_is_told_as_left_everywhere() {
    let folder = folder(Some(2));
    let mut running = folder.start(&COLLABORATE);
    assert!(running.read_until(is_ask_of(2)));
    running.kill();
    assert_eq!(statuses(&folder, None), ["left"; 2]);
    for command in ["list", "show"] {
        let args: &[&str] = if command == "show" { &["sessions", "show", "last"] } else { &["sessions", "list"] };
        let printed = String::from_utf8(folder.output(args).stdout).unwrap();
        assert!(printed.contains("left"), "{printed}");
    }
    prepare(&folder, None);
    let resumed = folder.run(&["sessions", "resume", "last"]);
    assert_eq!((resumed.status, resumed.reason()), (0, "cap_reached"), "it can be resumed at once");
}

#[test]
fn a_session_of_another_process_can_be_stopped() {
    let folder = folder(Some(2));
    let mut running = folder.start(&COLLABORATE);
    assert!(running.read_until(is_ask_of(2)));
    let server = Server::start(&folder, &[]);
    let (status, stopped) = server.post(&format!("/v1/sessions/{}/stop", running.session()), &json!({}));
    assert_eq!((status, &stopped["reason"]), (200, &json!("cancelled")));
    assert!(running.read_until(|line| line["type"] == "result"), "its own process tells the end");
    assert_eq!(running.seen.last().unwrap()["reason"], "cancelled");
}

#[test]
fn a_server_that_ends_leaves_its_sessions_to_the_other() {
    let folder = folder(Some(2));
    let (first, second) = (Server::start(&folder, &[]), Server::start(&folder, &[]));
    let said = json!({"text": "@router collaborate gpt claude: Work it out.", "maxRounds": 3});
    let session = first.say("lounge", &said)["sessionId"].as_str().unwrap().to_owned();
    let mut listener = second.watch(&session);
    while !is_ask_of(2)(&listener.next().expect("it goes on").1) {}
    prepare(&folder, None);
    first.terminate();
    let mut last = Value::Null;
    while let Some((_, event)) = listener.next() {
        last = event;
    }
    assert_eq!(last["type"], "ended");
    assert_eq!(statuses(&folder, Some(&second)), ["ended"; 4]);
}

#[test]
fn a_command_line_whose_reader_leaves_stops_its_session() {
    let folder = folder(Some(3));
    let mut command = folder.command(&[&COLLABORATE[..], &["--json"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let listed = folder.run(&["sessions", "list"]).lines.remove(0);
    assert_eq!((&listed["status"], &listed["reason"]), (&json!("ended"), &json!("cancelled")));
}

#[test]
fn a_log_that_nobody_reads_takes_nothing_down() {
    let folder = folder(None);
    let server = Server::start_unread(&folder);
    for _ in 0..50 {
        assert_eq!(server.get("/healthz")["status"], "ok");
        assert_eq!(server.get("/readyz")["status"], "ready");
    }
    assert!(server.text("/metrics").lines().any(|line| {
        line.strip_prefix("polylogue_log_lines_dropped_total ").is_some_and(|count| count.parse::<f64>().unwrap() > 0.0)
    }));
}
