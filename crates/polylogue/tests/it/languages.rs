//! Scenes in other languages on the real binary: the language is found, tones become English words, and moods move.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::folder::{Folder, Run, example};

fn played(folder: &Folder, name: &str) -> Run {
    let (scene, script) = (example(&format!("scenes/{name}.yaml")), example(&format!("scenes/{name}.replies.yaml")));
    let (agents, model) = (example("scenes/agents"), format!("script/{script}"));
    let run = folder.run(&["scene", &scene, "--agents", &agents, "--model", &model]);
    assert_eq!((run.status, run.reason()), (0, "goal_achieved"), "{}", run.stderr);
    run
}

/// The folder that a scene has left, found by its only transcript.
fn files(folder: &Folder) -> (Value, String) {
    let scene = std::fs::read_dir(folder.path("data/scenes")).unwrap().next().unwrap().unwrap().path();
    let text = |name: &str| std::fs::read_to_string(scene.join(name)).unwrap();
    (serde_json::from_str(&text("metadata.json")).unwrap(), text("transcript.txt"))
}

#[test]
fn a_german_and_a_japanese_scene_move_moods() {
    for (name, code, language, tones, said) in [
        (
            "die-entschuldigung",
            "de",
            "German",
            ["cold", "nervous", "angry", "defensive", "hurt", "ashamed", "sad", "remorseful", "gentle", "relieved"],
            "Es tut mir leid, Katrin.",
        ),
        (
            "owabi",
            "ja",
            "Japanese",
            ["quiet", "nervous", "angry", "urgent", "sad", "ashamed", "tearful", "remorseful", "gentle", "relieved"],
            "黙っていて、ごめんなさい。",
        ),
    ] {
        let folder = Folder::new();
        let run = played(&folder, name);
        let started = run.lines.iter().find(|record| record["type"] == "started").unwrap();
        assert_eq!(started["setup"]["format"]["language"], code, "it is found, and recorded");

        let lines = run.result()["lines"].as_array().unwrap();
        let heard: Vec<&str> = lines.iter().filter_map(|line| line["tone"].as_str()).collect();
        assert_eq!(heard, tones, "{name}");
        assert!(lines.iter().any(|line| line["text"].as_str().unwrap().contains(said)), "{name}");

        let (metadata, transcript) = files(&folder);
        let dynamics = metadata["dynamics"].as_array().unwrap();
        for character in metadata["characters"].as_array().unwrap() {
            let id = character["id"].as_str().unwrap();
            let words: BTreeSet<&str> = dynamics.iter().filter_map(|beat| beat["moods"][id]["word"].as_str()).collect();
            assert!(words.len() >= 3, "{name}: {id} feels only {words:?}");
        }
        assert!(metadata["moods"].as_object().unwrap().len() == 2, "{metadata}");
        assert!(transcript.contains(said) && transcript.contains("TONE: angry]"), "{transcript}");
        // What is cut off is cut where it was said.
        assert!(lines.iter().any(|line| line["cutAfter"].is_string()), "{name}: somebody was interrupted");

        let shown = folder.run(&["sessions", "show", "last", "--ask", "1"]);
        let system = shown.lines[0]["system"].as_str().unwrap();
        let rule = format!("Your dialog and actions are in {language}.");
        assert!(system.contains(&rule) && system.contains("TONE is always one English word"), "{system}");
        assert_eq!(shown.lines[0]["isExact"], json!(true));
    }
}

#[test]
fn a_language_that_is_named_counts() {
    let folder = Folder::new();
    folder.write("replies.yaml", "replies:\n  - {agent: moderator, reply: {evidence: [{part: 1, line: 'Ja.'}], progress: 1, goalReached: true, naturalEnd: true}}\n  - {reply: '[TONE: calm] \"Ja.\"'}\n");
    std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
    for name in ["ann", "ben"] {
        folder.write(&format!(".claude/agents/{name}.md"), &format!("# {name}\nThey mean well, and that is all.\n"));
    }
    for (written, recorded) in [
        (json!("German"), json!("de")),
        (json!("de-AT"), json!("de")),
        (json!("the dialect of Bern"), json!("the dialect of Bern")),
        (Value::Null, json!("en")),
    ] {
        let mut scene = json!({"name": "talk", "prompt": "They meet at the station, and she waits for him.",
            "characters": ["ann", "ben"], "maxBeats": 3});
        if !written.is_null() {
            scene["language"] = written.clone();
        }
        folder.write("scene.json", &scene.to_string());
        let run = folder.run(&["scene", "scene.json", "--model", "script/replies.yaml"]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let started = run.lines.iter().find(|record| record["type"] == "started").unwrap();
        assert_eq!(started["setup"]["format"]["language"], recorded, "{written}");
    }
}
