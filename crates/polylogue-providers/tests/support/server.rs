//! A loopback HTTP server that plays prepared answers, records what it was asked and sees who hangs up.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Uri},
    response::Response,
};
use futures_util::stream;
use serde_json::Value;
use tokio::{net::TcpListener, sync::Notify};

/// What a server does after the pieces of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Ends the answer properly.
    End,
    /// Breaks the connection in the middle.
    Cut,
    /// Sends nothing more, until the client goes away.
    Hang,
    /// Waits for [`Server::go_on`] after the first piece, then goes on to the end.
    Pause,
}

/// A prepared answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) pieces: Vec<String>,
    pub(crate) after: After,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Answer {
        let headers = vec![("content-type", "application/json".to_owned())];
        Answer { status, headers, pieces: vec![body.to_string()], after: After::End }
    }

    /// A stream of events, one piece each.
    pub(crate) fn events(pieces: Vec<String>) -> Answer {
        let headers = vec![("content-type", "text/event-stream; charset=utf-8".to_owned())];
        Answer { status: 200, headers, pieces, after: After::End }
    }

    /// A stream of JSON lines.
    pub(crate) fn lines(lines: &[Value]) -> Answer {
        let headers = vec![("content-type", "application/x-ndjson".to_owned())];
        let pieces = lines.iter().map(|line| format!("{line}\n")).collect();
        Answer { status: 200, headers, pieces, after: After::End }
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Answer {
        self.headers.push((name, value.to_owned()));
        self
    }

    #[must_use]
    pub(crate) fn then(mut self, after: After) -> Answer {
        self.after = after;
        self
    }

    /// Only the first pieces.
    #[must_use]
    pub(crate) fn first(mut self, pieces: usize) -> Answer {
        self.pieces.truncate(pieces);
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// The server; it ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Seen>>,
    client_left: Notify,
    go_on: Notify,
}

impl Server {
    pub(crate) async fn start(answers: Vec<Answer>) -> Server {
        let shared = Arc::new(Shared { answers: Mutex::new(answers.into()), ..Shared::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(play).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Server { address, shared }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The only request that arrived.
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "requests: {seen:?}");
        seen.into_iter().next().unwrap()
    }

    /// Waits until a client hangs up on an answer that hangs.
    pub(crate) async fn client_left(&self) {
        self.shared.client_left.notified().await;
    }

    /// Lets a paused answer go on.
    pub(crate) fn go_on(&self) -> impl Fn() + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || shared.go_on.notify_one()
    }
}

async fn play(State(shared): State<Arc<Shared>>, _: Method, uri: Uri, headers: HeaderMap, body: String) -> Response {
    let seen =
        Seen { path: uri.to_string(), headers, body: serde_json::from_str(&body).unwrap_or(Value::Null), text: body };
    shared.seen.lock().unwrap().push(seen);
    let Some(answer) = shared.answers.lock().unwrap().pop_front() else {
        return Response::builder().status(500).body(Body::from("no answer was prepared")).unwrap();
    };
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    response.body(pieces(answer, shared)).unwrap()
}

/// Tells the server when a body is dropped before its end.
struct Watch {
    shared: Arc<Shared>,
    is_watching: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.is_watching {
            self.shared.client_left.notify_one();
        }
    }
}

fn pieces(answer: Answer, shared: Arc<Shared>) -> Body {
    let watch = Watch { shared: shared.clone(), is_watching: answer.after == After::Hang };
    let left: VecDeque<String> = answer.pieces.into();
    let total = left.len();
    Body::from_stream(stream::unfold((left, watch), move |(mut left, watch)| {
        let shared = shared.clone();
        async move {
            if answer.after == After::Pause && left.len() + 1 == total {
                shared.go_on.notified().await;
            }
            if let Some(piece) = left.pop_front() {
                return Some((Ok(Bytes::from(piece)), (left, watch)));
            }
            match answer.after {
                After::End | After::Pause => None,
                After::Cut => {
                    // A moment in which what was sent leaves the buffers.
                    tokio::task::yield_now().await;
                    Some((Err(std::io::Error::other("cut")), (left, watch)))
                }
                After::Hang => std::future::pending().await,
            }
        }
    }))
}
