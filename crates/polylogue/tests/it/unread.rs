//! A store that a newer version has written to: its sessions are listed and shown, and nobody goes on with them.

use std::sync::Arc;

use polylogue_core::{Event, Record, Timestamp, id::Seq};
use polylogue_runtime::port::{Journal, NodeId};
use polylogue_store::SqliteJournal;
use serde_json::json;

use crate::folder::{Folder, example_config};

const INVENTED: [&str; 5] = [
    r#"{"type":"resumed","version":1,"change":{}}"#,
    r#"{"type":"asked","ask":{"purpose":"weigh","turn":9,"agent":"gpt"},"digest":"00000000000000ff","estimate":{"input":1,"output":2}}"#,
    r#"{"type":"line_spoken","speaker":{"agent":"gpt"},"kind":"verdict","text":"The dragon was right."}"#,
    r#"{"type":"collaboration","decision":"weighed","by":{"gpt":0.7}}"#,
    r#"{"type":"ended","reason":"exhausted"}"#,
];

#[tokio::test]
async fn a_session_of_a_newer_version_is_listed_and_shown_and_not_resumed() {
    let folder = Folder::new();
    let run = folder.run(&["collaborate", "Write a fairy tale.", "--config", &example_config()]);
    let id = run.result()["sessionId"].as_str().unwrap().to_owned();
    let store = SqliteJournal::open(folder.path("data/polylogue.db")).unwrap();
    let session = id.parse().unwrap();
    let head = store.read_all(session).await.unwrap().len() as u64;
    let record = |(line, seq): (&str, u64)| {
        let event = Event::decode(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Arc::new(Record { seq: Seq(seq), at: Timestamp(1_900_000_000_000), event })
    };
    store
        .append(session, INVENTED.into_iter().zip(head + 1..).map(record).collect(), NodeId::from_bytes([0; 16]))
        .await
        .unwrap();
    store.close().await;

    let list = folder.run(&["sessions", "list"]).lines;
    let listed = (&list[0]["sessionId"], &list[0]["status"], &list[0]["reason"]);
    assert_eq!(listed, (&json!(id), &json!("ended"), &json!("exhausted")));

    let shown = folder.run(&["sessions", "show", &id]);
    let last = shown.result()["lines"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["kind"], &last["text"]), (&json!("verdict"), &json!("The dragon was right.")));
    assert_eq!(
        shown.result()["unread"],
        json!([
            "the purpose `weigh`",
            "the kind of line `verdict`",
            "the decision `weighed` of the format `collaboration`",
            "the reason `exhausted`",
        ])
    );
    let text = String::from_utf8(folder.output(&["sessions", "show", &id]).stdout).unwrap();
    assert!(
        text.contains("The dragon was right.") && text.contains("not readable here: the purpose `weigh`"),
        "{text}"
    );
    let replayed = folder.run(&["sessions", "replay", &id]);
    assert_eq!(replayed.status, 0);
    assert!(replayed.lines.iter().any(|line| line["decision"] == "weighed" && line["by"]["gpt"] == 0.7));

    let late = (head + 3).to_string();
    for (args, status) in [(&["sessions", "resume", &id][..], 1), (&["sessions", "fork", &id, "--at", &late], 2)] {
        let refused = folder.run(args);
        assert_eq!(refused.status, status, "{args:?}");
        let error = &refused.lines.last().unwrap()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("newer Polylogue") && message.contains("the purpose `weigh`"), "{message}");
    }
    // What stands before it can be gone on from.
    let at = (head - 5).to_string();
    let config = example_config();
    let fork = folder.run(&["sessions", "fork", &id, "--at", &at, "--config", &config]);
    assert_eq!(fork.status, 0, "{}", fork.stderr);
}
