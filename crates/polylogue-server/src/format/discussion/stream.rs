//! The stream of a message to a discussion: the turns that follow from it, then the discussion as it stands.

use axum::response::{Response, sse::Event as Frame};
use futures_util::{StreamExt, stream};
use polylogue_core::{
    Event,
    format::discussion::{Decision, DiscussionChange, DiscussionEntry, DiscussionState, discussion_changes},
    id::{Seq, SessionId},
};
use polylogue_runtime::Hub;
use schemars::JsonSchema;

use crate::{
    app::App,
    stream::{records, respond},
};

/// What a listener is told.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it only describes")]
pub(super) enum DiscussionEvent {
    /// A turn that was taken.
    #[schemars(title = "Entry", extend("x-event" = "entry"))]
    Entry(DiscussionEntry),
    /// The discussion as it stands: the last event.
    #[schemars(title = "Done", extend("x-event" = "done"))]
    Done(DiscussionState),
}

/// The turns that are taken in a discussion after `before`, which is the end of a turn, up to the next turn of a
/// person or the end; then the discussion as it stands. What came up to `heard` is known to the listener.
pub(super) fn discussion(app: &App, session: SessionId, before: Seq, heard: Seq) -> Response {
    let records = records(app.hub.subscribe(session, before)).boxed();
    let hub = app.hub.clone();
    let frames = stream::unfold(Some((records, Vec::new())), move |going| {
        let hub = hub.clone();
        async move {
            let (mut records, mut open) = going?;
            loop {
                let Some(record) = records.next().await else { return Some((state(&hub, session).await?, None)) };
                open.push(record.clone());
                if matches!(record.event, Event::Ended { .. }) {
                    return Some((state(&hub, session).await?, None));
                }
                let is_persons = match record.event.decided() {
                    Some(Decision::TurnTaken { next, .. }) => {
                        next.as_ref().is_some_and(|turn| turn.participant.is_person())
                    }
                    Some(Decision::Closed { .. }) => false,
                    _ => continue,
                };
                let changes = discussion_changes(session, &std::mem::take(&mut open));
                if is_persons {
                    // Nothing more is waited for.
                    records = stream::empty().boxed();
                }
                let taken = changes.into_iter().find_map(|change| match change {
                    DiscussionChange::Logged(row) => Some(DiscussionEntry::of(session, *row)),
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

/// The last event of a discussion's stream.
async fn state(hub: &Hub, session: SessionId) -> Option<Frame> {
    let records = hub.records(session).await.ok()?;
    let state = DiscussionState::of(&records).ok()?;
    let head = records.last()?.seq.to_string();
    Some(Frame::default().id(head).event("done").json_data(&state).expect("states have string keys"))
}
