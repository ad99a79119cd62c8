//! A folder with two characters and a scripted model that plays them.

use serde_json::Value;

use crate::folder::{Folder, Run};

/// What Bob remembers of the first scene.
pub(crate) const PROMISE: &str = "I missed the Henderson deadline and promised Alice weekly check-ins.";

/// What the characters and the moderator say in every scene, and what they remember of each.
const REPLIES: &str = r#"
log: calls.jsonl
replies:
  - {purpose: explain, contains: "Were you afraid", reply: "A little, yes."}
  - {purpose: explain, contains: "I am sorry", reply: "  I could not bear her silence any longer. "}
  - {purpose: explain, fail: {kind: unauthorized, times: 9}, reply: "never"}
  - {purpose: remember, agent: bob, contains: the-apology, reply: "I missed the Henderson deadline and promised Alice weekly check-ins."}
  - {purpose: remember, agent: bob, reply: "We had lunch, and nobody mentioned work."}
  - {purpose: remember, reply: "I forgave Bob."}
  - {purpose: judge, turn: 0, reply: {progress: 0.2, goalReached: false, naturalEnd: false}}
  - {purpose: judge, reply: {evidence: [{part: 1, line: It is forgotten.}], progress: 1.0, goalReached: true, naturalEnd: true}}
  - {agent: bob, turn: 0, reply: '[TO: Alice, TONE: remorseful] "I am sorry."'}
  - {agent: alice, turn: 1, reply: '[TO: Bob, TONE: warm] "It is forgotten."'}
  - {reply: "[SILENT]"}
"#;

pub(crate) fn stage() -> Folder {
    let folder = Folder::new();
    folder.write("replies.yaml", REPLIES);
    std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
    folder.write(".claude/agents/alice.md", "# Alice - Manager\nShe is blunt.\n");
    folder.write(".claude/agents/bob.md", "# Bob - Developer\nHe means well.\n");
    folder
}

/// Plays a scene of this name to its end.
pub(crate) fn play(folder: &Folder, name: &str, prompt: &str, story: Option<&str>) -> Run {
    let mut scene = serde_json::json!({
        "name": name, "prompt": prompt, "characters": ["alice", "bob"], "initialSpeaker": "bob", "maxBeats": 5});
    if let Some(story) = story {
        scene["story"] = story.into();
    }
    folder.write("scene.json", &scene.to_string());
    let run = folder.run(&["scene", "scene.json", "--model", "script/replies.yaml"]);
    assert_eq!((run.status, run.reason()), (0, "goal_achieved"), "{}", run.stderr);
    run
}

/// What a line under `--json` has to say of a request.
pub(crate) fn request(folder: &Folder, id: &str, line: &str) -> Value {
    let run = folder.run(&["sessions", "show", id, "--ask", line]);
    assert_eq!(run.status, 0, "{:?}", run.lines);
    run.lines[0].clone()
}
