//! A person plays a character: with lines from another program, over HTTP, killed while they are waited for, directed.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Stdio},
};

use serde_json::{Value, json};

use super::{Theatre, scene};
use crate::{
    folder::{Run, said},
    server::Server,
};

const PLAY: [&str; 4] = ["scene", "scene.yaml", "--model", "script/replies.yaml"];

/// Alice says something in each beat, and the moderator is content after four.
const REPLIES: &str = r#"  - {agent: alice, turn: 0, reply: '[TONE: cold] "You are late again, and the client has left."'}
  - {agent: alice, turn: 1, reply: '[TO: Bob, TONE: tender] "Was it the train?"'}
  - {agent: alice, turn: 2, reply: '[SILENT]'}
  - {agent: alice, turn: 3, reply: '[TONE: warm] "All right, then."'}
  - {agent: moderator, turn: 3, reply: {evidence: [{part: 1, line: "All right, then."}], progress: 1, goalReached: true, naturalEnd: true}}
"#;

fn theatre(more: &str) -> Theatre {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(REPLIES);
    theatre.folder.write("scene.yaml", &scene("played", "alice, {person: you, plays: bob}", more));
    theatre
}

/// The program with somebody at its input.
struct Actor {
    child: Child,
    input: ChildStdin,
    records: Vec<Value>,
    output: Box<dyn Iterator<Item = Value>>,
}

impl Actor {
    fn start(theatre: &Theatre, args: &[&str]) -> Actor {
        let mut command = theatre.folder.command(&[args, &["--json"]].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let output = Box::new(lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()));
        Actor { input: child.stdin.take().unwrap(), child, records: Vec::new(), output }
    }

    fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let record = self.output.next().unwrap_or_else(|| panic!("it ended: {:#?}", self.records.last()));
            self.records.push(record.clone());
            if holds(&record) {
                return record;
            }
        }
    }

    fn session(&self) -> String {
        self.records[0]["setup"]["id"].as_str().unwrap().to_owned()
    }

    fn types(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Nothing is typed any more.
    fn finish(self) -> Run {
        let Actor { mut child, input, mut records, output } = self;
        drop(input);
        records.extend(output);
        Run { status: child.wait().unwrap().code().unwrap_or(-1), lines: records, stderr: String::new() }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn waits(record: &Value) -> bool {
    record["decision"] == "wait_begun"
}

/// The requests of a session, each with its place.
fn requests(theatre: &Theatre, session: &str) -> Vec<(String, String)> {
    let shown = theatre.folder.run(&["sessions", "replay", session]);
    let asked = shown.lines.iter().filter(|record| record["type"] == "asked");
    asked
        .map(|record| {
            let request = theatre.folder.run(&["sessions", "show", session, "--at", &record["seq"].to_string()]);
            (record["ask"]["agent"].as_str().unwrap().to_owned(), request.lines[0].to_string())
        })
        .collect()
}

#[test]
fn a_person_plays_with_lines_from_another_program() {
    let theatre = theatre("patience: 60\nmaxBeats: 4");
    let mut actor = Actor::start(&theatre, &PLAY);
    actor.types("Look, I can explain.");
    // An empty line says nothing.
    actor.types("");
    actor.until(|record| waits(record) || record["decision"] == "beat_begun" && record["beat"] == 2);
    let run = actor.finish();
    assert_eq!((run.status, run.reason()), (0, "goal_achieved"), "{:?}", run.lines.last());
    // Whoever is quicker comes first.
    let mine = run.said().iter().position(|line| line == "bob (speak): Look, I can explain.").unwrap();
    assert!(mine < 2, "{:?}", run.said());
    let others: Vec<String> = run.said().into_iter().filter(|line| line.starts_with("alice")).collect();
    assert_eq!(
        others,
        [
            "alice (speak): You are late again, and the client has left.",
            "alice (speak): Was it the train?",
            "alice (speak): All right, then.",
        ]
    );
    let decided = |name: &str| run.lines.iter().filter(|record| record["decision"] == name).count();
    // From the end of the input on nobody is waited for. Whether the empty line is read in its beat or the end of the
    // input is noticed first, Bob says nothing in three beats, and Alice in one.
    let (silent, passed_over) = (decided("stayed_silent"), decided("passed_over"));
    assert!(silent >= 1 && passed_over >= 2 && silent + passed_over == 4, "{silent}, {passed_over}: {:#?}", run.lines);
    assert_eq!(run.result()["cast"][1], json!({"name": "bob", "model": "person/you"}));
    assert!(run.result()["costs"]["byAgent"]["bob"].is_null(), "a person costs nothing");
    let transcript = theatre.transcript("played");
    assert!(transcript.contains("Bob [SPEAK] \"Look, I can explain.\""), "{transcript}");
    assert_eq!(theatre.metadata("played")["characterCount"], 2);
    let session = run.result()["sessionId"].as_str().unwrap();
    assert!(requests(&theatre, session).iter().all(|(who, _)| who != "bob"), "no model is asked for a person");
    for (who, request) in requests(&theatre, session) {
        assert!(
            !request.contains("person/") && !request.contains("a person"),
            "{who} is told that a person plays: {request}"
        );
    }
    let number = (mine + 1).to_string();
    let why = theatre.folder.run(&["sessions", "why", session, &number]);
    assert_ne!(why.status, 0, "{:?}", why.lines);
    let line = theatre.folder.run(&["sessions", "show", session, "--ask", &number]);
    let told = format!("line {number} is by bob: no model was asked for it");
    assert!(line.lines[0]["error"]["message"].as_str().unwrap().contains(&told), "{:?}", line.lines);
}

#[test]
fn killed_while_a_person_is_waited_for() {
    let theatre = theatre("patience: none\nmaxBeats: 4");
    let mut actor = Actor::start(&theatre, &PLAY);
    actor.types("Look, I can explain.");
    actor.until(|record| record["type"] == "human_spoke");
    actor.until(waits);
    let session = actor.session();
    actor.kill();
    let shown = theatre.folder.run(&["sessions", "show", &session]);
    assert_eq!(shown.result()["status"], "waiting");

    // A director speaks to somebody who is waited for, and to nobody else.
    let directed = theatre.folder.run(&["sessions", "direct", &session, "--note", "Weep a little.", "--to", "bob"]);
    assert_eq!(directed.status, 0, "{:?}", directed.lines);
    let directed = theatre.folder.run(&["sessions", "direct", &session, "--event", "A train whistles"]);
    assert_eq!(directed.status, 0, "{:?}", directed.lines);
    assert_eq!(theatre.folder.run(&["sessions", "show", &session]).result()["status"], "waiting");

    let mut resumed = Actor::start(&theatre, &["sessions", "resume", &session]);
    resumed.types("It was the train.");
    let beat = resumed.until(|record| record["decision"] == "beat_ended");
    assert_eq!(beat["spoke"], json!(["alice", "bob"]));
    let run = resumed.finish();
    assert_eq!((run.status, run.reason()), (0, "goal_achieved"));
    for beat in 0..4 {
        let records = theatre.folder.run(&["sessions", "replay", &session]).lines;
        let is_ask = |record: &&Value| {
            record["type"] == "asked" && record["ask"]["agent"] == "alice" && record["ask"]["turn"] == beat
        };
        assert_eq!(records.iter().filter(is_ask).count(), 1, "alice is asked once in beat {beat}");
    }
    let mine = said(run.result()).into_iter().filter(|line| line.starts_with("bob")).collect::<Vec<_>>();
    assert_eq!(mine, ["bob (speak): Look, I can explain.", "bob (speak): It was the train."]);
    for (who, request) in requests(&theatre, &session) {
        assert!(!request.contains("Weep a little"), "{who} heard what was for bob: {request}");
    }
    let heard = requests(&theatre, &session).iter().filter(|(_, request)| request.contains("A train whistles")).count();
    assert!(heard >= 2, "the others hear what happens");
    let log = theatre.log("played");
    assert!(log.contains("to Bob, director: Weep a little."), "{log}");
}

#[test]
fn a_person_plays_over_http_and_the_server_is_killed() {
    let theatre = theatre("");
    let server = Server::start(&theatre.folder, &["--model", "script/replies.yaml"]);
    let body = json!({
        "name": "played", "prompt": "Bob apologizes, Alice accepts", "maxBeats": 4, "patience": 600,
        "characters": ["alice", {"person": "you", "plays": "bob"}],
    });
    let (status, begun) = server.post("/v1/scenes", &body);
    assert_eq!(status, 202, "{begun}");
    let session = begun["sessionId"].as_str().unwrap().to_owned();
    let wait = |server: &Server, beat: u64| {
        let mut records = server.watch(&session);
        let mut begun = 0;
        while let Some((_, record)) = records.next() {
            begun = if record["decision"] == "beat_begun" { record["beat"].as_u64().unwrap() } else { begun };
            if begun == beat && waits(&record) {
                return;
            }
        }
        panic!("it ended");
    };
    wait(&server, 0);
    let shown = server.get(&format!("/v1/sessions/{session}"));
    assert_eq!(shown["status"], "waiting");
    assert_eq!(shown["awaits"][0]["who"], "you");
    assert!(shown["awaits"][0]["until"].is_string(), "{shown}");
    let listed = server.get("/v1/sessions?status=waiting");
    assert_eq!(listed["sessions"][0]["sessionId"], json!(session), "{listed}");
    let say = |server: &Server, body: Value| server.post(&format!("/v1/sessions/{session}/say"), &body).0;
    assert_eq!(say(&server, json!({"text": "Hello.", "who": "zoe"})), 400);
    assert_eq!(say(&server, json!({"text": "x".repeat(4_001)})), 413);
    assert_eq!(say(&server, json!({"text": "[TONE: nervous, *fidgets*] \"Look, I can explain.\""})), 202);
    wait(&server, 1);
    let direct = |server: &Server, body: Value| server.post(&format!("/v1/sessions/{session}/direct"), &body).0;
    assert_eq!(direct(&server, json!({"note": "Weep a little.", "to": "bob"})), 202);
    server.kill();

    let server = Server::start(&theatre.folder, &["--model", "script/replies.yaml"]);
    assert_eq!(server.get(&format!("/v1/sessions/{session}"))["status"], "waiting", "it is not begun anew");
    assert_eq!(say(&server, json!({"text": "/pass", "who": "you"})), 202);
    wait(&server, 2);
    assert_eq!(say(&server, json!({"text": "*kneels*"})), 202);
    wait(&server, 3);
    assert_eq!(say(&server, json!({"text": "Thank you."})), 202);
    let mut records = server.watch(&session);
    while records.next().is_some() {}
    assert_eq!(say(&server, json!({"text": "And then?"})), 409, "it is over");
    let shown = server.get(&format!("/v1/sessions/{session}"));
    assert_eq!(
        said(&shown),
        [
            "alice (speak): You are late again, and the client has left.",
            "bob (speak): Look, I can explain.",
            "alice (speak): Was it the train?",
            "bob (react): kneels",
            "alice (speak): All right, then.",
            "bob (speak): Thank you.",
        ]
    );
    assert_eq!(shown["lines"][1]["tone"], "nervous");
    for (who, request) in requests(&theatre, &session) {
        assert!(!request.contains("Weep a little"), "{who} heard what was for bob: {request}");
    }
}

#[test]
fn a_server_goes_on_when_the_time_of_a_person_is_up_though_it_was_killed() {
    let theatre = theatre("patience: 2\nmaxBeats: 4");
    let mut actor = Actor::start(&theatre, &PLAY);
    actor.until(waits);
    let session = actor.session();
    actor.kill();
    let server = Server::start(&theatre.folder, &["--model", "script/replies.yaml"]);
    let mut records = server.watch(&session);
    let mut passed_over = 0;
    while let Some((_, record)) = records.next() {
        passed_over += usize::from(record["decision"] == "passed_over");
        assert_ne!(record["type"], "resumed", "it goes on as it was");
    }
    assert_eq!(passed_over, 4);
    assert_eq!(server.get(&format!("/v1/sessions/{session}"))["reason"], "goal_achieved");
}

#[test]
fn what_is_wrong_with_a_person_is_said() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(REPLIES);
    for (characters, more, told) in [
        ("{person: ada}, {person: ben}", "", "a character that a model plays"),
        ("alice, {person: you}, {person: you, plays: bob}", "", "plays two characters"),
        ("alice, {person: you, plays: moderator}", "", "the name is taken"),
        ("alice, {}", "", "write a person as {person: you, plays: bob}"),
        ("alice, {person: you}", "patience: soon", "`patience`"),
        ("alice", "", "2 to 5 characters"),
    ] {
        let run = theatre.play(&scene("wrong", characters, more));
        assert_eq!(run.status, 2, "{characters}");
        let error = run.lines[0]["error"]["message"].as_str().unwrap();
        assert!(error.contains(told), "{error}");
    }
    // Who has no file is called as they are, and `you` is a guest.
    let run = theatre.play(&scene("guests", "alice, {person: ada-lovelace}, {person: you}", "maxBeats: 1"));
    assert_eq!(run.status, 0, "{:?}", run.lines);
    assert!(theatre.transcript("guests").contains("CHARACTERS: Alice, Ada Lovelace, Guest"));
}

#[test]
fn only_scenes_are_directed() {
    let folder = crate::folder::Folder::new();
    let run = folder.run(&["collaborate", "Write a fairy tale.", "--config", &crate::folder::example_config()]);
    assert_eq!(run.status, 0);
    let directed = folder.run(&["sessions", "direct", "last", "--note", "Hm."]);
    assert_eq!(directed.status, 2, "{:?}", directed.lines);
    assert!(directed.lines[0]["error"]["message"].as_str().unwrap().contains("only scenes can"));
}
