//! A person plays a character on a terminal: what they are shown, and what becomes of their keys.

use std::process::Command;

use super::Seen;
use crate::folder::Folder;

const SCENE: &str = "name: late\nprompt: Bob apologizes to Alice.\ncharacters: [alice, {person: you, plays: bob}]\n\
                     maxBeats: 3\npatience: 100\n";

const REPLIES: &str = r#"
replies:
  - {agent: alice, turn: 0, delay: 400ms, reply: '[TONE: cold] "You are late again."'}
  - {agent: alice, turn: 1, delay: 400ms, reply: '[TONE: warm] "Was it the train?"'}
  - {purpose: judge, turn: 0, reply: {progress: 0.4, goalReached: false, naturalEnd: false, characters: [
      {name: Bob, note: Look at her.}, {name: Alice, note: Be hard on him.}]}}
  - {purpose: judge, reply: {progress: 0.5, goalReached: false, naturalEnd: false}}
  - {reply: "[SILENT]"}
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("replies.yaml", REPLIES);
    folder.write("late.yaml", SCENE);
    std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
    folder.write(".claude/agents/alice.md", "# Alice - Manager\nShe is blunt, and has a secret.\n");
    folder.write(".claude/agents/bob.md", "# Bob - Developer\nHe means well.\n");
    folder
}

/// The program with a terminal of its own, as a shell starts it.
fn command(folder: &Folder) -> Command {
    let inner = folder.command(&PLAY);
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(inner.get_program()).args(inner.get_args()).current_dir(folder.path(""));
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

const PLAY: [&str; 4] = ["scene", "late.yaml", "--model", "script/replies.yaml"];

#[test]
fn a_person_plays_on_a_terminal() {
    let folder = folder();
    // The first line is begun before Alice answers and finished after: it must not be broken by her words.
    let steps = [
        ("Bob", ""),
        ("›", "I kn"),
        ("You are late again.", "ew it\u{7f}\u{7f}at once.\r"),
        ("Look at her.", ""),
        ("Was it the train?", "\r"),
        ("beat 2", ""),
        ("›", "*sits down*\n"),
    ];
    let seen = Seen::typing(command(&folder), 90, &steps);
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert!(seen.is_calm(), "{:?}", seen.raw);
    let text = seen.text();
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "You play Bob.",
        "He means well.",
        "Type a line and press Enter.",
        "I knew at once.",
        "Director, to Bob: Look at her.",
        "Bob (*sits down*)",
    ] {
        assert!(told.contains(expected), "{expected} is missing:\n{text}");
    }
    for private in ["Be hard on him", "has a secret", "40% there"] {
        assert!(!text.contains(private) && !seen.raw.contains(private), "{private} is not for Bob:\n{text}");
    }
    assert_eq!(text.matches("Type a line").count(), 1, "it is said once");
    // What was typed stands in no other line.
    assert!(!text.lines().any(|line| line.contains("You are late") && line.contains("I kn")), "{text}");
    let shown = folder.run(&["sessions", "show", "last"]);
    let mine: Vec<String> = shown.said().into_iter().filter(|line| line.starts_with("bob")).collect();
    assert_eq!(mine, ["bob (speak): I knew at once.", "bob (react): sits down"]);
}

#[test]
fn ctrl_c_stops_while_a_person_is_asked() {
    let folder = folder();
    let seen = Seen::typing(command(&folder), 90, &[("You are late again.", ""), ("›", "\u{3}")]);
    assert_eq!(seen.status, 130, "{}", seen.text());
    assert_eq!(folder.run(&["sessions", "show", "last"]).result()["reason"], "cancelled");
}

#[test]
fn ctrl_d_leaves_the_rest_to_the_others() {
    let folder = folder();
    let seen = Seen::typing(command(&folder), 90, &[("›", "\u{4}")]);
    assert_eq!(seen.status, 0, "{}", seen.text());
    let shown = folder.run(&["sessions", "show", "last"]);
    assert_eq!(shown.reason(), "max_beats_exceeded");
    assert!(shown.said().iter().all(|line| !line.starts_with("bob")));
}
