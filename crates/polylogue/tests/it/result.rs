//! The finished work of a collaboration as a file: on the command line, among the artifacts, over HTTP.

use serde_json::json;

use crate::{
    folder::{Folder, example_config},
    server::Server,
};

const FAIRY_TALE: &str = "Write a 2-paragraph fairy tale—Claude drafts, GPT edits, alternate until done (≤4 rounds).";
const HIKING: &str = "Collaborate to outline and refine a 5‑step plan for a weekend hiking trip. Keep it concise.";

#[test]
fn the_finished_work_is_written_where_the_person_wants_it() {
    let folder = Folder::new();
    let config = example_config();
    let args = |goal: &'static str, more: &[&'static str]| -> Vec<String> {
        let all = [&["collaborate", goal, "--config", &config], more].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    let run = |args: &[String]| folder.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let tale = run(&args(FAIRY_TALE, &["--out", "tale.md"]));
    assert_eq!((tale.status, tale.reason()), (0, "final"), "{}", tale.stderr);
    assert!(tale.stderr.contains("the result is in tale.md"), "{}", tale.stderr);
    let written = std::fs::read_to_string(folder.path("tale.md")).unwrap();
    assert!(written.starts_with("In a valley where it never rained") && written.ends_with("called.\n"), "{written}");
    assert_eq!(written.matches("\n\n").count(), 1, "two paragraphs, and nothing about them: {written}");
    // The same is among the files of the session, whether or not somebody asked for it.
    let paths = tale.result()["artifacts"].as_array().unwrap();
    let path = paths.iter().find(|path| path.as_str().unwrap().ends_with("/result.md")).unwrap().as_str().unwrap();
    assert_eq!(std::fs::read_to_string(folder.path("artifacts").join(path)).unwrap(), written);

    // What is not finished is no result.
    let part = run(&args(HIKING, &["--max-rounds", "1", "--out", "plan.md"]));
    assert_eq!((part.status, part.reason()), (0, "cap_reached"));
    assert!(part.stderr.contains("nobody said that the work is finished"), "{}", part.stderr);
    assert!(!folder.path("plan.md").exists() && part.result()["artifacts"] == json!([]));
    // A file that cannot be written is told of before anything was asked.
    for out in ["nowhere/tale.md", "artifacts"] {
        let refused = run(&[args(FAIRY_TALE, &["--out"]), vec![out.to_owned()]].concat());
        assert_eq!((refused.status, refused.lines.len()), (2, 1), "{out}: {:?}", refused.lines);
    }
    // With its session it goes.
    let id = tale.result()["sessionId"].as_str().unwrap();
    assert_eq!(folder.run(&["sessions", "delete", id]).status, 0);
    assert!(!folder.path("artifacts").join(path).exists());
}

#[test]
fn the_finished_work_is_had_over_http() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--config", &example_config()]);
    let room = json!({"text": FAIRY_TALE, "mode": "collaborate", "target": "claude", "maxRounds": 4});
    let session = server.say("tales", &room)["sessionId"].as_str().unwrap().to_owned();
    while server.get(&format!("/v1/sessions/{session}"))["status"] == "running" {}
    let (head, body) = server.bytes("GET", &format!("/v1/sessions/{session}/result"), "");
    let (head, body) = (head.to_lowercase(), String::from_utf8(body).unwrap());
    assert!(head.contains("content-type: text/markdown") && head.contains("attachment; filename=\"result-"), "{head}");
    assert!(body.starts_with("In a valley") && body.ends_with("called.\n"), "{body}");
    let artifacts = server.get(&format!("/v1/sessions/{session}"))["artifacts"].clone();
    let path = artifacts[0].as_str().unwrap();
    let (_, file) = server.bytes("GET", &format!("/v1/audio/{path}"), "");
    assert_eq!(String::from_utf8(file).unwrap(), body);

    let call = server.say("tales", &json!({"text": "@gpt Tell me in prose what you think."}));
    let call = call["sessionId"].as_str().unwrap();
    while server.get(&format!("/v1/sessions/{call}"))["status"] == "running" {}
    let (head, none) = server.bytes("GET", &format!("/v1/sessions/{call}/result"), "");
    let none = String::from_utf8(none).unwrap();
    assert!(head.contains(" 404 ") && none.contains("NOT_FOUND"), "{head}{none}");
}
