//! Follows a running session to its end: shows what happens, and stops it when the person says so.

use std::process::ExitCode;

use polylogue_core::{
    Conversation, Reason,
    id::{Seq, SessionId},
};
use polylogue_runtime::Published;
use tokio::signal::ctrl_c;

use crate::{engine::Engine, failure::Failure, view::View};

/// What a shell expects of a command that was interrupted.
const INTERRUPTED: u8 = 130;

/// Shows the session from after `seen` on, until it ends.
pub(crate) async fn follow(
    engine: &Engine,
    id: SessionId,
    seen: Seq,
    view: &mut dyn View,
) -> Result<ExitCode, Failure> {
    let ending = engine.hub.ending(id);
    let mut subscription = engine.hub.subscribe(id, seen);
    let records = engine.hub.records(id).await?;
    let past = usize::try_from(seen.0).unwrap_or(usize::MAX).clamp(1, records.len());
    let mut conversation = Conversation::replay(&records[..past])?;
    view.open(&conversation);
    let mut is_stopping = false;
    // Kept from one turn of the loop to the next: a signal that comes while a line is shown is not lost.
    let mut pressed = Box::pin(ctrl_c());
    loop {
        tokio::select! {
            published = subscription.next() => match published? {
                Some(Published::Record(record)) => {
                    if record.seq > conversation.stage().head() {
                        conversation.apply(&record);
                    }
                    view.record(&record, &conversation);
                }
                Some(Published::Delta { ask, text }) => view.delta(&ask, &text, &conversation),
                None => break,
            },
            signal = &mut pressed => {
                if signal.is_err() || is_stopping {
                    // Twice means now: the journal is whole, and the session can be resumed.
                    return Ok(ExitCode::from(INTERRUPTED));
                }
                is_stopping = true;
                pressed = Box::pin(ctrl_c());
                let hub = engine.hub.clone();
                tokio::spawn(async move { hub.stop(id).await });
            }
        }
    }
    view.close(&conversation);
    ending.await?;
    Ok(match conversation.stage().ended() {
        Some(Reason::Cancelled) => ExitCode::from(INTERRUPTED),
        Some(Reason::Failed) | None => ExitCode::FAILURE,
        Some(_) => ExitCode::SUCCESS,
    })
}
