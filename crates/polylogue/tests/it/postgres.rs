//! The binary on PostgreSQL: a real server, which these tests need and fail without (`scripts/postgres.sh run`).

use std::{
    collections::BTreeSet,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    crash::calls,
    folder::{Folder, example, example_config, is_ask_of},
    server::Server,
    stage,
};

/// The address of a store that is not there yet, on the server that the tests share.
fn new_store() -> String {
    let url = std::env::var("POLYLOGUE_TEST_POSTGRES")
        .expect("this test needs PostgreSQL: run it by `scripts/postgres.sh run cargo nextest run …`");
    in_new_schema(&url)
}

fn in_new_schema(url: &str) -> String {
    format!("{url}?schema=it_{:x}", fastrand::u64(..))
}

/// Two who hand on to each other three times; the reply of `slow.0` takes as long as `slow.1` says.
fn prepare(folder: &Folder, store: &str, slow: Option<(u64, &str)>) {
    let model = "model = \"script/replies.yaml\"\n";
    let cluster = "[cluster]\nlease_seconds = 3\n";
    let agents = format!("[agents.gpt]\n{model}[agents.claude]\n{model}");
    folder.write("polylogue.toml", &format!("[store]\nurl = \"{store}\"\n{cluster}{agents}"));
    let mut script = "log: calls.jsonl\nreplies:\n".to_owned();
    for turn in 1..=3 {
        let other = if turn % 2 == 1 { "claude" } else { "gpt" };
        let delay = slow.filter(|(slow, _)| *slow == turn).map_or("0s", |(_, delay)| delay);
        script += &format!(
            "  - {{turn: {turn}, delay: {delay}, reply: {{message: More., handoff: {{to: {other}, task: Go on.}}}}}}\n"
        );
    }
    folder.write("replies.yaml", &script);
}

/// Begins a collaboration of three rounds.
fn begin(server: &Server) -> String {
    let said = json!({"text": "@router collaborate gpt claude: Work it out.", "maxRounds": 3});
    server.say("lounge", &said)["sessionId"].as_str().unwrap().to_owned()
}

fn listed(folder: &Folder, store: &str) -> Vec<String> {
    let run = folder.run(&["sessions", "list", "--limit", "100", "--store", store]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.lines.iter().map(|line| line["sessionId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn everything_is_copied_there_and_back() {
    let (folder, postgres) = (stage::stage(), new_store());
    let [here, back] = ["here.db", "back.db"].map(|name| format!("sqlite:{}", folder.path(name).display()));
    let run = |args: &[&str]| {
        let run = folder.run(&[args, &["--store", &here, "--no-speech"]].concat());
        assert_eq!(run.status, 0, "{args:?}: {} {:?}", run.stderr, run.lines.last());
        run
    };
    run(&["collaborate", "Write a fairy tale.", "--config", &example_config(), "--max-rounds", "2"]);
    let config = example("chorus/polylogue.toml");
    run(&["chorus", "What is a home?", "--config", &config]);
    let config = example("discussion/polylogue.toml");
    run(&["discuss", "new", "--title", "The roof", "--config", &config]);
    run(&["discuss", "say", "last", "It leaks over the stairs.", "--config", &config]);
    folder.write(
        "scene.json",
        &json!({"name": "the-apology", "prompt": "They meet.", "characters": ["alice", "bob"], "initialSpeaker": "bob",
                "maxBeats": 5, "story": "winter"})
        .to_string(),
    );
    let scene = run(&["scene", "scene.json", "--model", "script/replies.yaml"]);
    let scene = scene.result()["sessionId"].as_str().unwrap().to_owned();
    run(&["sessions", "why", &scene, "1", "--model", "script/replies.yaml"]);
    let server = Server::start(&folder, &["--config", &example_config(), "--store", &here]);
    let mut room = server.listen("lounge", 0);
    for _ in 0..2 {
        let said =
            json!({"text": "Summarize this in 1 sentence, then stop.", "target": "router", "mode": "collaborate"});
        let session = server.say("lounge", &said)["sessionId"].clone();
        room.session(&session);
    }
    server.terminate();

    let sessions = listed(&folder, &here);
    assert_eq!(sessions.len(), 7, "a session of every kind, and two in a room");
    for (from, to) in [(&here, &postgres), (&postgres, &back)] {
        let copied = folder.run(&["store", "copy", from, to]);
        assert_eq!((copied.status, &copied.lines[0]["sessions"]), (0, &json!(7)), "{copied:?}");
    }
    let exported = |store: &str, id: &str, form: &str| {
        let output = folder.output(&["sessions", "export", id, "--as", form, "--store", store]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for store in [&postgres, &back] {
        assert_eq!(listed(&folder, store), sessions, "in the same order");
        for id in &sessions {
            for form in ["txt", "md", "json"] {
                assert_eq!(exported(store, id, form), exported(&here, id, form), "{id} as {form}");
            }
        }
    }
    let memory = |store: &str| folder.run(&["sessions", "memory", "bob", "--store", store]).lines;
    assert_eq!(memory(&postgres), memory(&here));
    let again = folder.run(&["store", "copy", &here, &postgres]);
    assert_eq!((again.status, &again.lines[0]["unchanged"]), (0, &json!(7)), "{again:?}");
}

#[test]
fn nothing_that_is_printed_has_the_password_in_it() {
    let (folder, store) = (Folder::new(), new_store());
    let said = |output: Output| [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    let doctor = said(folder.output(&["doctor", "--store", &store]));
    let shown = store.replace("polylogue:secret@", "polylogue@");
    assert!(doctor.contains(&shown) && !doctor.contains("secret"), "{doctor}");
    for (store, expected) in [
        (store.replace(":secret@", ":another-secret@"), "password"),
        (store.replace("postgres://", "postgre://"), "is not known here: write sqlite:FILE or postgres://"),
        (store.replace("schema=", "schemas="), "no URL of PostgreSQL's"),
    ] {
        let said = said(folder.output(&["sessions", "list", "-vv", "--store", &store]));
        assert!(said.contains(expected) && !said.contains("secret"), "{said}");
    }
    let without = store.replace(":secret@", "@");
    let listed =
        folder.command(&["sessions", "list", "--store", &without]).env("PGPASSWORD", "secret").output().unwrap();
    assert!(listed.status.success(), "{}", said(listed));
}

/// Two servers on one database are one to those who use them, whichever they ask.
#[test]
fn a_session_of_one_server_is_heard_and_stopped_on_the_other() {
    let (folder, store) = (Folder::new(), new_store());
    prepare(&folder, &store, Some((2, "120s")));
    let (first, second) = (Server::start(&folder, &[]), Server::start(&folder, &[]));
    let session = begin(&first);
    let mut listener = second.watch(&session);
    while !is_ask_of(2)(&listener.next().expect("it goes on").1) {}
    assert_eq!(second.get(&format!("/v1/sessions/{session}"))["status"], "running");
    let (status, stopped) = second.post(&format!("/v1/sessions/{session}/stop"), &json!({}));
    assert_eq!((status, &stopped["reason"]), (200, &json!("cancelled")));
}

/// What one server has spent, the other may not spend again.
#[test]
fn what_a_day_may_cost_holds_for_both_servers() {
    let (folder, store) = (Folder::new(), new_store());
    prepare(&folder, &store, None);
    let config = std::fs::read_to_string(folder.path("polylogue.toml")).unwrap();
    let limits = "[limits]\nper_day_usd = 0.0000001\n[prices.\"script/*\"]\ninput = 1.0\noutput = 1.0\n";
    folder.write("polylogue.toml", &(config + limits));
    let (first, second) = (Server::start(&folder, &[]), Server::start(&folder, &[]));
    let session = begin(&first);
    let mut listener = second.watch(&session);
    let records: Vec<Value> = std::iter::from_fn(|| listener.next()).map(|(_, event)| event).collect();
    let is_answer = |record: &&Value| record["type"] == "answered";
    assert_eq!(records.iter().filter(is_answer).count(), 1, "the first call spends it all: {records:?}");
    let ended = records.last().unwrap();
    assert_eq!((&ended["type"], &ended["reason"]), (&json!("ended"), &json!("limit_usd")), "{ended}");
    let said = "Collaboration ended: what all sessions together may cost in a day is spent";
    assert!(ended["notice"].as_str().unwrap().starts_with(said), "{ended}");
    let said = json!({"text": "@router collaborate gpt claude: Work it out."});
    let (message, resume) = ("/v1/rooms/lounge/messages".to_owned(), format!("/v1/sessions/{session}/resume"));
    for (path, body) in [(message, said), (resume, json!({}))] {
        let (status, refused) = second.post(&path, &body);
        assert_eq!((status, &refused["error"]["code"]), (429, &json!("RATE_LIMITED")), "{path}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("per_day_usd") && message.contains("it goes on at 2"), "{message}");
    }
}

/// A session is spoken to, and its words are heard as they are written, on a server that does not run it. NATS makes it
/// quick; without it everything but the words comes by looking, and so it does between servers on one file.
#[test]
fn a_session_of_one_server_is_spoken_to_on_the_other() {
    let nats = std::env::var("POLYLOGUE_TEST_NATS")
        .expect("this test needs NATS: run it by `scripts/postgres.sh run scripts/nats.sh run cargo nextest run …`");
    for (is_postgres, has_nats) in [(true, true), (true, false), (false, false)] {
        let folder = Folder::new();
        let store = if is_postgres { new_store() } else { format!("sqlite:{}", folder.path("shared.db").display()) };
        prepare(&folder, &store, None);
        folder
            .write("replies.yaml", "replies:\n  - {pace: 200ms, reply: {message: \"One two three four five six.\"}}\n");
        if has_nats {
            let config = std::fs::read_to_string(folder.path("polylogue.toml")).unwrap();
            let cluster = format!("[cluster]\nnats = \"{nats}\"\nname = \"it-{:x}\"\n", fastrand::u64(..));
            folder.write("polylogue.toml", &config.replace("[cluster]\n", &cluster));
        }
        let (first, second) = (Server::start(&folder, &[]), Server::start(&folder, &[]));
        let session = begin(&first);
        let path = format!("/v1/sessions/{session}");
        let (status, answer) = second.post(&format!("{path}/say"), &json!({"text": "Mind the gap."}));
        assert_eq!(status, 202, "{answer}");
        let live = second.text(&format!("{path}/events?live=true"));
        assert_eq!(live.matches("Mind the gap.").count(), 1, "{live}");
        assert!(live.contains("\"type\":\"ended\""), "{live}");
        if has_nats {
            assert!(live.matches("event: delta").count() > 1, "words come as they are written: {live}");
        }
        assert_eq!(second.get(&path)["lines"][1]["text"], "Mind the gap.");
    }
}

/// A process that stands still for longer than its lease has lost its session. When it goes on it finds that out, adds
/// nothing, and serves as before.
#[test]
fn a_server_that_was_frozen_does_no_harm() {
    let (folder, store) = (Folder::new(), new_store());
    prepare(&folder, &store, Some((2, "2s")));
    let (first, second) = (Server::start(&folder, &[]), Server::start(&folder, &[]));
    let session = begin(&first);
    let mut listener = second.watch(&session);
    while !is_ask_of(2)(&listener.next().expect("it goes on").1) {}
    first.signal("STOP");
    prepare(&folder, &store, None);
    let mut records = Vec::new();
    while let Some((id, event)) = listener.next() {
        records.push((id, event));
    }
    let (_, last) = records.last().unwrap();
    assert_eq!((&last["type"], &last["reason"]), (&json!("ended"), &json!("cap_reached")));
    let before = second.text(&format!("/v1/sessions/{session}/transcript?as=json"));
    first.signal("CONT");
    // It has noticed when it runs nothing any more.
    while !first.text("/metrics").lines().any(|line| line == "polylogue_sessions_running 0") {}
    assert_eq!(first.get(&format!("/v1/sessions/{session}"))["status"], "ended");
    assert_eq!(first.get("/readyz")["status"], "ready");
    let body = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    let after = second.text(&format!("/v1/sessions/{session}/transcript?as=json"));
    assert_eq!(body(&after), body(&before), "nothing was added");
    let places: BTreeSet<u64> = records.iter().map(|(id, _)| *id).collect();
    assert_eq!(places.len(), records.len(), "nothing was told twice");
    assert_eq!(calls(&folder).values().sum::<usize>(), 4, "only the ask that was in flight was repeated");
    let log = first.kill();
    assert!(log.iter().any(|line| line.contains("another process goes on with the session")), "{log:?}");
    assert!(!log.iter().any(|line| line.contains("panicked")), "{log:?}");
    let another = begin(&second);
    let mut listener = second.watch(&another);
    while listener.next().is_some() {}
    assert_eq!(second.get(&format!("/v1/sessions/{another}"))["reason"], "cap_reached");
}

/// A database of one's own, which can be ended and started again.
struct Database {
    folder: tempfile::TempDir,
    url: String,
}

impl Database {
    fn start() -> Database {
        let folder = tempfile::tempdir().unwrap();
        let url = script("start", &folder);
        Database { folder, url }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = command("stop", &self.folder).output();
    }
}

fn command(what: &str, folder: &tempfile::TempDir) -> Command {
    let mut command = Command::new(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh"));
    command.arg(what).arg(folder.path());
    command
}

fn script(what: &str, folder: &tempfile::TempDir) -> String {
    let output = command(what, folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The database is gone for a while: requests are refused with the error object, the session that runs waits, and goes on
/// by itself when it is back. Nothing is asked twice, because nobody was gone but the database.
#[test]
fn a_database_that_goes_and_comes_back_costs_nothing_but_time() {
    let database = Database::start();
    let folder = Folder::new();
    prepare(&folder, &in_new_schema(&database.url), Some((2, "2s")));
    let server = Server::start(&folder, &[]);
    let session = begin(&server);
    let mut listener = server.watch(&session);
    while !is_ask_of(2)(&listener.next().expect("it goes on").1) {}
    script("stop", &database.folder);
    let answer = |path: &str| -> (u16, Value) {
        let text = server.text(path);
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap())
    };
    while answer("/readyz").0 == 200 {}
    let (status, refused) = answer(&format!("/v1/sessions/{session}"));
    assert_eq!((status, &refused["success"]), (503, &json!(false)), "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("cannot be used at the moment"), "{refused}");
    let (status, refused) = server.post("/v1/rooms/lounge/messages", &json!({"text": "@gpt hello"}));
    assert_eq!(status, 503, "{refused}");
    // The model has answered, and the answer waits to be recorded.
    assert_eq!(script("start", &database.folder), database.url);
    while answer("/readyz").0 != 200 {}
    let ended = loop {
        let (status, shown) = answer(&format!("/v1/sessions/{session}"));
        if status == 200 && shown["status"] == "ended" {
            break shown;
        }
    };
    assert_eq!(ended["reason"], "cap_reached");
    assert_eq!(calls(&folder).values().sum::<usize>(), 3, "every turn was asked once");
}
