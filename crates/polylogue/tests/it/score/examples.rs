//! The scores that come along, and the one that the docs write, each played from the script of the example as its head
//! says: what is said, to whom, and what comes out.

use serde_json::Value;

use crate::folder::{Folder, example};

/// The commands at the head of the example's configuration: a score, and the message.
fn commands() -> Vec<(String, String)> {
    let head = std::fs::read_to_string(example("scores/polylogue.toml")).unwrap();
    let command = |line: &str| {
        let (score, rest) = line.split_once("/start play ")?.1.split_once(" \"")?;
        Some((score.to_owned(), rest.split_once('"')?.0.to_owned()))
    };
    head.lines().filter_map(command).collect()
}

#[test]
fn each_plays_from_the_script_that_shows_it() {
    let commands = commands();
    let mut names: Vec<&str> = commands.iter().map(|(score, _)| score.as_str()).collect();
    names.sort_unstable();
    let shipped = polylogue_core::format::score::SHIPPED.iter().map(|(name, _)| *name);
    let mut expected: Vec<&str> = shipped.chain(["mock-trial"]).collect();
    expected.sort_unstable();
    assert_eq!(names, expected, "each has a command at the head of the example");
    std::thread::scope(|scope| {
        let played: Vec<_> =
            commands.iter().map(|(score, message)| (score, scope.spawn(move || play(score, message)))).collect();
        for (score, played) in played {
            insta::assert_snapshot!(format!("example_{score}"), played.join().unwrap());
        }
    });
}

fn play(score: &str, message: &str) -> String {
    let folder = Folder::new();
    let config = example("scores/polylogue.toml");
    // Letters are drawn: two seeds, so that it is not the draw that makes it good.
    let [one, other] = ["7", "8"].map(|seed| {
        let run = folder.run(&["play", score, message, "--config", &config, "--seed", seed]);
        assert_eq!((run.status, run.reason()), (0, "completed"), "{score}: {}", run.stderr);
        assert_eq!(run.result()["errors"], serde_json::json!([]), "{score}");
        let again =
            run.lines.iter().find(|record| record["decision"] == "reasked" || record["decision"] == "seat_failed");
        assert_eq!(again, None, "{score}: every reply of the script fits");
        told(run.result())
    });
    assert_eq!(sorted(&one), sorted(&other), "{score}: it depends on the letters that were drawn");
    one
}

fn sorted(told: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = told.lines().collect();
    lines.sort_unstable();
    lines
}

/// What was said, by the phases as they were played and then by the seats: who answers first is chance. Then what came
/// out.
fn told(result: &Value) -> String {
    let lines = result["lines"].as_array().unwrap().iter();
    let mut said: Vec<(u64, String)> = lines
        .filter(|line| line["kind"] == "message")
        .map(|line| {
            let to = line["to"].as_str().map(|to| format!(" to {to}")).unwrap_or_default();
            let speaker = line["speaker"].as_str().unwrap();
            (line["turn"].as_u64().unwrap_or(0), format!("{speaker}{to}: {}", line["text"].as_str().unwrap()))
        })
        .collect();
    said.sort_by_key(|(turn, _)| *turn);
    let at_once =
        |turn: u64| result["lines"].as_array().unwrap().iter().filter(|line| line["turn"] == turn).count() > 2;
    said.sort_by(|(a, x), (b, y)| {
        a.cmp(b).then_with(|| if at_once(*a) { x.cmp(y) } else { std::cmp::Ordering::Equal })
    });
    let said: Vec<String> = said.into_iter().map(|(turn, line)| format!("{turn} {line}")).collect();
    let results = serde_json::to_string_pretty(&result["results"]).unwrap();
    format!("{}\n\n{results}", said.join("\n"))
}
