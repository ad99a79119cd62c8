//! Event streams: a subscription to a session, sent as server-sent events with the journal's sequence numbers.

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
    Event, Record,
    format::discussion::{Decision, Who},
    id::{Seq, SessionId},
    projection::{ChorusStream, DiscussionChange, DiscussionEntry, DiscussionState, discussion_changes},
    room::RoomId,
};
use polylogue_runtime::{Hub, Published, Subscription};

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

/// When a chorus's stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// With the first `done`: the answer to one message.
    Done,
    /// With the last record that there is.
    Last,
}

/// The events of a chorus after `after`.
pub(crate) fn chorus(app: &App, session: SessionId, after: Seq, until: Until) -> Response {
    // The fold needs the records from the first, whatever the listener has seen.
    let records = records(app.hub.subscribe(session, Seq::START)).boxed();
    let frames =
        stream::unfold((records, None::<ChorusStream>, false), move |(mut records, mut fold, is_done)| async move {
            if is_done {
                return None;
            }
            loop {
                let record = records.next().await?;
                let event = match &mut fold {
                    Some(fold) => fold.on(&record),
                    None => {
                        let (begun, first) = ChorusStream::begin(&record).ok()?;
                        fold = Some(begun);
                        Some(first)
                    }
                };
                let Some(event) = event.filter(|_| record.seq > after) else { continue };
                let is_done = until == Until::Done && matches!(record.event, Event::Ended { .. });
                let frame = Frame::default().id(record.seq.to_string()).event(event.name()).json_data(&event);
                return Some((frame.expect("events have string keys"), (records, fold, is_done)));
            }
        });
    respond(app, frames)
}

/// The turns that are taken in a discussion after `before`, which is the end of a turn, up to the next turn of a
/// person or the end; then the discussion as it stands. What came up to `heard` is known to the listener.
pub(crate) fn discussion(app: &App, session: SessionId, before: Seq, heard: Seq) -> Response {
    let records = records(app.hub.subscribe(session, before)).boxed();
    let hub = app.hub.clone();
    let frames = stream::unfold(Some((records, Vec::new())), move |going| {
        let hub = hub.clone();
        async move {
            let (mut records, mut open) = going?;
            loop {
                let Some(record) = records.next().await else { return Some((state(&hub, session).await?, None)) };
                open.push(record.clone());
                let next = match &record.event {
                    Event::Ended { .. } => return Some((state(&hub, session).await?, None)),
                    Event::Discussion(Decision::TurnTaken { next, .. }) => next,
                    _ => continue,
                };
                let is_persons = next.as_ref().is_some_and(|turn| matches!(turn.participant.who, Who::Person(_)));
                let changes = discussion_changes(session, &std::mem::take(&mut open));
                if is_persons {
                    // Nothing more is waited for.
                    records = stream::empty().boxed();
                }
                let taken = changes.into_iter().find_map(|change| match change {
                    DiscussionChange::Logged(row) => Some(DiscussionEntry::of(session, row)),
                    _ => None,
                });
                let Some(entry) = taken.filter(|_| record.seq > heard) else { continue };
                let frame = Frame::default().id(record.seq.to_string()).event("entry").json_data(&entry);
                return Some((frame.expect("entries have string keys"), Some((records, open))));
            }
        }
    });
    respond(app, frames)
}

/// The events of a room after the one with this number, for as long as somebody listens.
pub(crate) fn room(app: &App, room: RoomId, heard: u64) -> Response {
    let frames = stream::unfold(app.hub.listen(room, heard), |mut listener| async move {
        match listener.next().await {
            Ok((number, event)) => {
                let frame = Frame::default().id(number.to_string()).json_data(&event);
                Some((frame.expect("events have string keys"), listener))
            }
            Err(error) => {
                tracing::error!(%error, "a room's event stream breaks off");
                None
            }
        }
    });
    respond(app, frames)
}

/// The last event of a discussion's stream.
async fn state(hub: &Hub, session: SessionId) -> Option<Frame> {
    let records = hub.records(session).await.ok()?;
    let state = DiscussionState::of(&records).ok()?;
    let head = records.last()?.seq.to_string();
    Some(Frame::default().id(head).event("done").json_data(&state).expect("states have string keys"))
}

/// The records of a subscription; a journal that cannot be read any further ends them.
fn records(subscription: Subscription) -> impl Stream<Item = Arc<Record>> + Send {
    stream::unfold(subscription, |mut subscription| async move {
        loop {
            match subscription.next().await {
                Ok(Some(Published::Record(record))) => return Some((record, subscription)),
                Ok(Some(Published::Delta { .. })) => {}
                Ok(None) => return None,
                Err(error) => {
                    tracing::error!(%error, "an event stream breaks off");
                    return None;
                }
            }
        }
    })
}

fn respond(app: &App, frames: impl Stream<Item = Frame> + Send + 'static) -> Response {
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
