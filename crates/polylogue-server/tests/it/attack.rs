//! Clients that hold on and do nothing, and handlers that break: the server goes on.

use std::{net::SocketAddr, time::Duration};

use polylogue_server::Settings;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::yield_now,
    time::timeout,
};

use crate::{
    chat::chat,
    client::{Answer, get, open, post},
    house::{Served, Wanted},
};

/// More than the buffers of both sides hold together.
const LARGE: u64 = 64 * 1024 * 1024;

async fn server(settings: fn(&mut Settings)) -> Served {
    let mut wanted = Wanted::good(2);
    (wanted.settings, wanted.is_alone) = (settings, true);
    wanted.start().await
}

/// What a metric says.
async fn metric(at: SocketAddr, name: &str) -> u64 {
    let page = get(at, "/metrics").await.text();
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    line.unwrap_or_else(|| panic!("{name} is not in {page}"))
}

/// Waits until only the one who asks is connected.
async fn until_alone(at: SocketAddr) {
    let alone = async {
        while metric(at, "polylogue_connections_open ").await > 1 {
            yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), alone).await.expect("the others are closed");
}

async fn ask(at: SocketAddr, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(at).await.unwrap();
    socket.write_all(format!("GET {path} HTTP/1.1\r\nhost: {at}\r\n\r\n").as_bytes()).await.unwrap();
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_stopped_is_not_waited_for() {
    let server = server(|settings| settings.write_timeout = Duration::from_millis(100)).await;
    let clip = std::fs::File::create(server.folder.path().join("artifacts/large.wav")).unwrap();
    clip.set_len(LARGE).unwrap();
    let mut stalled = Vec::new();
    for _ in 0..50 {
        stalled.push(ask(server.at, "/v1/audio/large.wav").await);
    }
    until_alone(server.at).await;
    let mut taken = Vec::new();
    let _ = stalled[0].read_to_end(&mut taken).await;
    assert!((taken.len() as u64) < LARGE, "{} bytes came after all", taken.len());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_that_is_read_stays() {
    let mut wanted = Wanted::good(2);
    (wanted.think, wanted.is_alone) = (Duration::from_secs(60), true);
    wanted.settings = |settings| {
        settings.write_timeout = Duration::from_millis(20);
        settings.read_timeout = Duration::from_millis(20);
        settings.keep_alive = Duration::from_millis(5);
    };
    let server = wanted.start().await;
    let mut chorus = post(server.at, "/v1/chat", &chat(2)).await;
    let session = chorus.event().await.unwrap().data["sessionId"].clone();
    let path = format!("/v1/sessions/{}/events", session.as_str().unwrap());
    let mut stream = ask(server.at, &path).await;
    let (mut heartbeats, mut taken) = (0, vec![0; 4_096]);
    while heartbeats < 100 {
        let read = stream.read(&mut taken).await.unwrap();
        assert!(read > 0, "it was closed after {heartbeats} heartbeats");
        heartbeats += taken[..read].windows(3).filter(|three| *three == b"\n:\n" || *three == b":\n\n").count();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed() {
    let server = server(|settings| settings.read_timeout = Duration::from_millis(50)).await;
    let mut silent = TcpStream::connect(server.at).await.unwrap();
    let mut kept_alive = ask(server.at, "/healthz").await;
    let mut answers = (Vec::new(), Vec::new());
    silent.read_to_end(&mut answers.0).await.unwrap();
    kept_alive.read_to_end(&mut answers.1).await.unwrap();
    assert!(answers.1.starts_with(b"HTTP/1.1 200"), "it was answered before");
    until_alone(server.at).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_no_room_is_told_so_and_health_is_answered() {
    let server = server(|settings| settings.max_connections = 4).await;
    // Whoever came first is served: each is heard once.
    let mut holding = Vec::new();
    for _ in 0..4 {
        let mut held = ask(server.at, "/healthz").await;
        held.read_exact(&mut [0; 15]).await.unwrap();
        holding.push(held);
    }
    let refused = |answer: Answer| {
        assert_eq!((answer.status, answer.code().as_str()), (503, "RATE_LIMITED"));
        assert_eq!((answer.headers["connection"].as_str(), answer.headers["retry-after"].as_str()), ("close", "1"));
    };
    refused(get(server.at, "/v1/sessions").await);
    refused(get(server.at, "/").await);
    refused(post(server.at, "/v1/chat", &chat(2)).await.whole().await);
    // However many come besides and say nothing.
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(server.at).await.unwrap());
    }
    assert_eq!(get(server.at, "/healthz").await.status, 200);
    assert_eq!(get(server.at, "/readyz").await.status, 200);
    drop((holding, idle));
    let served = async {
        while get(server.at, "/v1/sessions").await.status != 200 {
            yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), served).await.expect("there is room again");
    assert!(metric(server.at, "polylogue_connections_turned_away_total ").await >= 205);
    server.stop().await;
}

#[tokio::test]
async fn a_handler_that_panics_answers_and_is_counted() {
    let server = server(|_| {}).await;
    let before = metric(server.at, "polylogue_panics_total ").await;
    // This house knows no interviews, and breaks over them.
    let why = "/v1/sessions/00000000-0000-4000-8000-000000000000/why";
    let body = json!({"seq": 1}).to_string();
    for nth in 1..=3 {
        let broken = open(server.at, "POST", why, &[("content-type", "application/json")], &body).await.whole().await;
        assert_eq!((broken.status, broken.code().as_str()), (500, "INTERNAL"));
        assert!(!broken.text().contains("nobody asks"), "what broke inside is not told: {}", broken.text());
        assert!(broken.headers.contains_key("x-request-id"));
        assert_eq!(metric(server.at, "polylogue_panics_total ").await, before + nth);
    }
    server.stop().await;
}
