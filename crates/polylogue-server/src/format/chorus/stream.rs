//! The stream of a chorus: its events, with the numbers of the records that they are.

use axum::response::{Response, sse::Event as Frame};
use futures_util::{StreamExt, stream};
use polylogue_core::{
    Event,
    format::chorus::ChorusStream,
    id::{Seq, SessionId},
};

use crate::{
    app::App,
    stream::{records, respond},
};

/// When a chorus's stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// With the first `done`: the answer to one message.
    Done,
    /// With the last record that there is.
    Last,
}

/// The events of a chorus after `after`.
pub(super) fn chorus(app: &App, session: SessionId, after: Seq, until: Until) -> Response {
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
