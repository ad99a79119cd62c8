//! A story of two scenes on the real binary: the second begins with what the first has left, faded by the time between.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    folder::{Folder, Run},
    stage::request,
};

const WEEK_MS: i64 = 7 * 24 * 3_600_000;

const REPLIES: &str = r#"
log: calls.jsonl
replies:
  - {purpose: remember, agent: bob, reply: "I promised Alice weekly check-ins."}
  - {purpose: remember, reply: "Bob lied to me about the deadline."}
  - {purpose: judge, turn: 0, reply: {progress: 0.2, goalReached: false, naturalEnd: false, relationships: [{from: Alice, to: Bob, change: -0.8}]}}
  - {purpose: judge, reply: {evidence: [{part: 1, line: You knew on the third.}], progress: 1.0, goalReached: true, naturalEnd: true}}
  - {agent: bob, turn: 0, reply: '[TO: Alice, TONE: remorseful] "I am sorry."'}
  - {agent: alice, turn: 1, reply: '[TO: Bob, TONE: furious] "You knew on the third."'}
  - {reply: "[SILENT]"}
"#;

fn office() -> Folder {
    let folder = Folder::new();
    folder.write("replies.yaml", REPLIES);
    std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
    folder.write(".claude/agents/alice.md", "# Alice - Manager\nShe is blunt.\n");
    folder.write(".claude/agents/bob.md", "# Bob - Developer\nHe means well.\n");
    folder
}

fn play(folder: &Folder, name: &str) -> Run {
    let scene = json!({"name": name, "prompt": "Alice confronts Bob, and he says that he is sorry.",
        "characters": ["alice", "bob"], "initialSpeaker": "bob", "maxBeats": 5, "story": "office"});
    folder.write("scene.json", &scene.to_string());
    let run = folder.run(&["scene", "scene.json", "--model", "script/replies.yaml"]);
    assert_eq!((run.status, run.reason()), (0, "goal_achieved"), "{}", run.stderr);
    run
}

/// What the scene was set up to begin with.
fn brought(run: &Run) -> Value {
    let started = run.lines.iter().find(|record| record["type"] == "started").expect("it began");
    started["setup"]["format"]["feelings"].clone()
}

/// What everybody felt when the scene was over.
fn left(run: &Run) -> (i64, i64) {
    let ended = run.lines.iter().rfind(|record| record["decision"] == "beat_ended").expect("beats");
    let alice = ended["moods"]["alice"]["valence"].as_i64().unwrap();
    (alice, -80)
}

/// All that was recorded so far is a week older.
fn a_week_passes(folder: &Folder) {
    let store = Connection::open(folder.path("data/polylogue.db")).unwrap();
    store.execute("UPDATE journal SET at = at - ?1", [WEEK_MS]).unwrap();
}

fn story(folder: &Folder, name: &str) -> Value {
    let run = folder.run(&["story", "show", name]);
    assert_eq!(run.status, 0, "{:?}", run.lines);
    run.lines[0].clone()
}

#[test]
fn the_second_scene_begins_with_what_the_first_has_left() {
    let folder = office();
    let first = play(&folder, "the-deadline");
    assert_eq!(brought(&first), Value::Null, "there was nothing yet");
    let (alice, bond) = left(&first);
    assert!(alice < -400, "she is furious: {alice}");

    a_week_passes(&folder);
    let second = play(&folder, "a-week-later");
    let feelings = brought(&second);
    let half = |value: i64| value / 2..=value / 2 + 2;
    let valence = feelings["moods"]["alice"]["valence"].as_i64().unwrap();
    assert!(half(alice).contains(&valence), "{valence} is half of {alice}");
    let value = feelings["relations"][0]["value"].as_i64().unwrap();
    assert!(half(bond).contains(&value), "{value} is half of {bond}");
    assert_eq!(feelings["relations"][0]["between"], json!(["alice", "bob"]));
    // Bob is told so before he says a word, and the moderator reads it too.
    let bob = request(&folder, "last", "1");
    let prompt = bob["prompt"].as_str().unwrap();
    assert!(prompt.contains("FEELINGS: ") && prompt.contains("you and Alice are strained"), "{prompt}");
    assert_eq!(bob["isExact"], json!(true));

    // What is left is data: a fork begins with the same, whenever it is made.
    a_week_passes(&folder);
    let id = second.result()["sessionId"].as_str().unwrap();
    let fork = folder.run(&["sessions", "fork", id, "--at", "1", "--model", "script/replies.yaml"]);
    assert_eq!(fork.status, 0, "{}", fork.stderr);
    assert_eq!(brought(&folder.run(&["sessions", "replay", "last"])), feelings);
}

#[test]
fn the_story_tells_who_remembers_what_and_feels_what_for_whom() {
    let folder = office();
    play(&folder, "the-deadline");
    a_week_passes(&folder);
    play(&folder, "a-week-later");
    let told = story(&folder, "office");
    let scenes = told["scenes"].as_array().unwrap();
    assert_eq!(scenes.iter().map(|scene| scene["scene"].clone()).collect::<Vec<_>>(), ["the-deadline", "a-week-later"]);
    assert_eq!(scenes[0]["began"], json!({"moods": [], "relationships": []}));
    assert_eq!(scenes[0]["ended"]["relationships"][0]["word"], "hostile");
    assert_eq!(scenes[1]["began"]["relationships"][0]["names"], json!(["Alice", "Bob"]));
    assert_eq!(scenes[0]["memories"].as_array().unwrap().len(), 2);
    assert!(told["now"]["relationships"][0]["value"].as_i64().unwrap() < -80, "both scenes together");

    let shown = String::from_utf8(folder.output(&["story", "show", "office"]).stdout).unwrap();
    for line in [
        "office · 2 scenes",
        "1. the-deadline",
        "Alice and Bob are hostile (-80)",
        "Bob remembers",
        "In a scene that began now",
    ] {
        assert!(shown.contains(line), "{line} is not in:\n{shown}");
    }
    let none = folder.run(&["story", "show", "nowhere"]);
    assert_eq!((none.status, &none.lines[0]["error"]["code"]), (1, &json!("NOT_FOUND")));
}

#[test]
fn who_forgets_a_scene_forgets_what_it_felt() {
    let folder = office();
    play(&folder, "the-deadline");
    assert_eq!(folder.run(&["sessions", "memory", "alice", "--forget", "all"]).status, 0);
    let told = story(&folder, "office");
    let moods = told["now"]["moods"].as_array().unwrap();
    assert!(moods.iter().all(|mood| mood["character"] != "alice"), "{moods:?}");
    assert_eq!(told["now"]["relationships"], json!([]), "what is between two is left while both remember");
    let second = play(&folder, "again");
    assert!(brought(&second)["moods"]["alice"].is_null() && brought(&second)["relations"].is_null());
    assert!(!brought(&second)["moods"]["bob"].is_null());
}
