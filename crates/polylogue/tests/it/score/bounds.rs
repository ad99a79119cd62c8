//! A limit that is below what a score can come to is said before the first call, calmly.

use serde_json::json;

use super::folder;
use crate::server::Server;

const AGENTS: [&str; 3] = ["gpt", "claude", "gemini-2.5-pro"];
const PLAY: [&str; 5] = ["play", "round-robin", "Tell me.", "--set", "rounds=1"];

#[test]
fn a_limit_below_the_bound_is_said_at_once() {
    let folder = folder(&AGENTS, "  - {reply: Well.}\n", &[]);
    let dry = folder.run(&[&PLAY[..], &["--dry-run"]].concat());
    let [dry] = dry.lines.as_slice() else { panic!("one line: {:?}", dry.lines) };
    let tokens = dry["bound"]["tokens"].as_u64().unwrap();
    assert_eq!((&dry["isEnough"], &dry["bound"]["turns"]), (&json!(true), &json!(2)));
    let quiet = folder.run(&PLAY);
    assert!(!quiet.stderr.contains("At the very most"), "{}", quiet.stderr);

    let config = std::fs::read_to_string(folder.path("polylogue.toml")).unwrap();
    folder.write("polylogue.toml", &format!("{config}[limits]\nmax_tokens = {}\n", tokens - 1));
    let dry = folder.output(&[&PLAY[..], &["--dry-run"]].concat());
    let dry = String::from_utf8(dry.stdout).unwrap();
    assert!(dry.contains(&format!("max_tokens = {tokens} would leave room for all of it")), "{dry}");
    let told = folder.run(&PLAY);
    assert!(told.stderr.starts_with("At the very most this comes to "), "{}", told.stderr);
    assert!(told.stderr.contains("Most runs stay far below") && !told.stderr.contains('…'), "{}", told.stderr);
    assert_eq!((told.status, told.reason()), (0, "completed"), "and most runs do");
    // What it says is enough is enough.
    folder.write("polylogue.toml", &format!("{config}[limits]\nmax_tokens = {tokens}\n"));
    assert!(!folder.run(&PLAY).stderr.contains("At the very most"));
}

#[test]
fn a_limit_below_the_bound_is_said_over_http() {
    let folder = folder(&AGENTS, "  - {reply: Well.}\n", &[]);
    let config = std::fs::read_to_string(folder.path("polylogue.toml")).unwrap();
    folder.write("polylogue.toml", &format!("{config}[limits]\nmax_tokens = 100\n"));
    let server = Server::start(&folder, &[]);
    let (status, checked) = server.post("/v1/scores/check", &json!({"name": "round-robin"}));
    assert_eq!(
        (status, &checked["problems"], &checked["short"]),
        (200, &json!([]), &json!(["100 tokens"])),
        "{checked}"
    );
}
