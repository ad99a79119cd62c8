//! Event streams: a subscription to a session, sent as server-sent events with the journal's sequence numbers. The
//! streams of one format are in its own folder.

use std::{convert::Infallible, sync::Arc};

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event as Frame, KeepAlive},
    },
};
use futures_util::{Stream, StreamExt, stream};
use polylogue_core::{
    Record,
    id::{AskId, Seq, SessionId},
};
use polylogue_runtime::{Published, Subscription};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{app::App, error::Refusal};

const LAST_EVENT_ID: &str = "last-event-id";

/// The place after which a listener wants to hear: `Last-Event-ID` before `from`, and neither is the start.
pub(crate) fn place(headers: &HeaderMap, from: Option<u64>) -> Result<Seq, Refusal> {
    match headers.get(LAST_EVENT_ID) {
        None => Ok(Seq(from.unwrap_or(0))),
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            id.map(Seq).ok_or_else(|| Refusal::request("`Last-Event-ID` must be a sequence number"))
        }
    }
}

/// Words of a reply that is still being written, in events named `delta` without an id.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Delta {
    ask: AskId,
    agent: String,
    text: String,
    /// Whether what was told of this ask is void and `text` begins it anew
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    restart: bool,
}

/// What an ask waits for while no model works on it, in events named `waiting` without an id.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Waiting {
    ask: AskId,
    agent: String,
    /// `null` when it waits no more
    what: Option<String>,
}

/// Something that passes and is not recorded, with where it belongs in this stream.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{P}{W}")]
pub(crate) struct Passing<W, P> {
    #[serde(flatten)]
    what: W,
    #[serde(flatten)]
    place: P,
}

/// What a stream carries: the events that are recorded, and what passes for those who ask for it with `live=true`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "{P}StreamEvent")]
#[allow(dead_code, reason = "it only describes")]
pub(crate) enum StreamEvent<E, P> {
    Recorded(E),
    #[schemars(extend("x-event" = "delta"))]
    Delta(Passing<Delta, P>),
    #[schemars(extend("x-event" = "waiting"))]
    Waiting(Passing<Waiting, P>),
}

/// The frame of something that passes, with where it belongs in this stream; `None` for a record.
pub(crate) fn passing(published: Published, place: impl Serialize) -> Option<Frame> {
    let frame = match published {
        Published::Record(_) => return None,
        Published::Delta { ask, text, is_restart } => {
            let (agent, text) = (ask.agent.to_string(), text.to_string());
            let what = Delta { ask, agent, text, restart: is_restart };
            Frame::default().event("delta").json_data(Passing { what, place })
        }
        Published::Waiting { ask, what } => {
            let (agent, what) = (ask.agent.to_string(), what.map(|what| what.to_string()));
            let what = Waiting { ask, agent, what };
            Frame::default().event("waiting").json_data(Passing { what, place })
        }
    };
    Some(frame.expect("what passes has string keys"))
}

/// A session's own stream says nothing besides.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(crate) struct Nowhere {}

/// Every record of a session after `after`, to its last, and what passes for those who want it.
pub(crate) fn journal(app: &App, session: SessionId, after: Seq, is_live: bool) -> Response {
    let frames = published(subscribed(app, session, after, is_live)).filter_map(async |published| match published {
        Published::Record(record) => {
            let frame = Frame::default().id(record.seq.to_string()).json_data(&*record);
            Some(frame.expect("records have string keys"))
        }
        published => passing(published, Nowhere {}),
    });
    respond(app, frames)
}

/// A session after `after`, with what passes or without it.
pub(crate) fn subscribed(app: &App, session: SessionId, after: Seq, is_live: bool) -> Subscription {
    let subscription = app.hub.subscribe(session, after);
    if is_live { subscription } else { subscription.of_records() }
}

/// The records of a subscription. A journal that cannot be read any further ends them.
pub(crate) fn records(subscription: Subscription) -> impl Stream<Item = Arc<Record>> + Send {
    published(subscription.of_records()).filter_map(async |published| match published {
        Published::Record(record) => Some(record),
        Published::Delta { .. } | Published::Waiting { .. } => None,
    })
}

/// What a subscription brings. A journal that cannot be read any further ends it.
pub(crate) fn published(subscription: Subscription) -> impl Stream<Item = Published> + Send {
    stream::unfold(subscription, |mut subscription| async move {
        match subscription.next().await {
            Ok(published) => Some((published?, subscription)),
            Err(error) => {
                tracing::error!(%error, "an event stream breaks off");
                None
            }
        }
    })
}

pub(crate) fn respond(app: &App, frames: impl Stream<Item = Frame> + Send + 'static) -> Response {
    let open = app.metrics.stream();
    let frames = frames.take_until(app.closing.clone().cancelled_owned()).map(move |frame| {
        let _ = &open;
        Ok::<_, Infallible>(frame)
    });
    let keep_alive = KeepAlive::new().interval(app.settings.keep_alive);
    let mut response = Sse::new(frames).keep_alive(keep_alive).into_response();
    // Proxies that gather a response before they pass it on would make a stream of it no longer.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    response
}
