//! Goals, messages and scenes from standard input and from files.

use std::{io::Write, process::Stdio};

use serde_json::{Value, json};

use crate::{
    folder::{Folder, Run},
    stage::stage,
};

/// Runs with this on standard input.
fn with_input(folder: &Folder, args: &[&str], input: &str) -> Run {
    let mut command = folder.command(&[args, &["--json"]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Run { status: output.status.code().unwrap(), lines, stderr: String::from_utf8(output.stderr).unwrap() }
}

#[test]
fn what_is_said_comes_from_standard_input_or_a_file() {
    let folder = Folder::new();
    folder.write("replies.yaml", "replies: [{purpose: discuss, reply: Well.}, {reply: {message: Done., final: true}}]");
    folder.write("goal.txt", "\u{feff}Two lines\nof a goal.\n");
    let model = ["--model", "script/replies.yaml", "--no-speech"];
    let said = |run: &Run| run.result()["lines"][0]["text"].clone();
    let text = json!("Two lines\nof a goal.");
    for command in ["collaborate", "chorus"] {
        assert_eq!(said(&folder.run(&[&[command, "@goal.txt"], &model[..]].concat())), text, "{command}");
        let piped = with_input(&folder, &[&[command, "-"], &model[..]].concat(), "Two lines\nof a goal.\n");
        assert_eq!(said(&piped), text, "{command}");
        let literal = folder.run(&[&[command, " @goal.txt"], &model[..]].concat());
        assert_eq!(said(&literal), json!("@goal.txt"), "{command}");
    }
    let new = ["discuss", "new", "--title", "T", "--participant", "user", "--participant", "manager=gpt"];
    folder.run(&[&new[..], &model].concat());
    let run = with_input(&folder, &["discuss", "say", "last", "-"], "Two lines\nof a goal.\n");
    assert_eq!(said(&run), text);
    let missing = folder.run(&[&["collaborate", "@none.txt"], &model[..]].concat());
    let message = missing.lines[0]["error"]["message"].as_str().unwrap();
    assert_eq!(missing.status, 2);
    assert!(
        message.contains("@none.txt") && message.contains("no such file") && message.contains("space"),
        "{message}"
    );
}

#[test]
fn a_scene_comes_from_standard_input() {
    let yaml = "name: the-apology\nprompt: They talk.\ncharacters: [alice, bob]\ninitialSpeaker: bob\nmaxBeats: 5\n";
    let json = json!({"name": "the-apology", "prompt": "They talk.", "characters": ["alice", "bob"], "initialSpeaker": "bob", "maxBeats": 5});
    for text in [yaml, &json.to_string()] {
        let run = with_input(&stage(), &["scene", "-", "--model", "script/replies.yaml"], text);
        assert_eq!((run.status, run.reason()), (0, "goal_achieved"), "{text}: {}", run.stderr);
    }
}

#[test]
fn words_with_a_colon_in_yaml_get_a_hint_to_quote_them() {
    let folder = stage();
    folder.write("scene.yaml", "name: talk\nprompt: They talk. Goal: peace\ncharacters: [alice, bob]\n");
    let run = folder.run(&["scene", "scene.yaml", "--model", "script/replies.yaml"]);
    let message = run.lines[0]["error"]["message"].as_str().unwrap();
    assert_eq!(run.status, 2);
    assert!(message.contains("prompt: \"They talk. Goal: peace\""), "{message}");
}

#[test]
fn the_last_conversation_is_no_question_about_one() {
    let folder = stage();
    let played = crate::stage::play(&folder, "the-apology", "Alice confronts Bob.", None);
    let id = &played.result()["sessionId"];
    let why = folder.run(&["sessions", "why", "last", "1"]);
    assert_eq!((why.status, &why.result()["format"]), (0, &json!("interview")));
    let shown = folder.run(&["sessions", "show", "last"]);
    assert_eq!(&shown.result()["sessionId"], id);
    let listed: Vec<Value> = folder.run(&["sessions", "list"]).lines;
    assert_eq!(listed[0]["format"], "interview", "it is listed all the same");
}
