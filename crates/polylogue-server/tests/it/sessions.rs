//! `/v1/sessions` and the rest: the recorded conversations, what is offered, and the end of a process.

use std::time::Duration;

use crate::{
    chat::{chat, check},
    client::{get, open, post},
    house::Wanted,
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_can_be_listed_shown_read_and_forked() {
    let server = Wanted::good(2).start().await;
    let events = post(server.at, "/v1/chat", &chat(2)).await.events().await;
    let id = events[0].data["sessionId"].as_str().unwrap();

    let list = get(server.at, "/v1/sessions").await.json();
    let listed = &list["sessions"][0];
    assert_eq!((listed["sessionId"].as_str(), &listed["status"]), (Some(id), &json!("ended")));
    assert_eq!((&listed["format"], &listed["reason"]), (&json!("chorus"), &json!("completed")));

    let shown = get(server.at, &format!("/v1/sessions/{id}")).await.json();
    assert_eq!((&shown["status"], shown["lines"].as_array().unwrap().len()), (&json!("ended"), 7));
    assert_eq!(shown["artifacts"].as_array().unwrap().len(), 7);

    let journal = open(server.at, "GET", &format!("/v1/sessions/{id}/events"), &[], "").await.events().await;
    assert_eq!(
        journal.iter().map(|record| record.id).collect::<Vec<_>>(),
        (1..=journal.len() as u64).collect::<Vec<_>>()
    );
    assert!(journal.iter().all(|record| record.data["seq"] == record.id && record.data["type"].is_string()));
    let from = open(server.at, "GET", &format!("/v1/sessions/{id}/events?from=7"), &[], "").await.events().await;
    assert_eq!(from, journal[7..]);

    for (form, kind, holds) in [
        ("txt", "text/plain; charset=utf-8", "slot-1 to slot-2: Well said."),
        ("md", "text/markdown; charset=utf-8", "**slot-1 to slot-2:** Well said."),
        ("json", "application/json", "\"sessionId\""),
        ("vtt", "text/vtt; charset=utf-8", "<v slot-1>Well said."),
    ] {
        let text = get(server.at, &format!("/v1/sessions/{id}/transcript?as={form}")).await;
        assert_eq!(text.headers["content-type"], kind);
        assert!(text.text().contains(holds), "{}", text.text());
    }
    assert_eq!(get(server.at, &format!("/v1/sessions/{id}/transcript?as=pdf")).await.code(), "INVALID_REQUEST");

    assert_eq!(get(server.at, &format!("/v1/sessions/{id}/scene")).await.code(), "CONFLICT");

    // From the end of the first turn on, the comments are made anew.
    let turn_done = events.iter().find(|event| event.name == "turn.done").unwrap().id;
    let forked = post(server.at, &format!("/v1/sessions/{id}/fork"), &json!({"at": turn_done})).await.whole().await;
    assert_eq!(forked.status, 202);
    let new_id = forked.json()["sessionId"].as_str().unwrap().to_owned();
    let other = open(server.at, "GET", &format!("/v1/chat/{new_id}"), &[], "").await.events().await;
    assert_eq!(other.last().unwrap().data["completedSlots"], 2);
    for at in [0, 10_000] {
        let refused = post(server.at, &format!("/v1/sessions/{id}/fork"), &json!({"at": at})).await.whole().await;
        assert_eq!(refused.code(), "INVALID_REQUEST");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_offered_and_how_it_goes() {
    // What is counted is the work of one server.
    let server = Wanted { is_alone: true, ..Wanted::good(1) }.start().await;
    assert_eq!(get(server.at, "/v1/agents").await.json()["agents"][0]["name"], "gpt");
    assert_eq!(get(server.at, "/v1/voices").await.json()["voices"][0]["name"], "playful");
    assert_eq!(get(server.at, "/v1/models").await.json()["models"][0]["available"], true);
    let nodes = get(server.at, "/v1/nodes").await.json();
    assert_eq!((&nodes["nodes"][0]["isThis"], &nodes["nodes"][1]), (&json!(true), &json!(null)), "{nodes}");
    assert_eq!(get(server.at, "/healthz").await.json(), json!({"status": "ok"}));
    assert_eq!(get(server.at, "/readyz").await.json(), json!({"status": "ready"}));
    post(server.at, "/v1/chat", &chat(1)).await.events().await;
    let metrics = get(server.at, "/metrics").await.text();
    for line in [
        "polylogue_sessions_started_total 1",
        "polylogue_streams_open 0",
        "polylogue_http_requests_total{method=\"POST\",route=\"/v1/chat\",status=\"200\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_end_of_a_process_is_not_the_end_of_its_sessions() {
    let mut wanted = Wanted::good(3);
    wanted.think = Duration::from_secs(600);
    let first = wanted.start().await;
    let mut opened = post(first.at, "/v1/chat", &chat(3)).await;
    let mut seen = Vec::new();
    while seen.len() < 4 {
        seen.push(opened.event().await.unwrap());
    }
    let id = seen[0].data["sessionId"].as_str().unwrap().to_owned();
    let journal = first.journal.clone();
    first.stop().await;
    assert_eq!(opened.event().await, None, "the stream ends with the server");

    let mut wanted = Wanted::good(3);
    wanted.journal = journal;
    let second = wanted.start().await;
    let last = seen.last().unwrap().id.to_string();
    let headers = [("last-event-id", last.as_str())];
    seen.extend(open(second.at, "GET", &format!("/v1/chat/{id}"), &headers, "").await.events().await);
    let said = check(&seen);
    assert_eq!(said.len(), 9);
    assert_eq!(get(second.at, &format!("/v1/sessions/{id}")).await.json()["reason"], Value::from("completed"));
    second.stop().await;
}
