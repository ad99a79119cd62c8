//! The examples as people run them: what they write is what is stored, and it reads back.

use polylogue_core::{
    Event, Record, Timestamp,
    format::scene::{PlayedScene, SceneText, read_transcript},
    id::Seq,
};
use serde_json::{Value, json};

use super::{Theatre, entries, examples};
use crate::folder::Run;

/// Plays an example; it has a folder of its own for what it writes.
fn play(theatre: &Theatre, file: &str) -> Run {
    let place = |name: &str| examples().join(name).to_str().unwrap().to_owned();
    let stem = file.split('.').next().unwrap();
    let script = format!("script/{}", place(&format!("{stem}.replies.yaml")));
    let run = theatre.folder.run(&["scene", &place(file), "--agents", &place("agents"), "--model", &script]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run
}

/// What a run wrote reads back as its journal has it, and so does what is exported later.
fn reads_back(theatre: &Theatre, run: &Run, name: &str) {
    let played = PlayedScene::of(&journal(run)).unwrap();
    let transcript = theatre.transcript(name);
    assert_eq!(read_transcript(&transcript), Ok(SceneText::of(&played.conversation).unwrap()), "{name}");
    let exported = theatre.folder.output(&["sessions", "export", "last", "--as", "txt"]);
    assert_eq!(String::from_utf8(exported.stdout).unwrap(), transcript, "{name}");
}

/// A transcript without what differs from run to run: times, and the tokens that are estimated from prompts.
fn without_times(transcript: &str) -> String {
    let mask = |line: &str| {
        let keys = ["GENERATED: ", "- Processing time: ", "- Total tokens: "];
        let key = keys.iter().find(|key| line.starts_with(**key));
        key.map_or(line.to_owned(), |key| format!("{key}…"))
    };
    transcript.lines().map(mask).collect::<Vec<_>>().join("\n") + "\n"
}

/// The journal of a run, as it was printed.
fn journal(run: &Run) -> Vec<Record> {
    let records = run.lines.iter().filter(|line| line["type"] != "result").map(|line| {
        let (seq, at) = (line["seq"].as_u64().unwrap(), line["at"].as_u64().unwrap());
        Record { seq: Seq(seq), at: Timestamp(at), event: Event::decode(&line.to_string()).unwrap() }
    });
    records.collect()
}

#[test]
fn the_apology() {
    let theatre = Theatre::new(&[]);
    let run = play(&theatre, "the-apology.yaml");
    let stored = examples().join("the-apology.expected.txt");
    let transcript = theatre.transcript("the-apology");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&stored, &transcript).unwrap();
    }
    let expected = std::fs::read_to_string(stored).unwrap();
    assert_eq!(without_times(&transcript), without_times(&expected));

    reads_back(&theatre, &run, "the-apology");

    assert_eq!(run.reason(), "goal_achieved");
    let metadata = theatre.metadata("the-apology");
    assert!((10..=15).contains(&metadata["totalBeats"].as_u64().unwrap()));
    assert!(
        transcript.contains("\"Look, I can explain—\"\n\nAlice [INTERRUPT after \"I can explain\""),
        "{transcript}"
    );
    assert!(transcript.contains("[EVENT: "));
    let said = |who: &str, words: &str| {
        let is_it = |line: &Value| line["speaker"] == who && line["text"].as_str().unwrap().contains(words);
        run.result()["lines"].as_array().unwrap().iter().any(is_it)
    };
    assert!(said("bob", "I'm sorry, Alice") && said("alice", "I accept") && said("alice", "Weekly check-ins"));
    // What is cut is whole in the journal.
    assert!(said("bob", "legal sat on the data agreement"));

    // They part otherwise than they met.
    let between = |beat: usize| metadata["dynamics"][beat]["relationships"][0]["value"].as_i64().unwrap();
    assert!(between(3) <= -20 && between(12) >= 20, "{} to {}", between(3), between(12));
    assert_eq!(metadata["relationships"][0]["between"], json!(["alice", "bob"]));
    let moods: Vec<&str> =
        (0..13).map(|beat| metadata["dynamics"][beat]["moods"]["alice"]["word"].as_str().unwrap()).collect();
    assert!(moods.contains(&"upset") && moods.contains(&"calm"), "{moods:?}");
}

#[test]
fn example_1_simple_2_character_scene() {
    let theatre = Theatre::new(&[]);
    let run = play(&theatre, "quick-apology.json");
    let metadata = theatre.metadata("quick-apology");
    for (field, value) in [
        ("success", json!(true)),
        ("totalBeats", json!(4)),
        ("goalAchieved", json!(true)),
        ("characterCount", json!(2)),
    ] {
        assert_eq!(metadata[field], value, "{field}");
    }
    assert_eq!(run.said().len(), 4);
    reads_back(&theatre, &run, "quick-apology");
}

#[test]
fn example_2_3_character_scene_with_interruption() {
    let theatre = Theatre::new(&["alice", "bob", "charlie"]);
    theatre.replies(
        "  - {agent: alice, turn: 0, reply: '[TO: Bob, TONE: angry] \"You let the project fail.\"'}\n\
         \x20 - {agent: bob, turn: 1, reply: '[TO: Alice, TONE: defensive] \"I was waiting for the numbers from Charlie.\"'}\n\
         \x20 - {agent: alice, turn: 1, delay: 400ms, reply: '[INTERRUPT after \"I was waiting\", TONE: furious] \"Of course you were!\"'}\n\
         \x20 - {agent: charlie, turn: 2, reply: '[TONE: calm] \"Can we slow down?\"'}\n\
         \x20 - {agent: charlie, turn: 3, reply: '[TONE: calm] \"Please, both of you.\"'}\n\
         \x20 - {agent: bob, turn: 3, delay: 400ms, reply: '[TONE: tense] \"Fine with me.\"'}\n\
         \x20 - {agent: alice, turn: 3, delay: 800ms, reply: '[TONE: stern] \"Then begin, Bob.\"'}\n",
    );
    theatre.play(
        "name: heated-discussion\nprompt: Alice confronts Bob about project failure. Charlie mediates.\n\
         characters: [alice, bob, charlie]\ninitialSpeaker: alice\nmaxBeats: 4\n",
    );
    let transcript = theatre.transcript("heated-discussion");
    let wanted = [
        "Alice [TO: Bob, TONE: angry] \"You let the project fail.\"",
        "Bob [TO: Alice, TONE: defensive] \"I was waiting—\"",
        "Alice [INTERRUPT after \"I was waiting\", TONE: furious] \"Of course you were!\"",
        "Charlie [TONE: calm] \"Can we slow down?\"",
        "Charlie [TONE: calm] \"Please, both of you.\"",
        "Bob [TONE: tense] \"Fine with me.\"",
        "Alice [TONE: stern] \"Then begin, Bob.\"",
        "[SCENE END - Maximum length reached]",
    ];
    assert_eq!(entries(&transcript), wanted);
}

#[test]
fn example_3_character_failure_mid_scene() {
    let theatre = Theatre::new(&[]);
    let run = play(&theatre, "the-last-train.toml");
    assert_eq!(run.reason(), "natural_end");
    reads_back(&theatre, &run, "the-last-train");
    let metadata = theatre.metadata("the-last-train");
    assert_eq!(metadata["errors"], json!([{"beat": 3, "character": "jonas", "error": "Response timeout after 30s"}]));
    let transcript = theatre.transcript("the-last-train");
    let all = entries(&transcript);
    assert!(all.contains(&"[SYSTEM: Jonas unable to respond]"));
    assert_eq!(all.last(), Some(&"[SCENE END - Natural end]"));
    assert_eq!(all.iter().filter(|entry| entry.starts_with("[EVENT: ")).count(), 2);
}
