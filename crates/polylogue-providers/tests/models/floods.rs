//! A server that does not stop to send: what is read of it is bounded, whatever it is.

use std::time::{Duration, Instant};

use polylogue_providers::Limits;
use polylogue_runtime::port::{CallError, Model};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::support::ask::{call, models_at, request};

/// A server that says this and then the same again and again; how many bytes it got rid of before it was left.
async fn flood(head: &'static str, again: String) -> (String, tokio::task::JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let sent = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 65_536]).await;
        let mut sent = 0;
        let mut piece = head.as_bytes();
        while let Ok(bytes @ 1..) = socket.write(piece).await {
            sent += bytes as u64;
            piece = again.as_bytes();
        }
        sent
    });
    (base, sent)
}

#[tokio::test]
async fn a_gigabyte_is_not_read() {
    let event = "data: {\"choices\": [{\"delta\": {\"content\": \"word \"}}]}\n\n".repeat(1_000);
    for (what, head, again) in [
        ("a stream of words", "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", event),
        ("a stream of nothing", "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", ": \n\n".repeat(10_000)),
        ("one event", "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: \"", "x".repeat(50_000)),
        ("one document", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n\"", "x".repeat(50_000)),
        ("an error", "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n\"", "x".repeat(50_000)),
    ] {
        let (base, sent) = flood(head, again).await;
        let limits = Limits { max_response_bytes: 1024 * 1024, ..Limits::default() };
        let began = Instant::now();
        let reply = models_at(&base, limits).answer(&call(request("lab/any"))).await;
        match (what, &reply) {
            ("an error", Err(CallError::Rejected(_))) | (_, Err(CallError::BadResponse(_))) => {}
            other => panic!("{other:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        // What the system had in its buffers is sent as well.
        let sent = sent.await.unwrap();
        assert!(sent < 32 * 1024 * 1024, "{what}: {sent} bytes");
    }
}
