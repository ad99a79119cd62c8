//! Scenes on the real binary: the cases of the source documents by their names, the examples, and what is written.

mod bad_files;
mod cases;
mod crash;
mod examples;
mod folders;
mod http;
mod person;
mod replay;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::folder::{Folder, Run};

/// A folder with characters, and a scene that a script plays.
pub(crate) struct Theatre {
    pub(crate) folder: Folder,
}

/// What the moderator thinks of a beat in which nothing is decided.
const GOES_ON: &str = "  - {agent: moderator, reply: {progress: 0.3, goalReached: false, naturalEnd: false}}\n";

impl Theatre {
    pub(crate) fn new(characters: &[&str]) -> Theatre {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
        for name in characters {
            let title = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
            folder.write(&format!(".claude/agents/{name}.md"), &format!("# {title} - Somebody\n\nIs {title}.\n"));
        }
        Theatre { folder }
    }

    /// The replies, one in a row; where none fits, a character is silent and the scene goes on.
    pub(crate) fn replies(&self, replies: &str) {
        let replies = format!("log: calls.jsonl\nreplies:\n{replies}{GOES_ON}  - {{reply: '[SILENT]'}}\n");
        self.folder.write("replies.yaml", &replies);
    }

    /// Plays a scene file to its end.
    pub(crate) fn play(&self, scene: &str) -> Run {
        self.folder.write("scene.yaml", scene);
        self.folder.run(&["scene", "scene.yaml", "--model", "script/replies.yaml"])
    }

    pub(crate) fn transcript(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path("data/scenes").join(name).join("transcript.txt")).unwrap()
    }

    pub(crate) fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path("data/scenes").join(name).join("debug.log")).unwrap()
    }

    pub(crate) fn metadata(&self, name: &str) -> Value {
        let path = self.folder.path("data/scenes").join(name).join("metadata.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// How many calls reached the script.
    pub(crate) fn calls(&self) -> usize {
        std::fs::read_to_string(self.folder.path("calls.jsonl")).unwrap_or_default().lines().count()
    }
}

/// A scene between these.
pub(crate) fn scene(name: &str, characters: &str, more: &str) -> String {
    format!("name: {name}\nprompt: Bob apologizes, Alice accepts\ncharacters: [{characters}]\n{more}\n")
}

/// Only the entries of a transcript, without heading and figures.
pub(crate) fn entries(transcript: &str) -> Vec<&str> {
    let (_, rest) = transcript.split_once("[SCENE START]\n").unwrap();
    let (entries, _) = rest.split_once("\n---\n").unwrap();
    entries.split("\n\n").map(str::trim).filter(|entry| !entry.is_empty() && !entry.starts_with("[Setting")).collect()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenes").canonicalize().unwrap()
}
