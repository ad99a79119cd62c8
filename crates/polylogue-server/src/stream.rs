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
    id::{Seq, SessionId},
};
use polylogue_runtime::{Published, Subscription};

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

/// Every record of a session after `after`, to its last.
pub(crate) fn journal(app: &App, session: SessionId, after: Seq) -> Response {
    let subscription = app.hub.subscribe(session, after);
    let frames = records(subscription).map(|record| {
        Frame::default().id(record.seq.to_string()).json_data(&*record).expect("records have string keys")
    });
    respond(app, frames)
}

/// The records of a subscription. A journal that cannot be read any further ends them.
pub(crate) fn records(subscription: Subscription) -> impl Stream<Item = Arc<Record>> + Send {
    stream::unfold(subscription, |mut subscription| async move {
        loop {
            match subscription.next().await {
                Ok(Some(Published::Record(record))) => return Some((record, subscription)),
                Ok(Some(Published::Delta { .. } | Published::Waiting { .. })) => {}
                Ok(None) => return None,
                Err(error) => {
                    tracing::error!(%error, "an event stream breaks off");
                    return None;
                }
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
