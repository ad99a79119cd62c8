//! What `/metrics` says of models, sessions and the store.

use serde_json::json;

use crate::{folder::Folder, server::Server};

const REPLIES: &str = "replies:
- {contains: Fail, fail: {kind: refused, message: never}}
- {reply: {message: Done., final: true}, usage: {input: 120, output: 7, cached: 100}}
";

/// The value of a series; nothing where there is no such.
fn value(page: &str, series: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn what_was_asked_said_and_written_is_counted() {
    let folder = Folder::new();
    let model = "model = \"script/replies.yaml\"\n";
    let people = "[discussion]\nparticipants = [\"user\", \"specialist=gpt\"]\n";
    folder.write("polylogue.toml", &format!("{people}[agents.gpt]\n{model}[agents.claude]\n{model}"));
    folder.write("replies.yaml", REPLIES);
    folder.run(&["discuss", "new", "--title", "Waits"]);
    let server = Server::start(&folder, &[]);
    for goal in ["Go.", "Go on.", "Fail."] {
        let said = json!({"text": format!("@router collaborate gpt claude: {goal}"), "maxRounds": 2});
        let session = server.say("lounge", &said)["sessionId"].as_str().unwrap().to_owned();
        let mut listener = server.watch(&session);
        while listener.next().is_some() {}
    }
    let page = server.text("/metrics");
    let of = "provider=\"script\"";
    for (series, expected) in [
        (format!("polylogue_call_seconds_count{{{of}}}"), 3.0),
        (format!("polylogue_call_seconds_bucket{{{of},le=\"+Inf\"}}"), 3.0),
        (format!("polylogue_call_seconds_bucket{{{of},le=\"240\"}}"), 3.0),
        (format!("polylogue_call_failures_total{{{of},kind=\"refused\"}}"), 1.0),
        (format!("polylogue_call_retries_total{{{of}}}"), 0.0),
        (format!("polylogue_tokens_total{{{of},kind=\"input\"}}"), 240.0),
        (format!("polylogue_tokens_total{{{of},kind=\"cached\"}}"), 200.0),
        (format!("polylogue_tokens_total{{{of},kind=\"output\"}}"), 14.0),
        (format!("polylogue_usd_total{{{of}}}"), 0.0),
        ("polylogue_sessions_ended_total{reason=\"final\"}".to_owned(), 2.0),
        ("polylogue_sessions{state=\"waiting\"}".to_owned(), 1.0),
        ("polylogue_sessions{state=\"running\"}".to_owned(), 0.0),
        ("polylogue_sessions{state=\"left\"}".to_owned(), 0.0),
        ("polylogue_append_failures_total".to_owned(), 0.0),
        ("polylogue_clips_total{outcome=\"made\"}".to_owned(), 0.0),
    ] {
        assert_eq!(value(&page, &series), Some(expected), "{series} in\n{page}");
    }
    assert!(value(&page, "polylogue_append_seconds_count").unwrap() >= 6.0, "{page}");
    // Every series is told with what it is, once.
    for line in page.lines().filter(|line| line.starts_with("# TYPE ")) {
        assert_eq!(page.matches(line).count(), 1, "{line}");
    }
}
