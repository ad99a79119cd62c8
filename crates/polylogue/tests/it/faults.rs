//! What operators live through: a backup while the server runs and its restoring, a damaged store, an end under load.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::{folder::Folder, server::Server};

/// Two who hand on to each other; the replies of these sessions take so long.
fn prepare(folder: &Folder, delay: &str) {
    let model = "model = \"script/replies.yaml\"\n";
    folder.write("polylogue.toml", &format!("[agents.gpt]\n{model}[agents.claude]\n{model}"));
    let mut script = "replies:\n".to_owned();
    for turn in 1..=3 {
        let other = if turn % 2 == 1 { "claude" } else { "gpt" };
        let reply = format!("reply: {{message: Turn {turn}., handoff: {{to: {other}, task: Go on.}}}}");
        script += &format!("  - {{turn: {turn}, contains: Slowly, delay: {delay}, {reply}}}\n");
        script += &format!("  - {{turn: {turn}, {reply}}}\n");
    }
    folder.write("replies.yaml", &script);
}

fn begin(server: &Server, room: &str, goal: &str) -> String {
    let said = json!({"text": format!("@router collaborate gpt claude: {goal}"), "maxRounds": 3});
    server.say(room, &said)["sessionId"].as_str().unwrap().to_owned()
}

/// What was said by the agents of a session, once it has ended.
fn said(server: &Server, session: &str) -> Vec<String> {
    let mut listener = server.watch(session);
    let mut last = Value::Null;
    while let Some((_, event)) = listener.next() {
        last = event;
    }
    assert_eq!(last["type"], "ended", "{last}");
    let session = server.get(&format!("/v1/sessions/{session}"));
    let lines = session["lines"].as_array().unwrap().iter().filter(|line| line["kind"] == "message");
    lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

fn statuses(server: &Server) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let listed = server.get("/v1/sessions");
    let sessions = listed["sessions"].as_array().unwrap();
    sessions.iter().map(|session| (text(&session["sessionId"]), text(&session["status"]))).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => copy(&path, &to.join(entry.file_name())),
            path => drop(fs::copy(path, to.join(entry.file_name())).unwrap()),
        }
    }
}

#[test]
fn a_backup_that_is_taken_while_the_server_runs_is_a_store_to_go_on_with() {
    let (folder, other) = (Folder::new(), Folder::new());
    prepare(&folder, "120s");
    let server = Server::start(&folder, &[]);
    let done = begin(&server, "one", "Quickly.");
    assert_eq!(said(&server, &done), ["Turn 1.", "Turn 2.", "Turn 3."]);
    let running = begin(&server, "two", "Slowly.");

    // As the documentation says: first the store, then the files.
    let store = rusqlite::Connection::open(folder.path("data/polylogue.db")).unwrap();
    fs::create_dir_all(other.path("data")).unwrap();
    store.execute("VACUUM INTO ?", [other.path("data/polylogue.db").to_str().unwrap()]).unwrap();
    drop(store);
    copy(&folder.path("artifacts"), &other.path("artifacts"));
    let later = begin(&server, "one", "Quickly again.");
    assert_eq!(said(&server, &later).len(), 3, "the server goes on meanwhile");
    assert_eq!(statuses(&server)[&running], "running");

    prepare(&other, "0s");
    let restored = Server::start(&other, &[]);
    assert_eq!(said(&restored, &running), ["Turn 1.", "Turn 2.", "Turn 3."], "what ran is gone on with");
    assert_eq!(said(&restored, &done), ["Turn 1.", "Turn 2.", "Turn 3."]);
    let expected = BTreeMap::from([(done, "ended".to_owned()), (running.clone(), "ended".to_owned())]);
    assert_eq!(statuses(&restored), expected, "what came later is not in it");
    assert_eq!(statuses(&server)[&running], "running", "the two know nothing of each other");
    let (status, _) = restored.post("/v1/rooms/one/messages", &json!({"text": "@gpt Quickly."}));
    assert_eq!(status, 202);
}

#[test]
fn a_damaged_store_says_so_and_is_not_written() {
    let folder = Folder::new();
    prepare(&folder, "0s");
    for _ in 0..3 {
        folder.run(&["collaborate", "Quickly.", "--max-rounds", "3"]);
    }
    let path = folder.path("data/polylogue.db");
    // Everything is in the one file.
    let store = rusqlite::Connection::open(&path).unwrap();
    store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    // The first page says that it is a store, and of which version.
    bytes[4096..].fill(0xaa);
    fs::write(&path, &bytes).unwrap();
    for args in [&["sessions", "list"][..], &["sessions", "show", "last"], &["collaborate", "Quickly."]] {
        let run = folder.run(args);
        let error = &run.lines.last().unwrap()["error"];
        assert_eq!((run.status, &error["code"]), (1, &json!("INTERNAL")), "{args:?}: {:?}", run.lines);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("damaged: restore it from a backup"), "{args:?}: {message}");
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    assert_eq!(fs::read(&path).unwrap()[4096..], bytes[4096..], "what can still be saved is left alone");
}

#[test]
fn a_server_that_is_told_to_end_under_load_loses_and_doubles_nothing() {
    const SESSIONS: usize = 40;
    let folder = Folder::new();
    prepare(&folder, "120s");
    let server = Server::start(&folder, &[]);
    let sessions: Vec<String> =
        (0..SESSIONS).map(|room| begin(&server, &format!("room-{room}"), "Slowly, now.")).collect();
    assert!(statuses(&server).values().all(|status| status == "running"));
    prepare(&folder, "0s");
    // It ends in good order, and at once.
    server.terminate();
    let next = Server::start(&folder, &[]);
    for session in &sessions {
        assert_eq!(said(&next, session), ["Turn 1.", "Turn 2.", "Turn 3."], "{session}");
    }
    assert_eq!(statuses(&next).len(), SESSIONS);
    assert!(statuses(&next).values().all(|status| status == "ended"));
}
