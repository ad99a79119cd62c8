//! The stream of a chorus: its events, with the numbers of the records that they are.

use axum::response::{Response, sse::Event as Frame};
use futures_util::{StreamExt, stream};
use polylogue_core::{
    Event,
    format::chorus::{ChorusStream, SlotId},
    id::{Seq, SessionId},
};
use polylogue_runtime::Published;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    app::App,
    stream::{passing, published, respond, subscribed},
};

/// When a chorus's stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// With the first `done`: the answer to one message.
    Done,
    /// With the last record that there is.
    Last,
}

/// Where in a chorus something passes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Chorus")]
pub(super) struct Where {
    slot_id: SlotId,
    turn_index: u32,
}

/// The events of a chorus after `after`, and what passes for those who want it.
pub(super) fn chorus(app: &App, session: SessionId, after: Seq, until: Until, is_live: bool) -> Response {
    // The fold needs the records from the first, whatever the listener has seen.
    let heard = published(subscribed(app, session, Seq::START, is_live)).boxed();
    let frames =
        stream::unfold((heard, None::<ChorusStream>, false), move |(mut heard, mut fold, is_done)| async move {
            if is_done {
                return None;
            }
            loop {
                let record = match heard.next().await? {
                    Published::Record(record) => record,
                    passes @ (Published::Delta { .. } | Published::Waiting { .. }) => {
                        let Some(frame) = fold.as_ref().and_then(|fold| passing_in(fold, passes)) else { continue };
                        return Some((frame, (heard, fold, is_done)));
                    }
                };
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
                return Some((frame.expect("events have string keys"), (heard, fold, is_done)));
            }
        });
    respond(app, frames)
}

fn passing_in(fold: &ChorusStream, passes: Published) -> Option<Frame> {
    let (Published::Delta { ask, .. } | Published::Waiting { ask, .. }) = &passes else { return None };
    let (slot_id, turn_index) = fold.place(ask)?;
    passing(passes, Where { slot_id, turn_index })
}
