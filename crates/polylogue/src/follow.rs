//! Follows a running session to its end: shows what happens, and stops it when the person says so.

use std::process::ExitCode;

use polylogue_core::{
    Conversation, Reason,
    id::{Seq, SessionId},
};
use polylogue_runtime::Published;

use crate::{engine::Engine, failure::Failure, view::View};

/// What a shell expects of a command that was interrupted.
const INTERRUPTED: u8 = 130;

#[cfg(unix)]
fn presses() -> std::io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(windows)]
fn presses() -> std::io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}

/// Shows the session from after `seen` on, until it ends.
pub(crate) async fn follow(
    engine: &Engine,
    id: SessionId,
    seen: Seq,
    view: &mut dyn View,
) -> Result<ExitCode, Failure> {
    // From here on, and kept through the loop: a signal that comes while a line is shown is not lost.
    let mut presses = presses().map_err(|error| Failure::internal(format!("Ctrl-C cannot be heard: {error}")))?;
    let ending = engine.hub.ending(id);
    let mut subscription = engine.hub.subscribe(id, seen);
    let records = engine.hub.records(id).await?;
    let past = usize::try_from(seen.0).unwrap_or(usize::MAX).clamp(1, records.len());
    let mut conversation = Conversation::replay(&records[..past])?;
    view.open(&conversation);
    let mut is_stopping = false;
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
                Some(Published::Waiting { ask, what }) => view.waiting(&ask, what.as_deref(), &conversation),
                None => break,
            },
            _ = presses.recv() => {
                if is_stopping {
                    // Twice means now: the journal is whole, and the session can be resumed.
                    return Ok(ExitCode::from(INTERRUPTED));
                }
                is_stopping = true;
                let hub = engine.hub.clone();
                tokio::spawn(async move { hub.stop(id).await });
            }
        }
    }
    view.close(&conversation);
    ending.await?;
    Ok(match conversation.stage().ended() {
        Some(Reason::CANCELLED) => ExitCode::from(INTERRUPTED),
        // It ran up to a person's turn.
        None if conversation.stage().is_waiting() => ExitCode::SUCCESS,
        Some(Reason::FAILED) | None => ExitCode::FAILURE,
        Some(_) => ExitCode::SUCCESS,
    })
}
