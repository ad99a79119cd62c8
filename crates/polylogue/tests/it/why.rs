//! Why somebody said something, and the request behind everything, on the real binary.

use serde_json::{Value, json};

use crate::{
    folder::{Folder, example_config},
    stage::{play, request, stage},
};

fn journal(folder: &Folder, id: &str) -> Vec<Value> {
    folder.run(&["sessions", "replay", id]).lines
}

fn played() -> (Folder, String) {
    let folder = stage();
    let run = play(&folder, "the-apology", "Alice confronts Bob.", Some("office"));
    let id = run.result()["sessionId"].as_str().unwrap().to_owned();
    (folder, id)
}

#[test]
fn a_character_says_why_out_of_the_scene_which_stays_as_it_was() {
    let (folder, id) = played();
    let before = journal(&folder, &id);
    let why = folder.run(&["sessions", "why", &id, "1"]);
    assert_eq!((why.status, why.reason()), (0, "completed"), "{}", why.stderr);
    assert_eq!(
        why.said(),
        ["you (user): Why did you say that?", "bob (message): I could not bear her silence any longer."]
    );
    assert_eq!(why.result()["format"], "interview");
    assert_ne!(why.result()["sessionId"], json!(id));
    assert!(why.result()["costs"]["byAgent"]["bob"]["calls"] == 1, "it costs like any other");

    // It was asked with its own thread as it was then: head, prompt and reply.
    let asked = why.result()["sessionId"].as_str().unwrap();
    let (then, now) = (request(&folder, &id, "1"), request(&folder, asked, "2"));
    assert_eq!((&now["system"], &now["isExact"]), (&then["system"], &json!(true)));
    let thread = now["thread"].as_array().unwrap();
    assert_eq!(thread[0], json!({"role": "user", "text": then["prompt"]}));
    assert_eq!(thread[1], json!({"role": "assistant", "text": then["reply"]}));
    assert!(now["prompt"].as_str().unwrap().contains("You said: \"I am sorry.\""));

    // `last` is still the scene, and another question gets another answer.
    let afraid = folder.run(&["sessions", "why", "last", "1", "--question", "Were you afraid?"]);
    assert_eq!(afraid.said(), ["you (user): Were you afraid?", "bob (message): A little, yes."]);
    assert_eq!(journal(&folder, &id), before, "the scene is as it was");
    let text = String::from_utf8(folder.output(&["sessions", "why", &id, "1"]).stdout).unwrap();
    assert!(
        text.starts_with("you: Why did you say that?\n\nbob: I could not bear her silence any longer.\n"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_asked_is_said_and_what_fails_is_a_failure() {
    let (folder, id) = played();
    for (line, part) in [("99", "there is no line 99"), ("0", "there is no line 0")] {
        let run = folder.run(&["sessions", "why", &id, line]);
        assert_eq!((run.status, &run.lines[0]["error"]["code"]), (2, &json!("INVALID_REQUEST")));
        assert!(run.lines[0]["error"]["message"].as_str().unwrap().contains(part));
    }
    let empty = folder.run(&["sessions", "why", &id, "1", "--question", " "]);
    assert_eq!((empty.status, &empty.lines[0]["error"]["code"]), (2, &json!("INVALID_CONFIG")));

    let failed = folder.run(&["sessions", "why", &id, "2"]);
    assert_eq!((failed.status, failed.reason()), (1, "failed"));
    assert_eq!(failed.result()["errors"][0]["kind"], "unauthorized");
    let text = String::from_utf8(folder.output(&["sessions", "why", &id, "2"]).stdout).unwrap();
    assert!(text.contains("[alice could not answer: "), "{text}");

    // With the script gone, another model can be asked instead.
    std::fs::remove_file(folder.path("replies.yaml")).unwrap();
    let gone = folder.run(&["sessions", "why", &id, "1"]);
    assert_eq!((gone.status, &gone.lines[0]["error"]["code"]), (2, &json!("INVALID_CONFIG")));
    folder.write("other.yaml", "replies: [{reply: Because.}]");
    let other = folder.run(&["sessions", "why", &id, "1", "--model", "script/other.yaml"]);
    assert_eq!(other.said()[1], "bob (message): Because.");
}

#[test]
fn every_format_can_be_asked_why() {
    let folder = Folder::new();
    let run = folder.run(&["collaborate", "Write a fairy tale.", "--config", &example_config()]);
    let id = run.result()["sessionId"].as_str().unwrap();
    folder.write("because.yaml", "replies: [{purpose: explain, reply: It had to begin somewhere.}]");
    let why = folder.run(&["sessions", "why", id, "2", "--model", "script/because.yaml"]);
    assert_eq!(why.said()[1], "claude (message): It had to begin somewhere.");
    let router = folder.run(&["sessions", "why", id, "3", "--model", "script/because.yaml"]);
    assert_eq!(router.status, 2);
}

#[test]
fn every_request_can_be_shown_also_where_nothing_was_said() {
    let (folder, id) = played();
    let records = journal(&folder, &id);
    let mut purposes = Vec::new();
    for record in records.iter().filter(|record| record["type"] == "answered" || record["decision"] == "judged") {
        let seq = record["seq"].to_string();
        let shown = folder.run(&["sessions", "show", &id, "--at", &seq]).lines[0].clone();
        assert_eq!(shown["isExact"], json!(true), "record {seq}");
        if record["type"] == "answered" {
            assert_eq!((&shown["ask"], &shown["reply"]), (&record["ask"], &record["text"]));
        }
        purposes.push(shown["ask"]["purpose"].as_str().unwrap().to_owned());
    }
    for purpose in ["act", "judge", "remember"] {
        assert!(purposes.iter().any(|shown| shown == purpose), "{purposes:?}");
    }
    let text = String::from_utf8(folder.output(&["sessions", "show", &id, "--ask", "1"]).stdout).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("act 0 of bob on script/") && first.ends_with(" · exactly as it was sent"), "{first}");
    for at in ["0", "999", "1"] {
        let none = folder.run(&["sessions", "show", &id, "--at", at]);
        assert_eq!((none.status, &none.lines[0]["error"]["code"]), (2, &json!("INVALID_REQUEST")), "{at}");
    }
}
