//! Scores as those who write and play them meet them.

mod bounds;
mod check;
mod crash;
mod examples;
mod person;
mod shown;

use crate::folder::Folder;

/// A folder with these agents, a script of these replies, and scores by their names.
fn folder(agents: &[&str], replies: &str, scores: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    let agent = |name: &&str| format!("[agents.\"{name}\"]\nmodel = \"script/replies.yaml\"\n");
    folder.write("polylogue.toml", &agents.iter().map(agent).collect::<String>());
    folder.write("replies.yaml", &format!("log: calls.jsonl\nreplies:\n{replies}"));
    std::fs::create_dir(folder.path("scores")).unwrap();
    for (name, text) in scores {
        folder.write(&format!("scores/{name}.yaml"), text);
    }
    folder
}
