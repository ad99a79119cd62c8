//! What the server refuses, and in what form.

use std::time::Duration;

use crate::{
    chat::chat,
    client::{get, open, post},
    house::{Wanted, wav},
};
use polylogue_server::{BadSettings, Settings};
use serde_json::json;

const JSON: (&str, &str) = ("content-type", "application/json");

/// Method, path, headers and body; status and code.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16, &'a str);

#[tokio::test]
async fn every_refusal_has_the_same_form() {
    let mut wanted = Wanted::good(2);
    wanted.settings = |settings| settings.max_body_bytes = 2_000;
    let server = wanted.start().await;
    let unknown = "/v1/sessions/00000000-0000-4000-8000-000000000000";
    let (unknown_events, unknown_stop) = (format!("{unknown}/events"), format!("{unknown}/stop"));
    let long = format!("{{\"message\": \"{}\"}}", "x".repeat(3_000));
    let slots = |slots: &str| format!("{{\"message\": \"Hi\", \"slots\": {slots}}}");
    let one = |id: u8, agent: &str| format!("{{\"slotId\": {id}, \"agentId\": \"{agent}\"}}");
    let seven: Vec<String> = (1..=7).map(|id| one(id, "a")).collect();
    let cases: &[Case<'_>] = &[
        ("GET", "/nowhere", &[], "", 404, "NOT_FOUND"),
        ("GET", "/v1/chat", &[], "", 405, "INVALID_REQUEST"),
        ("DELETE", "/v1/sessions", &[], "", 405, "INVALID_REQUEST"),
        ("GET", unknown, &[], "", 404, "NOT_FOUND"),
        ("GET", "/v1/sessions/xyz", &[], "", 404, "NOT_FOUND"),
        ("GET", &unknown_events, &[], "", 404, "NOT_FOUND"),
        ("POST", &unknown_stop, &[], "", 404, "NOT_FOUND"),
        ("GET", "/v1/sessions?limit=0", &[], "", 400, "INVALID_REQUEST"),
        ("GET", "/v1/sessions?limit=x", &[], "", 400, "INVALID_REQUEST"),
        ("GET", &unknown_events, &[("last-event-id", "x")], "", 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], "{", 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], "[]", 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], "{\"message\": 1}", 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], "{\"message\": \"Hi\", \"slot\": []}", 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], "{\"message\": \" \"}", 400, "INVALID_CONFIG"),
        ("POST", "/v1/chat", &[JSON], &slots("[]"), 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], &slots(&format!("[{}]", one(7, "a"))), 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], &slots(&format!("[{}]", one(1, ""))), 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], &slots(&format!("[{}]", one(1, "nobody"))), 400, "INVALID_CONFIG"),
        ("POST", "/v1/chat", &[JSON], &slots(&format!("[{0},{0}]", one(1, "a"))), 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], &slots(&format!("[{}]", seven.join(","))), 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], "{\"message\": \"Hi\", \"sessionId\": \"x\"}", 400, "INVALID_REQUEST"),
        ("POST", "/v1/chat", &[JSON], &long, 413, "TOO_LARGE"),
        ("POST", "/v1/chat", &[("content-type", "text/plain")], "{\"message\": \"Hi\"}", 415, "INVALID_REQUEST"),
        ("POST", &unknown_stop, &[("origin", "https://elsewhere.example")], "", 403, "UNAUTHORIZED"),
        ("GET", "/v1/sessions", &[("host", "rebound.example")], "", 403, "UNAUTHORIZED"),
        ("GET", "/v1/audio/tts/none.wav", &[], "", 404, "NOT_FOUND"),
    ];
    for (method, path, headers, body, status, code) in cases {
        let answer = open(server.at, method, path, headers, body).await.whole().await;
        assert_eq!((answer.status, answer.code().as_str()), (*status, *code), "{method} {path} {body}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(answer.headers.contains_key("x-request-id"));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_token_opens_the_door() {
    let mut wanted = Wanted::good(2);
    wanted.settings = |settings| settings.tokens = ["one".to_owned(), "two".to_owned()].into();
    let server = wanted.start().await;
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", "Bearer three")], 401),
        (vec![("authorization", "Basic one")], 401),
        (vec![("authorization", "one")], 401),
        (vec![("authorization", "Bearer one")], 200),
        (vec![("authorization", "bearer two"), ("host", "public.example")], 200),
    ] {
        let answer = open(server.at, "GET", "/v1/sessions", &headers, "").await.whole().await;
        assert_eq!(answer.status, status, "{headers:?}");
        if status == 401 {
            assert_eq!(answer.code(), "UNAUTHORIZED");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
    }
    for open_to_all in ["/healthz", "/readyz", "/openapi.json", "/docs/"] {
        assert_eq!(get(server.at, open_to_all).await.status, 200, "{open_to_all}");
    }
    assert_eq!(get(server.at, "/metrics").await.status, 401);
    server.stop().await;
}

#[test]
fn nobody_listens_beyond_this_machine_without_tokens() {
    let mut settings = Settings::default();
    let everywhere = "0.0.0.0:7654".parse().unwrap();
    assert_eq!(settings.check(everywhere), Err(BadSettings::Open(everywhere)));
    assert_eq!(settings.check("127.0.0.1:0".parse().unwrap()), Ok(()));
    assert_eq!(settings.check("[::1]:0".parse().unwrap()), Ok(()));
    settings.tokens.insert("one".to_owned());
    assert_eq!(settings.check(everywhere), Ok(()));
    settings.cors_origins.push("\n".to_owned());
    assert!(matches!(settings.check(everywhere), Err(BadSettings::Origin(_))));
    settings.cors_origins = vec!["https://friend.example".to_owned(), "*".to_owned()];
    assert_eq!(settings.check(everywhere), Err(BadSettings::EveryOrigin));
}

#[tokio::test]
async fn other_origins_are_let_in_by_name_only() {
    let mut wanted = Wanted::good(2);
    wanted.settings = |settings| settings.cors_origins.push("https://friend.example".to_owned());
    let server = wanted.start().await;
    let friend = open(server.at, "GET", "/v1/agents", &[("origin", "https://friend.example")], "").await.whole().await;
    assert_eq!(friend.headers["access-control-allow-origin"], "https://friend.example");
    let other = open(server.at, "GET", "/v1/agents", &[("origin", "https://other.example")], "").await.whole().await;
    assert!(!other.headers.contains_key("access-control-allow-origin"));
    server.stop().await;
}

#[tokio::test]
async fn so_many_sessions_and_no_more() {
    let mut wanted = Wanted::good(2);
    (wanted.think, wanted.max_live) = (Duration::from_secs(5), 1);
    let server = wanted.start().await;
    let mut first = post(server.at, "/v1/chat", &chat(2)).await;
    first.event().await.unwrap();
    let second = post(server.at, "/v1/chat", &chat(2)).await.whole().await;
    assert_eq!((second.status, second.code().as_str()), (429, "RATE_LIMITED"));
    assert_eq!(second.headers["retry-after"], "1");
    server.stop().await;
}

#[tokio::test]
async fn clips_are_served_whole_and_in_part_and_nothing_else_is() {
    let server = Wanted::good(1).start().await;
    let folder = server.folder.path();
    std::fs::create_dir_all(folder.join("artifacts/tts")).unwrap();
    std::fs::write(folder.join("artifacts/tts/a b.wav"), wav()).unwrap();
    std::fs::write(folder.join("artifacts/secret.txt"), "no").unwrap();
    std::fs::write(folder.join("outside.wav"), "no").unwrap();
    std::os::unix::fs::symlink(folder.join("outside.wav"), folder.join("artifacts/link.wav")).unwrap();
    let whole = get(server.at, "/v1/audio/tts/a%20b.wav").await;
    assert_eq!((whole.status, whole.body.clone()), (200, wav()));
    assert_eq!(
        (whole.headers["content-type"].as_str(), whole.headers["accept-ranges"].as_str()),
        ("audio/wav", "bytes")
    );
    for (range, status, body, said) in [
        ("bytes=0-3", 206, &wav()[..4], "bytes 0-3/204"),
        ("bytes=200-", 206, &wav()[200..], "bytes 200-203/204"),
        ("bytes=-4", 206, &wav()[200..], "bytes 200-203/204"),
        ("bytes=0-1,4-5", 200, &wav()[..], ""),
    ] {
        let part = open(server.at, "GET", "/v1/audio/tts/a%20b.wav", &[("range", range)], "").await.whole().await;
        assert_eq!((part.status, &part.body[..]), (status, body), "{range}");
        assert_eq!(part.headers.get("content-range").map_or("", String::as_str), said);
    }
    let beyond = open(server.at, "GET", "/v1/audio/tts/a%20b.wav", &[("range", "bytes=204-")], "").await.whole().await;
    assert_eq!((beyond.status, beyond.headers["content-range"].as_str()), (416, "bytes */204"));
    assert_eq!(beyond.code(), "INVALID_REQUEST");
    for path in [
        "../outside.wav",
        "..%2Foutside.wav",
        "%2e%2e/outside.wav",
        "tts/../../outside.wav",
        "..%5Coutside.wav",
        "link.wav",
        "secret.txt",
        "tts",
        "/etc/passwd.wav",
        "tts/a%20b.wav%00",
    ] {
        let answer = get(server.at, &format!("/v1/audio/{path}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"), "{path}");
    }
    let head = open(server.at, "HEAD", "/v1/audio/tts/a%20b.wav", &[], "").await.whole().await;
    assert_eq!((head.status, head.headers["content-length"].as_str(), head.body.len()), (200, "204", 0));
    server.stop().await;
}

#[tokio::test]
async fn a_head_that_does_not_arrive_is_not_waited_for() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut wanted = Wanted::good(1);
    wanted.settings = |settings| settings.read_timeout = Duration::from_millis(50);
    let server = wanted.start().await;
    let mut socket = tokio::net::TcpStream::connect(server.at).await.unwrap();
    socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: ").await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"), "{answer:?}");
    let body = [JSON, ("content-length", "100")];
    let slow = open(server.at, "POST", "/v1/chat", &body, "").await.whole().await;
    assert_eq!((slow.status, slow.code().as_str()), (408, "INVALID_REQUEST"));
    server.stop().await;
}

#[tokio::test]
async fn the_description_names_every_route() {
    let server = Wanted::good(1).start().await;
    let api = get(server.at, "/openapi.json").await.json();
    let paths: Vec<&str> = api["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    for path in [
        "/v1/rooms",
        "/v1/rooms/{room}",
        "/v1/rooms/{room}/messages",
        "/v1/rooms/{room}/events",
        "/v1/chat",
        "/v1/sessions/{id}/events",
        "/v1/audio/{audioPath}",
        "/healthz",
        "/metrics",
    ] {
        assert!(paths.contains(&path), "{path} is not among {paths:?}");
    }
    assert_eq!(api["components"]["schemas"]["Chat"]["additionalProperties"], json!(false));
    assert!(get(server.at, "/docs/").await.text().contains("swagger"));
    server.stop().await;
}
