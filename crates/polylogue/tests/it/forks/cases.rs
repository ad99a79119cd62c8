//! A session of every format that can be forked with a change, and what can be changed.

use serde_json::{Value, json};

use crate::{folder::Folder, server::Server};

/// A session of some format, and where it is forked.
pub(super) struct Case {
    pub(super) format: &'static str,
    /// The names that agents are called by in the session: who says the line, and who speaks after it.
    pub(super) agents: [&'static str; 2],
    replies: &'static str,
    /// The line at which it forks, as `speaker (kind): text`.
    pub(super) line: &'static str,
    pub(super) takes_notes: bool,
}

/// What a fork changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Edit,
    Persona,
    Model,
    Note,
    NoteToOne,
}

/// The words of the line at which it forks, and what they are changed to.
pub(super) const WORDS: &str = "One red house.";
pub(super) const EDITED: &str = "One green tent.";
pub(super) const NOTE: &str = "Whisper now.";
pub(super) const PERSONA: &str = "You have changed your mind about everything.";

const COLLABORATION: &str = "- {agent: gpt, turn: 1, reply: {message: One red house., handoff: {to: claude, task: Go on.}}}\n\
     - {agent: claude, turn: 2, reply: {message: Two., handoff: {to: gpt, task: Go on.}}}\n\
     - {reply: {message: Done., final: true}}\n";

pub(super) const CASES: [Case; 7] = [
    Case {
        format: "collaboration",
        agents: ["gpt", "claude"],
        replies: COLLABORATION,
        line: "gpt (message): One red house.",
        takes_notes: true,
    },
    Case {
        format: "room",
        agents: ["gpt", "claude"],
        replies: COLLABORATION,
        line: "gpt (message): One red house.",
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
        takes_notes: true,
    },
    Case {
        format: "discussion",
        agents: ["gpt", "claude"],
        replies: "- {agent: gpt, turn: 1, reply: One red house.}\n- {agent: gpt, reply: More.}\n- {reply: Less.}\n",
        line: "gpt (message): One red house.",
        takes_notes: true,
    },
    Case {
        format: "score",
        agents: ["gpt", "claude"],
        replies: "- {agent: gpt, turn: 1, reply: One red house.}\n- {agent: gpt, reply: More.}\n- {reply: Less.}\n",
        line: "gpt (message): One red house.",
        takes_notes: true,
    },
];

const CONFIG: &str = r#"
[chorus]
slots = ["gpt", "claude"]
[server]
models = ["script/other.yaml"]
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
    /// What can be changed in this format.
    pub(super) fn kinds(&self) -> &'static [Kind] {
        match self.takes_notes {
            true => &[Kind::Edit, Kind::Persona, Kind::Model, Kind::Note, Kind::NoteToOne],
            false => &[Kind::Edit, Kind::Persona, Kind::Model],
        }
    }

    /// The change as the command line takes it.
    pub(super) fn flags(&self, kind: Kind) -> Vec<String> {
        let [_, other] = self.agents;
        let flags = match kind {
            Kind::Edit => vec!["--edit", EDITED],
            Kind::Persona => return vec!["--persona".to_owned(), format!("{other}=persona.md")],
            Kind::Model => return vec!["--model".to_owned(), format!("{other}=script/other.yaml")],
            Kind::Note => vec!["--note", NOTE],
            Kind::NoteToOne => vec!["--note", NOTE, "--to", other],
        };
        flags.into_iter().map(str::to_owned).collect()
    }

    /// The change as a request has it.
    pub(super) fn body(&self, kind: Kind, at: u64) -> Value {
        let [_, other] = self.agents;
        let (field, change) = match kind {
            Kind::Edit => ("edit", json!(EDITED)),
            Kind::Persona => ("personas", json!({ other: PERSONA })),
            Kind::Model => ("models", json!({ other: "script/other.yaml" })),
            Kind::Note => ("notes", json!([{"text": NOTE}])),
            Kind::NoteToOne => ("notes", json!([{"text": NOTE, "to": other}])),
        };
        json!({"at": at, "speech": false, field: change})
    }

    /// The replies, at once or later than any test.
    pub(super) fn write(&self, folder: &Folder, is_held: bool) {
        let replies: String = self.replies.lines().map(|line| format!("  {}\n", line.trim())).collect();
        let replies = match is_held {
            true => "  - {delay: 120s, reply: ''}\n".to_owned(),
            false => replies,
        };
        folder.write("replies.yaml", &format!("log: calls.jsonl\nreplies:\n{replies}"));
        folder.write("other.yaml", &format!("log: others.jsonl\nreplies:\n{replies}"));
    }

    pub(super) fn folder(&self) -> Folder {
        let folder = Folder::new();
        folder.write("polylogue.toml", CONFIG);
        folder.write("persona.md", &format!("{PERSONA}\n"));
        std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
        folder.write(".claude/agents/alice.md", "# Alice\nShe is blunt.\n");
        folder.write(".claude/agents/bob.md", "# Bob\nHe means well.\n");
        self.write(&folder, false);
        folder
    }

    /// Plays it to its end, and tells its id.
    pub(super) fn play(&self, folder: &Folder) -> String {
        let scene = |bob: &str, more: &str| {
            let cast = format!("characters: [{bob}, alice]\ninitialSpeaker: bob\nmaxBeats: 4\n{more}");
            folder.write("scene.yaml", &format!("name: s\nprompt: They talk.\n{cast}"));
            vec!["scene", "scene.yaml"]
        };
        let args = match self.format {
            "chorus" => vec!["chorus", "What is a home?", "--no-speech"],
            "scene" => scene("bob", ""),
            // Nobody is there any more when it goes on.
            "person" => scene("{person: you, plays: bob}", "patience: 1\n"),
            "discussion" => {
                let who = ["--participant", "manager=gpt", "--participant", "specialist=claude"];
                [&["discuss", "new", "--title", "Houses"][..], &who, &["--max-rounds", "2"]].concat()
            }
            "score" => vec!["play", "round-robin", "Count.", "--set", "rounds=2"],
            "room" => return room(folder),
            _ => vec!["collaborate", "Count."],
        };
        let mut command = folder.command(&[&args[..], &["--json"]].concat());
        if self.format == "person" {
            folder.write("lines.txt", &format!("{WORDS}\n"));
            command.stdin(std::fs::File::open(folder.path("lines.txt")).unwrap());
        }
        let output = command.output().unwrap();
        let last = String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned();
        let result: Value =
            serde_json::from_str(&last).unwrap_or_else(|error| panic!("{}: {error}: {last}", self.format));
        assert!(output.status.success(), "{}: {last}", self.format);
        result["sessionId"].as_str().unwrap().to_owned()
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
