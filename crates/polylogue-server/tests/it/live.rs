//! Words as they are written, over HTTP; and what is behind a line.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    chat::chat,
    client::{get, open, post},
    house::Wanted,
};

const JSON: (&str, &str) = ("content-type", "application/json");

/// The frames of a stream that have this name: their data, and whether they have an id.
fn frames(stream: &str, name: &str) -> Vec<(Value, bool)> {
    let named = |block: &&str| block.lines().any(|line| line == format!("event: {name}"));
    let read = |block: &str| {
        let data = block.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
        (serde_json::from_str(data).expect("JSON"), block.lines().any(|line| line.starts_with("id:")))
    };
    stream.split("\n\n").filter(named).map(read).collect()
}

#[tokio::test]
async fn a_chorus_is_heard_while_it_is_written_by_those_who_ask_for_it() {
    let mut wanted = Wanted::good(2);
    wanted.write = Duration::from_millis(50);
    let server = wanted.start().await;
    let body = chat(2).to_string();
    for (path, is_live) in [("/v1/chat?live=true", true), ("/v1/chat", false)] {
        let stream = open(server.at, "POST", path, &[JSON], &body).await.whole().await.text();
        let deltas = frames(&stream, "delta");
        assert_eq!(deltas.is_empty(), !is_live, "{path}");
        let done = frames(&stream, "slot.done");
        for (delta, has_id) in deltas {
            assert!(!has_id && delta["ask"]["agent"] == delta["agent"] && delta.get("restart").is_none(), "{delta}");
            let is_its = |(line, _): &&(Value, bool)| {
                line["slotId"] == delta["slotId"] && line["turnIndex"] == delta["turnIndex"]
            };
            let (line, _) = done.iter().find(is_its).expect("the line that it became");
            let words = line.get("text").or(line.get("comment")).unwrap().as_str().unwrap();
            assert!(words.starts_with(delta["text"].as_str().unwrap()), "{delta} of {line}");
        }
    }
    let mut body = chat(2);
    body["live"] = json!(true);
    let stream = post(server.at, "/v1/chat", &body).await.whole().await.text();
    assert!(!frames(&stream, "delta").is_empty(), "the body can say so too");
    server.stop().await;
}

#[tokio::test]
async fn whoever_comes_in_the_middle_gets_the_words_so_far() {
    let mut wanted = Wanted::saying(|_| Some(r#"{"message": "Once upon a time.", "final": true}"#.to_owned()));
    wanted.write = Duration::from_millis(700);
    let server = wanted.start().await;
    let message = json!({"text": "Tell us.", "target": "gpt", "mode": "single"});
    let called = post(server.at, "/v1/rooms/lab/messages", &message).await.whole().await.json();
    let id = called["sessionId"].as_str().unwrap();
    // The first listener hears that the answer has begun; then the second comes.
    let mut first = open(server.at, "GET", &format!("/v1/sessions/{id}/events"), &[], "").await;
    while first.event().await.is_some_and(|record| record.data["type"] != "asked") {}
    let path = format!("/v1/sessions/{id}/events?live=true&from=2");
    let stream = open(server.at, "GET", &path, &[], "").await.whole().await.text();
    let deltas = frames(&stream, "delta");
    let told: String = deltas.iter().map(|(delta, _)| delta["text"].as_str().unwrap()).collect();
    assert_eq!((told.as_str(), &deltas[0].0["restart"]), ("Once upon a time.", &json!(true)), "{stream}");
    assert!(deltas.iter().all(|(_, has_id)| !has_id));
    server.stop().await;
}

#[tokio::test]
async fn what_is_behind_a_line_is_shown() {
    let server = Wanted::good(2).start().await;
    let events = post(server.at, "/v1/chat", &chat(2)).await.events().await;
    let id = events[0].data["sessionId"].as_str().unwrap();
    let line = events.iter().find(|event| event.name == "slot.done").unwrap();
    let behind = get(server.at, &format!("/v1/sessions/{id}/behind/{}", line.id)).await.json();
    assert_eq!((&behind["seq"], &behind["isExact"]), (&json!(line.id), &json!(true)));
    assert_eq!((&behind["purpose"], &behind["agent"]), (&json!("respond"), &behind["ask"]["agent"]));
    let messages = behind["request"]["messages"].as_array().unwrap();
    assert_eq!((&messages[0]["role"], &messages[messages.len() - 1]["role"]), (&json!("system"), &json!("user")));
    assert!(messages[messages.len() - 1]["text"].as_str().unwrap().contains("What is a home?"));
    let reply: Value = serde_json::from_str(behind["reply"].as_str().unwrap()).unwrap();
    assert_eq!(reply["text"], line.data["text"], "the reply is as it came");
    assert!(behind["usage"].is_object() && behind["seconds"].is_number() && behind["failure"].is_null());
    for seq in ["1", "0", "9999", "x"] {
        assert_eq!(get(server.at, &format!("/v1/sessions/{id}/behind/{seq}")).await.code(), "NOT_FOUND", "{seq}");
    }
    server.stop().await;
}
