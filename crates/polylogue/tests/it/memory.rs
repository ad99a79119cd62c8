//! Memory across the scenes of one story, on the real binary: what was remembered, brought along and forgotten.

use serde_json::{Value, json};

use crate::{
    folder::Folder,
    stage::{PROMISE, play, request, stage},
};

const LUNCH: &str = "We had lunch, and nobody mentioned work.";

fn remembered(folder: &Folder, args: &[&str]) -> Vec<Value> {
    let run = folder.run(&[&["sessions", "memory"], args].concat());
    assert_eq!(run.status, 0, "{:?}", run.lines);
    run.lines
}

fn texts(memories: &[Value]) -> Vec<&str> {
    memories.iter().map(|memory| memory["text"].as_str().unwrap()).collect()
}

/// The fixed head of Bob's first request in the last scene.
fn head(folder: &Folder) -> String {
    let request = request(folder, "last", "1");
    assert_eq!((&request["ask"]["agent"], &request["isExact"]), (&json!("bob"), &json!(true)));
    request["system"].as_str().unwrap().to_owned()
}

#[test]
fn what_a_character_remembers_is_in_its_next_scene_until_it_is_forgotten() {
    let folder = stage();
    let first = play(&folder, "the-apology", "Alice confronts Bob.", Some("office"));
    assert!(!head(&folder).contains("WHAT YOU REMEMBER"), "there was nothing yet");
    play(&folder, "lunch", "Bob and Alice meet again.", Some("office"));
    let text = head(&folder);
    assert!(text.contains(&format!("WHAT YOU REMEMBER FROM BEFORE:\n- {PROMISE}\n")), "{text}");
    assert!(!text.contains("I forgave Bob."), "another's memory is another's: {text}");

    // Another story knows nothing of it, and a scene that is to have no memory neither.
    play(&folder, "elsewhere", "Bob is a pirate.", Some("pirates"));
    assert!(!head(&folder).contains("Henderson"));
    play(&folder, "alone", "Bob and Alice meet.", None);
    assert!(!head(&folder).contains("Henderson"));

    let all = remembered(&folder, &["bob", "--story", "office"]);
    assert_eq!(texts(&all), [PROMISE, LUNCH]);
    assert_eq!(
        (&all[0]["number"], &all[0]["scene"], &all[0]["story"]),
        (&json!(1), &json!("the-apology"), &json!("office"))
    );
    assert_eq!(all[0]["sessionId"], first.result()["sessionId"]);
    assert_eq!(texts(&remembered(&folder, &["Bob"])).len(), 3, "as it is called in the scene, and in every story");
    let shown = String::from_utf8(folder.output(&["sessions", "memory", "bob", "--story", "office"]).stdout).unwrap();
    assert!(shown.starts_with("  1  the-apology · office · 20") && shown.contains(PROMISE), "{shown}");

    let gone = remembered(&folder, &["bob", "--story", "office", "--forget", "1"]);
    assert_eq!(gone, [json!({"type": "forgotten", "memories": 1})]);
    assert_eq!(texts(&remembered(&folder, &["bob", "--story", "office"])), [LUNCH]);
    play(&folder, "dinner", "Alice asks Bob about the Henderson deadline.", Some("office"));
    let text = head(&folder);
    assert!(text.contains(LUNCH) && !text.contains("Henderson deadline and promised"), "{text}");

    remembered(&folder, &["bob", "--story", "office", "--forget", "all"]);
    play(&folder, "night", "Alice asks Bob about the Henderson deadline.", Some("office"));
    let text = head(&folder);
    assert!(!text.contains("WHAT YOU REMEMBER"), "{text}");
    assert_eq!(texts(&remembered(&folder, &["bob", "--story", "office"])), [LUNCH], "and life goes on");
    assert_eq!(texts(&remembered(&folder, &["alice", "--story", "office"])).len(), 4);
}

#[test]
fn a_fork_does_not_remember_twice() {
    let folder = stage();
    let run = play(&folder, "the-apology", "Alice confronts Bob.", Some("office"));
    let id = run.result()["sessionId"].as_str().unwrap();
    let asked = run.lines.iter().find(|record| record["type"] == "asked" && record["ask"]["turn"] == 1).unwrap();
    let at = (asked["seq"].as_u64().unwrap() - 1).to_string();
    let fork = folder.run(&["sessions", "fork", id, "--at", &at, "--model", "script/replies.yaml"]);
    assert_eq!(fork.reason(), "goal_achieved");
    let all = remembered(&folder, &["bob"]);
    assert_eq!(texts(&all), [PROMISE, PROMISE], "each went its own way to its end");
    play(&folder, "lunch", "They meet again.", Some("office"));
    assert_eq!(head(&folder).matches(PROMISE).count(), 1, "the same twice comes to mind once");
}

#[test]
fn what_is_not_there_cannot_be_forgotten() {
    let folder = stage();
    let none = String::from_utf8(folder.output(&["sessions", "memory", "bob"]).stdout).unwrap();
    assert_eq!(none, "bob remembers nothing.\n");
    play(&folder, "the-apology", "Alice confronts Bob.", Some("office"));
    for (which, status) in [("0", 2), ("2", 2), ("some", 2)] {
        let run = folder.run(&["sessions", "memory", "bob", "--forget", which]);
        assert_eq!((run.status, &run.lines[0]["error"]["code"]), (status, &json!("INVALID_REQUEST")), "{which}");
    }
    assert_eq!(texts(&remembered(&folder, &["bob"])), [PROMISE]);
}
