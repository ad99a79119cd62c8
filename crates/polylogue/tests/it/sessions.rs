//! The recorded conversations: list, show, replay, fork, export, record.

use serde_json::json;

use crate::{
    folder::{Folder, example_config, said},
    server::Server,
};

/// A fairy tale on record.
fn recorded() -> (Folder, String) {
    let folder = Folder::new();
    let run = folder.run(&["collaborate", "Write a fairy tale.", "--config", &example_config()]);
    let id = run.result()["sessionId"].as_str().unwrap().to_owned();
    (folder, id)
}

#[test]
fn a_replay_is_the_same_and_calls_no_model() {
    let folder = Folder::new();
    folder.write("replies.yaml", "log: calls.jsonl\nreplies: [{reply: {message: Done., final: true}}]");
    let run = folder.run(&["collaborate", "Go.", "--model", "script/replies.yaml"]);
    let calls = || std::fs::read_to_string(folder.path("calls.jsonl")).unwrap().lines().count();
    assert_eq!(calls(), 1);
    // Not even the script has to be there any more.
    std::fs::remove_file(folder.path("replies.yaml")).unwrap();
    let replay = folder.run(&["sessions", "replay", "last"]);
    assert_eq!((replay.status, &replay.lines), (0, &run.lines));
    let at_speed = folder.run(&["sessions", "replay", "last", "--speed", "100"]);
    assert_eq!(at_speed.lines, run.lines);
    assert_eq!(calls(), 1);
}

#[test]
fn a_reply_that_broke_off_is_asked_for_again_and_recorded() {
    let folder = Folder::new();
    folder.write(
        "replies.yaml",
        "log: calls.jsonl\nreplies:\n- {attempt: 1, full: true, reply: '{\"message\": \"Once upon'}\n\
         - {reply: {message: Once upon a time., final: true}}\n",
    );
    let run = folder.run(&["collaborate", "Go.", "--model", "script/replies.yaml"]);
    assert_eq!((run.status, run.reason()), (0, "final"), "{}", run.stderr);
    assert!(run.said().iter().any(|line| line.ends_with("(message): Once upon a time.")), "{:?}", run.said());
    let estimates = run.lines.iter().filter(|line| line["type"] == "asked").map(|line| &line["estimate"]["output"]);
    assert_eq!(estimates.collect::<Vec<_>>(), [&json!(2_048), &json!(4_096)]);
    let answered: Vec<_> = run.lines.iter().filter(|line| line["type"] == "answered").collect();
    assert_eq!((answered.len(), &answered[0]["isFull"], answered[1].get("isFull")), (2, &json!(true), None));
    assert!(run.lines.iter().any(|line| line["decision"] == "reasked"), "{:?}", run.lines);
    assert_eq!(folder.run(&["sessions", "replay", "last"]).lines, run.lines);
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let (folder, id) = recorded();
    for name in [&id, &id[..6], "last"] {
        assert_eq!(folder.run(&["sessions", "show", name]).result()["sessionId"], json!(id));
    }
    let list = folder.run(&["sessions", "list"]).lines;
    assert_eq!((&list[0]["sessionId"], &list[0]["reason"]), (&json!(id), &json!("final")));
}

#[test]
fn a_fork_goes_its_own_way_from_a_record_on() {
    let (folder, id) = recorded();
    let whole = folder.run(&["sessions", "show", &id]);
    let second = &whole.result()["lines"][3];
    assert_eq!((&second["speaker"], &second["kind"]), (&json!("gpt"), &json!("message")));
    folder.write("other.yaml", "replies: [{reply: {message: Another end., final: true}}]");
    let at = second["seq"].to_string();
    let fork = folder.run(&["sessions", "fork", &id, "--at", &at, "--model", "script/other.yaml"]);
    assert_eq!((fork.status, fork.reason()), (0, "final"));
    assert_ne!(fork.result()["sessionId"], json!(id));
    assert_eq!(fork.result()["forkedFrom"]["sessionId"], json!(id));
    assert_eq!(fork.said()[..5], whole.said()[..5]);
    assert_eq!(fork.said()[5], "claude (message): Another end.");
    assert_eq!(folder.run(&["sessions", "show", &id]).result(), whole.result(), "the first is as it was");

    let head = whole.result()["lines"].as_array().unwrap().last().unwrap()["seq"].to_string();
    let at_end = folder.run(&["sessions", "fork", &id, "--at", &head]);
    assert_eq!((at_end.status, &at_end.lines[0]["error"]["code"]), (2, &json!("INVALID_REQUEST")));
    let again = folder.run(&["sessions", "resume", &id]);
    assert_eq!((again.status, &again.lines[0]["error"]["code"]), (1, &json!("CONFLICT")));
}

#[test]
fn more_rounds_let_a_capped_session_go_on() {
    let folder = Folder::new();
    let config = example_config();
    let capped = folder.run(&["collaborate", "Write a fairy tale.", "--max-rounds", "2", "--config", &config]);
    assert_eq!(capped.reason(), "cap_reached");
    let config = ["--config", &config];
    let same = folder.run(&[&["sessions", "resume", "last"], &config[..]].concat());
    assert_eq!((same.status, &same.lines[0]["error"]["code"]), (1, &json!("CONFLICT")));
    let more = folder.run(&[&["sessions", "resume", "last", "--max-rounds", "4"], &config[..]].concat());
    assert_eq!(more.reason(), "final");
}

#[test]
fn what_a_resume_or_a_fork_changes_is_held_to_a_setup_s_bounds() {
    let folder = Folder::new();
    let capped =
        folder.run(&["collaborate", "Write a fairy tale.", "--max-rounds", "2", "--config", &example_config()]);
    assert_eq!(capped.reason(), "cap_reached");
    for (flags, told) in [
        (["--max-rounds", "4294967295"], "rounds is 4294967295: choose from 1 to 10000"),
        (["--max-rounds", "0"], "rounds is 0"),
        (["--max-seconds", "0"], "max_seconds is 0"),
        (["--max-tokens", "0"], "max_tokens is 0"),
    ] {
        for command in [&["sessions", "resume", "last"][..], &["sessions", "fork", "last", "--at", "4"]] {
            let run = folder.run(&[command, &flags].concat());
            let error = &run.lines[0]["error"];
            assert_eq!((run.status, &error["code"]), (2, &json!("INVALID_CONFIG")), "{command:?} {flags:?}");
            assert!(error["message"].as_str().unwrap().contains(told), "{error}");
        }
    }
    let server = Server::start(&folder, &[]);
    let id = capped.result()["sessionId"].as_str().unwrap();
    for max_rounds in [4_294_967_295_u32, 0] {
        for (route, body) in
            [("resume", json!({"maxRounds": max_rounds})), ("fork", json!({"at": 4, "maxRounds": max_rounds}))]
        {
            let (status, answer) = server.post(&format!("/v1/sessions/{id}/{route}"), &body);
            assert_eq!((status, &answer["error"]["code"]), (400, &json!("INVALID_CONFIG")), "{route} {answer}");
        }
    }
    assert_eq!(folder.run(&["sessions", "list"]).lines.len(), 1, "nothing was begun");
}

#[test]
fn exports_are_what_was_said() {
    let (folder, id) = recorded();
    let text =
        |form: &str| String::from_utf8(folder.output(&["sessions", "export", &id, "--as", form]).stdout).unwrap();
    assert!(text("txt").contains("\nclaude: In a valley"));
    assert!(text("md").contains("\n**claude:** In a valley"));
    let json: serde_json::Value = serde_json::from_str(&text("json")).unwrap();
    assert_eq!(said(&json), folder.run(&["sessions", "show", &id]).said());
    folder.output(&["sessions", "export", &id, "--as", "md", "--out", "tale.md"]);
    assert_eq!(std::fs::read_to_string(folder.path("tale.md")).unwrap(), text("md"));
}

#[test]
fn a_recording_plays_again_and_notices_a_changed_prompt() {
    let folder = Folder::new();
    let config = example_config();
    let first = folder.run(&["collaborate", "Write a fairy tale.", "--config", &config, "--record", "tape.yaml"]);
    assert_eq!(first.reason(), "final");
    let play = |more: &[&str]| {
        folder.run(
            &[&["collaborate", "Write a fairy tale.", "--config", &config, "--model", "script/tape.yaml"], more]
                .concat(),
        )
    };
    let again = play(&[]);
    assert_eq!((again.reason(), again.said()), ("final", first.said()));
    let changed = play(&["--max-rounds", "5"]);
    assert_eq!((changed.status, changed.reason()), (1, "failed"));
    let error = changed.result()["errors"][0].clone();
    assert_eq!(error["kind"], "script_changed");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("\n-Round 1 of 6.\n+Round 1 of 5.\n"), "{message}");
}

#[test]
fn a_person_reads_plain_text() {
    let (folder, id) = recorded();
    let output = folder.output(&["sessions", "show", &id[..8]]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("claude  line 2, record 4\n  In a valley"), "{text}");
    assert!(text.contains("ended: final · "), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour where no terminal is");
    let request = String::from_utf8(folder.output(&["sessions", "show", &id, "--ask", "2"]).stdout).unwrap();
    assert!(request.starts_with("contribute 1 of claude on script/"), "{request}");
    assert!(request.contains("--- system\n") && request.contains("--- user\nGoal:\nWrite a fairy tale."));
    let none = folder.run(&["sessions", "show", &id, "--ask", "1"]);
    assert_eq!(none.status, 2);
}

#[test]
fn a_fork_goes_on_otherwise_as_its_flags_say() {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        "[agents.gpt]\nmodel = \"script/one.yaml\"\n[agents.claude]\nmodel = \"script/one.yaml\"\n",
    );
    folder.write("one.yaml", "replies:\n- {agent: gpt, reply: {message: One., handoff: {to: claude, task: Go on.}}}\n- {reply: {message: Two., final: true}}");
    folder.write("two.yaml", "replies: [{reply: {message: Otherwise., final: true}}]");
    folder.write("claude.md", "You doubt everything.\n");
    let run = folder.run(&["collaborate", "Count."]);
    let first = run.result()["lines"].as_array().unwrap().iter().find(|line| line["kind"] == "message").unwrap();
    let (id, at) = (run.result()["sessionId"].as_str().unwrap().to_owned(), first["seq"].to_string());
    let fork = |flags: &[&str]| folder.run(&[&["sessions", "fork", &id, "--at", &at], flags].concat());

    let edited = fork(&["--edit", "Zero.", "--model", "claude=script/two.yaml", "--persona", "claude=claude.md"]);
    assert_eq!((edited.status, edited.reason()), (0, "final"), "{}", edited.stderr);
    let messages: Vec<String> = edited.said().into_iter().filter(|line| line.contains("(message)")).collect();
    assert_eq!(messages, ["gpt (message): Zero.", "claude (message): Otherwise."]);
    let change = &edited.lines.iter().find(|line| line["type"] == "forked").unwrap()["change"];
    assert_eq!((&change["edit"], &change["personas"]["claude"]), (&json!("Zero."), &json!("You doubt everything.")));
    assert_eq!(change["recast"].as_array().unwrap().len(), 1, "only the one who was named: {change}");

    let noted = fork(&["--note", "Be brief.", "--to", "claude"]);
    assert_eq!(noted.status, 0, "{}", noted.stderr);
    let change = &noted.lines.iter().find(|line| line["type"] == "forked").unwrap()["change"];
    assert_eq!(change["notes"], json!([{"to": "claude", "text": "Be brief."}]));

    for flags in [
        &["--model", "nobody=script/two.yaml"][..],
        &["--persona", "claude=lost.md"],
        &["--persona", "claude"],
        &["--to", "claude"],
        &["--note", "Hm.", "--to", "nobody"],
        &["--edit", " "],
    ] {
        let refused = fork(flags);
        assert!(refused.status > 0, "{flags:?}");
        assert_eq!(refused.lines.last().unwrap()["success"], false, "{flags:?}");
    }
}
