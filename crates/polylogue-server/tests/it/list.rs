//! Finding sessions page by page, and deleting them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    chat::chat,
    client::{Answer, get, open, post},
    house::Wanted,
};

async fn delete(at: std::net::SocketAddr, id: &str) -> Answer {
    open(at, "DELETE", &format!("/v1/sessions/{id}"), &[], "").await.whole().await
}

fn ids(page: &Value) -> Vec<String> {
    page["sessions"].as_array().unwrap().iter().map(|one| one["sessionId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sessions_are_found_page_by_page() {
    let mut wanted = Wanted::good(6);
    let slots = wanted.says;
    wanted.says = Box::new(move |ask| match ask.id.agent.as_str() {
        "gpt" => Some(r#"{"message": "Nest.", "final": true}"#.to_owned()),
        _ => slots(ask),
    });
    let server = wanted.start().await;
    let mut begun = Vec::new();
    for message in ["A home", "a HOUSE", "A street"] {
        let body = json!({"message": message, "speech": false});
        let events = post(server.at, "/v1/chat", &body).await.events().await;
        begun.insert(0, events[0].data["sessionId"].as_str().unwrap().to_owned());
    }
    let room = json!({"text": "@gpt Name a home."});
    let called = post(server.at, "/v1/rooms/lobby/messages", &room).await.whole().await.json();
    let called = called["sessionId"].as_str().unwrap().to_owned();
    open(server.at, "GET", &format!("/v1/sessions/{called}/events"), &[], "").await.events().await;
    begun.insert(0, called);

    let list = async |query: &str| get(server.at, &format!("/v1/sessions{query}")).await.json();
    let first = list("?limit=3").await;
    assert_eq!(ids(&first), begun[..3]);
    let second = list(&format!("?limit=3&before={}", first["next"].as_str().unwrap())).await;
    assert_eq!((ids(&second), &second["next"]), (begun[3..].to_vec(), &Value::Null));
    assert_eq!(list("?limit=4").await["next"], Value::Null, "where nothing follows, there is no page after it");

    for (query, found) in [
        ("?q=HO", vec![0, 2, 3]),
        ("?q=home&format=chorus", vec![3]),
        ("?status=ended", vec![0, 1, 2, 3]),
        ("?status=running", vec![]),
        ("?format=&status=&q=", vec![0, 1, 2, 3]),
        ("?q=%25", vec![]),
        ("?room=lobby", vec![0]),
        ("?room=kitchen", vec![]),
    ] {
        let found: Vec<String> = found.into_iter().map(|at: usize| begun[at].clone()).collect();
        assert_eq!(ids(&list(query).await), found, "{query}");
    }
    let newest = &first["sessions"][0];
    assert_eq!((&newest["room"], &newest["agents"][0]), (&json!("lobby"), &json!("gpt")));
    assert_eq!(
        (first["sessions"][1]["agents"].as_array().unwrap().len(), &first["sessions"][1]["people"]),
        (6, &json!(["you"]))
    );
    for bad in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "before=x",
        "before=1.x",
        "status=asleep",
        "room=no%20room",
        &format!("q={}", "x".repeat(201)),
    ] {
        assert_eq!(get(server.at, &format!("/v1/sessions?{bad}")).await.code(), "INVALID_REQUEST", "{bad}");
    }

    let rooms = get(server.at, "/v1/rooms?limit=1").await.json();
    assert_eq!((&rooms["rooms"][0]["room"], &rooms["next"]), (&json!("lobby"), &Value::Null));
    assert_eq!(get(server.at, "/v1/rooms?before=x").await.code(), "INVALID_REQUEST");
    server.stop().await;
}

#[tokio::test]
async fn discussions_are_listed_whatever_else_was_said() {
    let server = Wanted::good(2).start().await;
    let create = async |title: &str| {
        let body = json!({"title": title, "participants": [{"role": "user"}, {"role": "manager", "agent": "gpt"}]});
        post(server.at, "/api/discussions", &body).await.whole().await.json()["project"]["id"].clone()
    };
    let (first, second) = (create("One").await, create("Two").await);
    for _ in 0..3 {
        post(server.at, "/v1/chat", &chat(2)).await.events().await;
    }
    let page = get(server.at, "/api/discussions?limit=1").await.json();
    assert_eq!(page["discussions"][0]["id"], second);
    let page =
        get(server.at, &format!("/api/discussions?limit=1&before={}", page["next"].as_str().unwrap())).await.json();
    assert_eq!((&page["discussions"][0]["id"], &page["next"]), (&first, &Value::Null));
    server.stop().await;
}

#[tokio::test]
async fn what_is_deleted_is_not_found_any_more() {
    let server = Wanted::good(2).start().await;
    let events = post(server.at, "/v1/chat", &chat(2)).await.events().await;
    let id = events[0].data["sessionId"].as_str().unwrap();
    // It was looked at, so that the hub keeps it folded.
    assert_eq!(get(server.at, &format!("/v1/sessions/{id}")).await.status, 200);
    let deleted = delete(server.at, id).await;
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    for path in ["", "/events", "/transcript", "/behind/3"] {
        assert_eq!(get(server.at, &format!("/v1/sessions/{id}{path}")).await.code(), "NOT_FOUND", "{path}");
    }
    assert_eq!(get(server.at, "/v1/sessions").await.json()["sessions"], json!([]));
    assert_eq!(delete(server.at, id).await.code(), "NOT_FOUND");
    assert_eq!(delete(server.at, "nobody").await.code(), "NOT_FOUND");
    for what in ["resume", "say", "fork"] {
        let body = match what {
            "resume" => json!({}),
            "say" => json!({"text": "Are you there?"}),
            _ => json!({"at": 1}),
        };
        let refused = post(server.at, &format!("/v1/sessions/{id}/{what}"), &body).await.whole().await;
        assert_eq!(refused.code(), "NOT_FOUND", "{what}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_runs_is_not_deleted() {
    let mut wanted = Wanted::good(2);
    wanted.think = Duration::from_secs(600);
    let server = wanted.start().await;
    let mut stream = post(server.at, "/v1/chat", &chat(2)).await;
    let id = stream.event().await.unwrap().data["sessionId"].as_str().unwrap().to_owned();
    let refused = delete(server.at, &id).await;
    assert_eq!((refused.status, refused.code()), (409, "CONFLICT".to_owned()));
    assert!(refused.text().contains("stop it before"), "{}", refused.text());
    assert_eq!(post(server.at, &format!("/v1/sessions/{id}/stop"), &json!({})).await.whole().await.status, 200);
    assert_eq!(delete(server.at, &id).await.status, 204);
    server.stop().await;
}
