//! Several tenants on one server: a token sees, stops and forks what it began, and nothing of another's.

use std::{net::SocketAddr, sync::Arc};

use polylogue_server::{Scope, Settings, Token};
use serde_json::{Value, json};

use crate::{
    client::{Answer, Opened, open},
    house::{Served, Wanted, good},
};

/// In everything that the first tenant says.
const SECRET: &str = "marzipan";

fn tokens(settings: &mut Settings) {
    settings.tokens = ["operator".to_owned()].into();
    let token = |secret: &str, tenant: &str, scope, requests| {
        Arc::new(Token::new(secret, tenant.parse().unwrap(), scope, requests))
    };
    settings.named_tokens = vec![
        token("one", "one", Scope::Run, None),
        token("other", "other", Scope::Run, None),
        token("reader", "one", Scope::Read, None),
        token("boss", "boss", Scope::Admin, None),
        token("slow", "slow", Scope::Run, Some(2)),
    ];
}

async fn server() -> Served {
    let mut wanted = Wanted::saying(|ask| match ask.id.agent.as_str().starts_with("slot-") {
        true => good(ask, 2),
        false => Some(r#"{"message": "Well."}"#.to_owned()),
    });
    wanted.settings = tokens;
    wanted.start().await
}

async fn open_as(at: SocketAddr, token: &str, method: &str, path: &str, body: Option<&Value>) -> Opened {
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    open(at, method, path, &headers, &body.map(ToString::to_string).unwrap_or_default()).await
}

async fn ask(at: SocketAddr, token: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
    open_as(at, token, method, path, body).await.whole().await
}

fn chat() -> Value {
    json!({"message": format!("What is {SECRET}?"), "slots": [{"slotId": 1, "agentId": "a"}, {"slotId": 2, "agentId": "b"}]})
}

/// What a message begins: the session's id, and a clip of it.
async fn chorus(at: SocketAddr, token: &str) -> (String, String) {
    let events = open_as(at, token, "POST", "/v1/chat", Some(&chat())).await.events().await;
    let clip = events.iter().find(|event| event.name == "slot.audio").expect("a clip");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(&events[0].data["sessionId"]), text(&clip.data["audioPath"]))
}

/// What a token is told where somebody else has said something.
#[derive(Debug, PartialEq)]
enum Told {
    /// That it is not there.
    NotThere,
    /// Something, and nothing of the other's.
    OfItsOwn,
    /// That it is for the operator.
    Forbidden,
    /// Anybody may ask, and nobody is told of anything that was said.
    Open,
    /// It begins something of its own.
    Begins,
    /// It never ends: a test of its own looks at it.
    Endless,
}

/// Every route has its line, and so whoever adds one has to say what it tells to whom.
fn told(method: &str, path: &str) -> Told {
    match (method, path) {
        (_, path) if path.contains("{id}") => Told::NotThere,
        ("get", "/v1/audio/{audioPath}" | "/v1/stories/{name}") => Told::NotThere,
        ("get", "/metrics" | "/v1/nodes") => Told::Forbidden,
        ("get", "/v1/sessions" | "/api/discussions" | "/v1/rooms" | "/v1/rooms/{room}") => Told::OfItsOwn,
        ("get", "/v1/agents" | "/v1/voices" | "/v1/models" | "/v1/characters" | "/v1/examples" | "/v1/ready") => {
            Told::OfItsOwn
        }
        ("get", "/v1/scores") => Told::OfItsOwn,
        ("get", "/v1/rooms/{room}/events") => Told::Endless,
        ("post", "/v1/chat" | "/v1/scenes" | "/v1/rooms/{room}/messages" | "/api/discussions") => Told::Begins,
        ("post", "/v1/scores/{name}" | "/v1/scores/check") => Told::Begins,
        ("get", "/healthz" | "/readyz") | ("post", "/v1/login" | "/v1/logout") => Told::Open,
        other => panic!("{other:?}: say here what a token is told of another's"),
    }
}

#[tokio::test]
async fn no_route_tells_a_token_of_what_is_another_s() {
    let server = server().await;
    let (session, clip) = chorus(server.at, "one").await;
    let room = json!({"text": format!("@gpt {SECRET}")});
    assert_eq!(ask(server.at, "one", "POST", "/v1/rooms/lobby/messages", Some(&room)).await.status, 202);
    let api = polylogue_server::description();
    for (path, operations) in api["paths"].as_object().unwrap() {
        let filled = path.replace("{id}", &session).replace("{seq}", "1").replace("{room}", "lobby");
        let filled = filled.replace("{audioPath}", &clip).replace("{name}", "winter");
        for method in operations.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let told = told(method, path);
            let (is_reading, method) = (method == "get", method.to_uppercase());
            let body = (!is_reading).then(|| json!({}));
            match told {
                Told::Endless | Told::Open => continue,
                _ if !is_reading => {
                    let refused = ask(server.at, "reader", &method, &filled, body.as_ref()).await;
                    let refused = (refused.status, refused.code());
                    assert_eq!(refused, (403, "UNAUTHORIZED".to_owned()), "{method} {path}: it may only read");
                }
                _ => {}
            }
            if told == Told::Begins {
                continue;
            }
            let answer = ask(server.at, "other", &method, &filled, body.as_ref()).await;
            let text = answer.text();
            assert!(!text.contains(SECRET), "{method} {path}: {text}");
            match told {
                Told::NotThere => {
                    assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"), "{method} {path}")
                }
                Told::Forbidden => {
                    assert_eq!((answer.status, answer.code().as_str()), (403, "UNAUTHORIZED"), "{path}");
                    assert_eq!(ask(server.at, "boss", &method, &filled, None).await.status, 200, "{path}");
                }
                _ => assert!(answer.status == 200 && !text.contains(&session), "{method} {path}: {text}"),
            }
        }
    }
    // It is all there for whom it belongs to, and for the operator.
    let events = format!("/v1/sessions/{session}/events");
    for token in ["one", "reader", "boss", "operator"] {
        let heard = ask(server.at, token, "GET", &events, None).await;
        assert!(heard.status == 200 && heard.text().contains(SECRET), "{token}");
        assert_eq!(ask(server.at, token, "GET", &format!("/v1/audio/{clip}"), None).await.status, 200, "{token}");
        let list = ask(server.at, token, "GET", "/v1/sessions?format=chorus", None).await.json();
        assert_eq!(list["sessions"][0]["sessionId"], session.as_str(), "{token}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_message_goes_on_only_with_one_s_own_session() {
    let server = server().await;
    let (session, _) = chorus(server.at, "one").await;
    let more = json!({"message": "More.", "sessionId": session});
    let refused = ask(server.at, "other", "POST", "/v1/chat", Some(&more)).await;
    assert_eq!((refused.status, refused.code().as_str()), (404, "NOT_FOUND"));
    let heard = open_as(server.at, "one", "POST", "/v1/chat", Some(&more)).await.events().await;
    assert_eq!(heard.last().unwrap().name, "done");
    server.stop().await;
}

#[tokio::test]
async fn a_fork_belongs_to_whom_its_session_belongs() {
    let server = server().await;
    let (session, _) = chorus(server.at, "one").await;
    // The operator may fork it, and it stays what it was: another's.
    for token in ["one", "boss"] {
        let fork = json!({"at": 1});
        let forked = ask(server.at, token, "POST", &format!("/v1/sessions/{session}/fork"), Some(&fork)).await;
        assert_eq!(forked.status, 202, "{}", forked.text());
        let path = format!("/v1/sessions/{}", forked.json()["sessionId"].as_str().unwrap());
        assert_eq!(ask(server.at, "one", "POST", &format!("{path}/stop"), None).await.status, 200, "{token}");
        assert_eq!(ask(server.at, "other", "GET", &path, None).await.status, 404, "{token}");
        assert_eq!(ask(server.at, "one", "DELETE", &path, None).await.status, 204, "{token}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_room_of_the_same_name_is_another_room() {
    let server = server().await;
    for (token, text) in [("one", SECRET), ("other", "pepper")] {
        let body = json!({"text": format!("@gpt {text}")});
        assert_eq!(ask(server.at, token, "POST", "/v1/rooms/lobby/messages", Some(&body)).await.status, 202);
    }
    for (token, text) in [("one", SECRET), ("other", "pepper")] {
        let mut stream = open_as(server.at, token, "GET", "/v1/rooms/lobby/events", None).await;
        let first = stream.event().await.unwrap();
        assert_eq!((first.id > 0, first.data["text"].as_str()), (true, Some(text)), "{token}");
        let sessions = ask(server.at, token, "GET", "/v1/sessions?room=lobby", None).await.json();
        let sessions = sessions["sessions"].as_array().unwrap().clone();
        assert_eq!(sessions.len(), 1, "{token}");
        assert_eq!(sessions[0]["room"], "lobby");
        let rooms = ask(server.at, token, "GET", "/v1/rooms?limit=1", None).await.json();
        assert_eq!((rooms["rooms"][0]["room"].as_str(), rooms["next"].as_str()), (Some("lobby"), None), "{token}");
    }
    let rooms = ask(server.at, "operator", "GET", "/v1/rooms", None).await.json();
    let mut names: Vec<&str> =
        rooms["rooms"].as_array().unwrap().iter().filter_map(|one| one["room"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["one~lobby", "other~lobby"]);
    let stolen = ask(server.at, "other", "GET", "/v1/rooms/one~lobby", None).await;
    assert_eq!((stolen.status, stolen.code().as_str()), (404, "NOT_FOUND"));
    server.stop().await;
}

#[tokio::test]
async fn the_same_key_of_two_tokens_is_two_discussions() {
    let server = server().await;
    let body =
        json!({"title": "Tea", "participants": [{"role": "manager", "agent": "gpt"}, {"role": "user"}]}).to_string();
    let mut ids = Vec::new();
    for token in ["one", "other", "one", "operator"] {
        let authorization = format!("Bearer {token}");
        let headers = [
            ("authorization", authorization.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "the same"),
        ];
        let begun = open(server.at, "POST", "/api/discussions", &headers, &body).await.whole().await;
        assert_eq!(begun.status, 201, "{}", begun.text());
        ids.push(begun.json()["project"]["id"].clone());
    }
    assert_eq!(ids[0], ids[2], "the same key of the same token is the same discussion");
    assert!(ids[0] != ids[1] && ids[0] != ids[3] && ids[1] != ids[3], "{ids:?}");
    server.stop().await;
}

#[tokio::test]
async fn so_many_requests_in_a_minute_for_each_token() {
    let server = server().await;
    for status in [200, 200, 429, 429] {
        let answer = ask(server.at, "slow", "GET", "/v1/agents", None).await;
        assert_eq!(answer.status, status);
        if status == 429 {
            assert_eq!(answer.code(), "RATE_LIMITED");
            let wait: u64 = answer.headers["retry-after"].parse().unwrap();
            assert!((25..=31).contains(&wait), "{wait}");
        }
    }
    assert_eq!(ask(server.at, "one", "GET", "/v1/agents", None).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_cookie_of_a_named_token_is_that_token() {
    let server = server().await;
    let (session, _) = chorus(server.at, "one").await;
    for (token, status) in [("one", 200), ("other", 404)] {
        let body = json!({ "token": token }).to_string();
        let json = ("content-type", "application/json");
        let let_in = open(server.at, "POST", "/v1/login", &[json], &body).await.whole().await;
        let cookie = let_in.headers["set-cookie"].split(';').next().unwrap().to_owned();
        let path = format!("/v1/sessions/{session}");
        let shown = open(server.at, "GET", &path, &[("cookie", &cookie)], "").await.whole().await;
        assert_eq!(shown.status, status, "{token}");
    }
    server.stop().await;
}
