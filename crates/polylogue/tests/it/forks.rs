//! Every kind of change that a fork can make, in every format where it means something: killed at its first ask, and
//! resumed.

use serde_json::{Value, json};

use crate::{
    folder::{Folder, said},
    server::Server,
};

/// A session of some format, and how it is forked.
struct Case {
    format: &'static str,
    /// The names that agents are called by in the session: who says the line, and who speaks after it.
    agents: [&'static str; 2],
    replies: &'static str,
    /// The line at which it forks, as `speaker (kind): text`.
    line: &'static str,
    /// The words of that line alone.
    words: &'static str,
    takes_notes: bool,
}

const CASES: [Case; 7] = [
    Case {
        format: "collaboration",
        agents: ["gpt", "claude"],
        replies: "- {agent: gpt, turn: 1, reply: {message: One red house., handoff: {to: claude, task: Go on.}}}\n\
                  - {agent: claude, turn: 2, reply: {message: Two., handoff: {to: gpt, task: Go on.}}}\n\
                  - {reply: {message: Done., final: true}}\n",
        line: "gpt (message): One red house.",
        words: "One red house.",
        takes_notes: true,
    },
    Case {
        format: "chorus",
        agents: ["slot-1", "slot-2"],
        replies: "- {purpose: respond, agent: slot-1, reply: {text: One red house., voice_profile: dry_precise}}\n\
                  - {purpose: respond, delay: 100ms, reply: {text: Another., voice_profile: dry_precise}}\n\
                  - {purpose: comment, agent: slot-1, reply: {targetSlotId: 2, comment: Fine., voice_profile: dry_precise}}\n\
                  - {purpose: comment, reply: {targetSlotId: 1, comment: Well., voice_profile: dry_precise}}\n\
                  - {reply: {text: So be it., voice_profile: dry_precise}}\n",
        line: "slot-1 (response): One red house.",
        words: "One red house.",
        takes_notes: false,
    },
    Case {
        format: "scene",
        agents: ["bob", "alice"],
        replies: "- {agent: bob, turn: 0, reply: '[TONE: nervous] \"One red house.\"'}\n\
                  - {agent: alice, reply: '[TONE: cold] \"Was it?\"'}\n\
                  - {purpose: judge, turn: 2, reply: {progress: 1, goalReached: true, naturalEnd: true}}\n\
                  - {purpose: judge, reply: {progress: 0.3, goalReached: false, naturalEnd: false}}\n\
                  - {reply: '[SILENT]'}\n",
        line: "bob (speak): One red house.",
        words: "One red house.",
        takes_notes: true,
    },
    Case {
        format: "person",
        agents: ["bob", "alice"],
        replies: "- {agent: alice, reply: '[TONE: cold] \"Was it?\"'}\n\
                  - {purpose: judge, turn: 2, reply: {progress: 1, goalReached: true, naturalEnd: true}}\n\
                  - {purpose: judge, reply: {progress: 0.3, goalReached: false, naturalEnd: false}}\n\
                  - {reply: '[SILENT]'}\n",
        line: "bob (speak): One red house.",
        words: "One red house.",
        takes_notes: true,
    },
    Case {
        format: "discussion",
        agents: ["gpt", "claude"],
        replies: "- {agent: gpt, turn: 1, reply: One red house.}\n- {agent: gpt, reply: More.}\n- {reply: Less.}\n",
        line: "gpt (message): One red house.",
        words: "One red house.",
        takes_notes: true,
    },
    Case {
        format: "score",
        agents: ["gpt", "claude"],
        replies: "- {agent: gpt, turn: 1, reply: One red house.}\n- {agent: gpt, reply: More.}\n- {reply: Less.}\n",
        line: "gpt (message): One red house.",
        words: "One red house.",
        takes_notes: true,
    },
    Case {
        format: "room",
        agents: ["gpt", "claude"],
        replies: "- {agent: gpt, turn: 1, reply: {message: One red house., handoff: {to: claude, task: Go on.}}}\n\
                  - {agent: claude, turn: 2, reply: {message: Two., handoff: {to: gpt, task: Go on.}}}\n\
                  - {reply: {message: Done., final: true}}\n",
        line: "gpt (message): One red house.",
        words: "One red house.",
        takes_notes: true,
    },
];

const CONFIG: &str = r#"
[chorus]
slots = ["gpt", "claude"]
[agents.gpt]
model = "script/replies.yaml"
persona = "You count."
[agents.claude]
model = "script/replies.yaml"
persona = "You listen."
[scene]
model = "script/replies.yaml"
"#;

impl Case {
    /// The replies, at once or later than any test.
    fn write(&self, folder: &Folder, is_held: bool) {
        let replies: String = self.replies.lines().map(|line| format!("  {}\n", line.trim())).collect();
        let replies = match is_held {
            true => "  - {delay: 120s, reply: ''}\n".to_owned(),
            false => replies,
        };
        folder.write("replies.yaml", &format!("log: calls.jsonl\nreplies:\n{replies}"));
        folder.write("other.yaml", &format!("log: others.jsonl\nreplies:\n{replies}"));
    }

    fn folder(&self) -> Folder {
        let folder = Folder::new();
        folder.write("polylogue.toml", CONFIG);
        folder.write("persona.md", "You have changed your mind about everything.\n");
        std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
        folder.write(".claude/agents/alice.md", "# Alice\nShe is blunt.\n");
        folder.write(".claude/agents/bob.md", "# Bob\nHe means well.\n");
        self.write(&folder, false);
        folder
    }

    /// Plays it to its end, and tells its id.
    fn play(&self, folder: &Folder) -> String {
        let scene = |bob: &str| {
            folder.write(
                "scene.yaml",
                &format!("name: s\nprompt: They talk.\ncharacters: [{bob}, alice]\ninitialSpeaker: bob\nmaxBeats: 4"),
            );
            vec!["scene", "scene.yaml"]
        };
        let args = match self.format {
            "chorus" => vec!["chorus", "What is a home?", "--no-speech"],
            "scene" => scene("bob"),
            "person" => scene("{person: you, plays: bob}"),
            "discussion" => {
                let who = ["--participant", "manager=gpt", "--participant", "specialist=claude"];
                [&["discuss", "new", "--title", "Houses"][..], &who, &["--max-rounds", "2"]].concat()
            }
            "score" => vec!["play", "round-robin", "Count.", "--seat", "member=gpt,claude", "--set", "rounds=2"],
            "room" => return room(folder),
            _ => vec!["collaborate", "Count."],
        };
        let mut command = folder.command(&[&args[..], &["--json"]].concat());
        if self.format == "person" {
            folder.write("lines.txt", &format!("{}\n", self.words));
            command.stdin(std::fs::File::open(folder.path("lines.txt")).unwrap());
        }
        let output = command.output().unwrap();
        let last = String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned();
        let result: Value =
            serde_json::from_str(&last).unwrap_or_else(|error| panic!("{}: {error}: {last}", self.format));
        assert!(output.status.success(), "{}: {last}", self.format);
        result["sessionId"].as_str().unwrap().to_owned()
    }

    fn changes(&self) -> Vec<(&'static str, Vec<String>)> {
        let [_, other] = self.agents;
        let mut changes = vec![
            ("edit", vec!["--edit".to_owned(), "One green tent.".to_owned()]),
            ("persona", vec!["--persona".to_owned(), format!("{other}=persona.md")]),
            ("model", vec!["--model".to_owned(), format!("{other}=script/other.yaml")]),
        ];
        if self.takes_notes {
            let to = ["--note", "Whisper now.", "--to", other].map(str::to_owned).to_vec();
            changes.push(("note", vec!["--note".to_owned(), "Whisper now.".to_owned()]));
            changes.push(("note to one", to));
        }
        changes
    }
}

/// A session that answers in a room.
fn room(folder: &Folder) -> String {
    let server = Server::start(folder, &[]);
    let said = server.say("hall", &json!({"text": "@router collaborate gpt claude: Count."}));
    let id = said["sessionId"].as_str().unwrap().to_owned();
    let mut records = server.watch(&id);
    while records.next().is_some() {}
    id
}

fn journal(folder: &Folder, session: &str) -> Vec<Value> {
    folder.run(&["sessions", "replay", session]).lines
}

/// The requests of a session after a record, each with who was asked.
fn requests(folder: &Folder, session: &str, after: u64) -> Vec<(String, String)> {
    let records = journal(folder, session);
    let asked = records.iter().filter(|record| record["type"] == "asked" && record["seq"].as_u64() > Some(after));
    asked
        .map(|record| {
            let request = folder.run(&["sessions", "show", session, "--at", &record["seq"].to_string()]);
            (record["ask"]["agent"].as_str().unwrap().to_owned(), request.lines[0].to_string())
        })
        .collect()
}

/// Forks with this change, kills the fork at its first ask, and resumes it.
fn changed(case: &Case, folder: &Folder, id: &str, at: u64, kind: &str, flags: &[String]) {
    let name = format!("{} {kind}", case.format);
    case.write(folder, true);
    let at = at.to_string();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut fork = folder.start(&[&["sessions", "fork", id, "--at", &at], &flags[..]].concat());
    assert!(fork.read_until(|record| record["type"] == "forked"), "{name} does not fork: {:?}", fork.seen.last());
    let forked = fork.seen.last().unwrap()["seq"].as_u64().unwrap();
    assert!(fork.read_until(|record| record["type"] == "asked"), "{name} asks nobody: {:?}", fork.seen.last());
    let session = fork.session();
    assert_ne!(session, id);
    fork.kill();

    case.write(folder, false);
    let resumed = folder.run(&["sessions", "resume", &session]);
    assert_eq!(resumed.status, 0, "{name}: {:?} {}", resumed.lines.last(), resumed.stderr);
    let result = folder.run(&["sessions", "show", &session]);
    assert_eq!(result.result()["status"], "ended", "{name}");
    let records = journal(folder, &session);
    let change = &records.iter().find(|record| record["type"] == "forked").unwrap()["change"];
    let asked = requests(folder, &session, forked);
    let with = |text: &str| asked.iter().filter(|(_, request)| request.contains(text)).count();
    let [_, other] = case.agents;
    let of_other: Vec<&String> = asked.iter().filter(|(who, _)| who == other).map(|(_, request)| request).collect();
    assert!(!of_other.is_empty(), "{name}: {asked:?}");
    match kind {
        "edit" => {
            assert_eq!(change["edit"], "One green tent.", "{name}");
            let lines = said(result.result());
            let edited = case.line.replace(case.words, "One green tent.");
            assert!(lines.contains(&edited) && !lines.contains(&case.line.to_owned()), "{name}: {lines:?}");
            assert_eq!(with("One red house"), 0, "{name}: the old words are still told");
            assert!(with("One green tent.") > 0, "{name}: {asked:?}");
        }
        "persona" => {
            assert_eq!(change["personas"][other], "You have changed your mind about everything.", "{name}");
            assert!(of_other.iter().all(|request| request.contains("You have changed your mind")), "{name}");
        }
        "model" => {
            let recast = change["recast"].as_array().unwrap();
            assert_eq!((recast.len(), &recast[0]["agent"]), (1, &json!(other)), "{name}: {change}");
            let calls = std::fs::read_to_string(folder.path("others.jsonl")).unwrap_or_default();
            assert!(calls.lines().count() > 0, "{name}: the other model was asked");
        }
        _ => {
            assert_eq!(change["notes"][0]["text"], "Whisper now.", "{name}");
            assert!(of_other[0].contains("Whisper now."), "{name}: {of_other:?}");
            if kind == "note to one" {
                assert_eq!(change["notes"][0]["to"], other, "{name}");
            }
        }
    }
    let before = journal(folder, id);
    assert!(before.iter().all(|record| record["type"] != "forked"), "{name}: the first session stays as it was");
}

#[test]
fn each_kind_of_change_holds_in_each_format_wherever_the_fork_is_killed() {
    std::thread::scope(|scope| {
        for case in &CASES {
            scope.spawn(move || {
                let folder = case.folder();
                let id = case.play(&folder);
                let shown = folder.run(&["sessions", "show", &id]);
                let at = said(shown.result()).iter().position(|line| line == case.line);
                let at = at.unwrap_or_else(|| panic!("{}: {:?}", case.format, said(shown.result())));
                let at = shown.result()["lines"][at]["seq"].as_u64().unwrap();
                for (kind, flags) in case.changes() {
                    changed(case, &folder, &id, at, kind, &flags);
                }
                if !case.takes_notes {
                    let fork = ["sessions", "fork", &id, "--at", &at.to_string(), "--note", "Hm."];
                    let refused = folder.run(&fork);
                    assert_ne!(refused.status, 0, "{}: {:?}", case.format, refused.lines.last());
                }
            });
        }
    });
}

#[test]
fn the_same_is_changed_over_http() {
    for case in CASES.iter().filter(|case| case.format != "person") {
        let folder = case.folder();
        let id = case.play(&folder);
        let shown = folder.run(&["sessions", "show", &id]);
        let line = said(shown.result()).iter().position(|line| line == case.line).unwrap();
        let at = shown.result()["lines"][line]["seq"].as_u64().unwrap();
        let server = Server::start(&folder, &[]);
        let [_, other] = case.agents;
        let mut body = json!({"at": at, "edit": "One green tent.", "personas": {other: "You doubt."}, "speech": false});
        if case.takes_notes {
            body["notes"] = json!([{"to": other, "text": "Whisper now."}]);
        }
        let (status, begun) = server.post(&format!("/v1/sessions/{id}/fork"), &body);
        assert_eq!(status, 202, "{}: {begun}", case.format);
        let fork = begun["sessionId"].as_str().unwrap();
        let mut records = server.watch(fork);
        let mut change = Value::Null;
        while let Some((_, record)) = records.next() {
            if record["type"] == "forked" {
                change = record["change"].clone();
            }
        }
        assert_eq!((&change["edit"], &change["personas"][other]), (&json!("One green tent."), &json!("You doubt.")));
        let lines = said(&server.get(&format!("/v1/sessions/{fork}")));
        assert!(lines.contains(&case.line.replace(case.words, "One green tent.")), "{}: {lines:?}", case.format);
    }
}
