//! A recorded scene, looked at beat by beat.

use serde_json::{Value, json};

use super::{Theatre, scene};

fn played() -> Theatre {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(
        "  - {agent: bob, turn: 0, reply: '[TO: Alice, TONE: nervous] \"Well, I can explain it all.\"'}\n\
         \x20 - {agent: moderator, turn: 0, reply: {progress: 0.2, goalReached: false, naturalEnd: false, characters: [{name: Alice, note: Be short.}], relationships: [{from: Alice, to: Bob, change: -0.3}]}}\n\
         \x20 - {agent: alice, turn: 1, reply: '[INTERRUPT after \"I can explain\", TONE: angry] \"Do not.\"'}\n\
         \x20 - {agent: bob, turn: 1, delay: 300ms, reply: '[SILENT, *looks away*]'}\n\
         \x20 - {agent: bob, turn: 2, fail: {kind: refused, message: no}}\n\
         \x20 - {agent: moderator, turn: 2, fail: {kind: refused, message: busy}}\n",
    );
    let run = theatre.play(&scene("seen", "alice, bob", "initialSpeaker: bob\nmaxBeats: 3"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    theatre
}

#[test]
fn a_beat_is_shown_with_what_the_transcript_hides() {
    let theatre = played();
    for (beat, parts) in [
        (
            "0",
            vec![
                "note     to Bob (opening): You are Bob. Begin the scene.",
                "Bob [TO: Alice, TONE: nervous] \"Well, I can explain—\"",
                "judged   progress 20%; Alice and Bob -30",
                "between  Alice and Bob strained (-30)",
            ],
        ),
        (
            "1",
            vec![
                "note     to Alice (direction): Be short.",
                "Alice [INTERRUPT",
                "silent   Bob *looks away*",
                "moods    Alice upset, Bob",
                "cost     3 calls",
            ],
        ),
        (
            "2",
            vec![
                "[SYSTEM: Bob unable to respond]",
                "silent   Alice",
                "failed   Bob: the model refused: no",
                "unjudged the model refused: busy",
            ],
        ),
    ] {
        let shown = theatre.folder.output(&["sessions", "replay", "last", "--beat", beat]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        for part in parts {
            assert!(shown.contains(part), "{part} is not in beat {beat}:\n{shown}");
        }
    }
    let beyond = theatre.folder.run(&["sessions", "replay", "last", "--beat", "3"]);
    assert_eq!(beyond.status, 2);
    assert_eq!(beyond.lines[0]["error"]["message"], "there is no beat 3: the scene has beats 0 to 2");
}

#[test]
fn step_by_step_where_nobody_presses_enter_is_all_of_it() {
    let theatre = played();
    let shown = String::from_utf8(theatre.folder.output(&["sessions", "replay", "last", "--step"]).stdout).unwrap();
    let heads: Vec<&str> = shown.lines().filter(|line| line.starts_with("── ")).collect();
    assert_eq!(heads, ["── beat 0 ──", "── beat 1 ──", "── beat 2 ──"]);
    let beats = theatre.folder.run(&["sessions", "replay", "last", "--step"]).lines;
    assert_eq!(beats.iter().map(|beat| &beat["beat"]).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(beats[1]["silent"], json!([{"character": "bob", "nonverbal": ["looks away"]}]));
    assert_eq!(beats[0]["lines"][0]["cutAfter"], "I can explain");
}

#[test]
fn costs_are_shown_by_character_and_by_beat() {
    let theatre = played();
    let shown = String::from_utf8(theatre.folder.output(&["sessions", "show", "last"]).stdout).unwrap();
    for part in ["alice ", "bob ", "moderator ", "beat 0 ", "beat 2 "] {
        assert!(shown.lines().any(|line| line.starts_with(part) && line.contains(" call")), "{part}:\n{shown}");
    }
}

#[test]
fn what_has_no_beats_says_so() {
    let theatre = Theatre::new(&[]);
    theatre.folder.run(&["collaborate", "Say hello.", "--config", &crate::folder::example_config()]);
    let run = theatre.folder.run(&["sessions", "replay", "last", "--step"]);
    let message = run.lines[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(run.status == 2 && message.ends_with("is not a scene: it has no beats"), "{message}");
}

#[test]
fn a_replay_calls_nobody_and_writes_nothing() {
    let theatre = played();
    let (calls, before) = (theatre.calls(), theatre.transcript("seen"));
    std::fs::remove_dir_all(theatre.folder.path("data/scenes")).unwrap();
    let again = theatre.folder.run(&["sessions", "replay", "last"]);
    assert_eq!(theatre.calls(), calls);
    assert!(!theatre.folder.path("data/scenes").exists());
    let lines: Vec<&Value> = again.lines.iter().filter(|record| record["type"] == "line_spoken").collect();
    assert_eq!(lines.len(), 3);

    // A fork goes its own way, and leaves files of its own.
    let seq = again.lines.iter().find(|record| record["decision"] == "beat_begun").unwrap()["seq"].to_string();
    let forked = theatre.folder.run(&["sessions", "fork", "last", "--at", &seq, "--out", "elsewhere"]);
    assert_eq!((forked.status, forked.reason()), (0, "max_beats_exceeded"));
    let forked = std::fs::read_to_string(theatre.folder.path("elsewhere/seen/transcript.txt")).unwrap();
    assert_eq!(super::entries(&forked), super::entries(&before));
}
