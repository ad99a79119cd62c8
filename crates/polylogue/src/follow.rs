//! Follows a running session to its end: shows what happens, and stops it when the person says so or has left.

use std::{process::ExitCode, time::Duration};

use polylogue_core::{
    Conversation, Reason, Record,
    id::{Seq, SessionId},
};
use polylogue_runtime::{HubError, Published};
use tokio::{task::JoinHandle, time::timeout};

use crate::{engine::Engine, failure::Failure, output, seat::Seat, signals::Signals, view::View};

/// What a shell expects of a command that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// How long a second Ctrl-C waits for the stop of the first to be on disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// Shows the session from after `seen` on, until it ends or waits for a person. The process runs nothing after that.
pub(crate) async fn follow(
    engine: &Engine,
    id: SessionId,
    seen: Seq,
    view: &mut dyn View,
) -> Result<ExitCode, Failure> {
    let followed = follow_on(engine, id, seen, view).await;
    engine.hub.leave().await;
    followed
}

async fn follow_on(engine: &Engine, id: SessionId, seen: Seq, view: &mut dyn View) -> Result<ExitCode, Failure> {
    // From here on, and kept through the loop: a signal that comes while a line is shown is not lost.
    let mut signals = Signals::new()?;
    let ending = engine.hub.ending(id);
    tokio::pin!(ending);
    let mut is_run_here = true;
    let mut subscription = engine.hub.subscribe(id, seen);
    let records = engine.hub.records(id).await?;
    let past = usize::try_from(seen.0).unwrap_or(usize::MAX).clamp(1, records.len());
    let mut shown = Shown { conversation: Conversation::replay(&records[..past])?, last: seen, view };
    shown.view.tell(&shown.conversation);
    let mut seat = Seat::taken_in(engine, &shown.conversation);
    if let Some(seat) = &seat {
        shown.view.seat(seat.keyboard.has_keys());
    }
    shown.view.open(&shown.conversation);
    let mut stopping: Option<JoinHandle<Result<Reason, HubError>>> = None;
    loop {
        let mut is_to_stop = false;
        let call = seat.as_mut().filter(|_| stopping.is_none());
        tokio::select! {
            called = Seat::called(call, &shown.conversation) => {
                let has_acted = match seat.as_mut() {
                    Some(seat) => seat.act(called, id, &mut shown).await?,
                    None => false,
                };
                // It may have begun to run here again.
                if has_acted && engine.hub.is_running(id) {
                    ending.set(engine.hub.ending(id));
                    is_run_here = true;
                }
            }
            published = subscription.next() => match published? {
                Some(Published::Record(record)) => {
                    shown.record(&record);
                    seat.iter_mut().for_each(|seat| seat.saw(&record));
                }
                Some(Published::Delta { ask, text, is_restart }) => {
                    if is_restart {
                        shown.view.void(&ask);
                    }
                    shown.view.delta(&ask, &text, &shown.conversation);
                }
                Some(Published::Waiting { ask, what }) => {
                    shown.view.waiting(&ask, what.as_deref(), &shown.conversation);
                }
                None => break,
            },
            ended = &mut ending, if is_run_here => {
                is_run_here = false;
                for record in engine.hub.records_after(id, shown.last).await? {
                    shown.record(&record);
                    seat.iter_mut().for_each(|seat| seat.saw(&record));
                }
                ended?;
                let stage = shown.conversation.stage();
                if stage.ended().is_some() || (stage.is_waiting() && seat.is_none()) {
                    break;
                }
                if stage.is_waiting() {
                    continue;
                }
                // This process seemed to be gone for a while, and another has taken the session over.
                output::notice("Another process goes on with the session; this is what it does.");
            },
            () = signals.next() => is_to_stop = true,
        }
        match &mut stopping {
            // Twice means now. What is on disk by then is on disk.
            Some(stopping) if is_to_stop => {
                let _ = timeout(PATIENCE, stopping).await;
                return Ok(ExitCode::from(INTERRUPTED));
            }
            None if is_to_stop || output::is_closed() => {
                shown.view.stopping();
                let hub = engine.hub.clone();
                stopping = Some(tokio::spawn(async move { hub.stop(id).await }));
            }
            _ => {}
        }
    }
    // The last record can be seen before the files that follow from it are written.
    if is_run_here {
        ending.await?;
    }
    shown.view.close(&shown.conversation);
    engine.guide.tell(&shown.conversation);
    let stage = shown.conversation.stage();
    Ok(match stage.ended() {
        Some(Reason::CANCELLED) => ExitCode::from(INTERRUPTED),
        // It ran up to a person's turn.
        None if stage.is_waiting() => ExitCode::SUCCESS,
        Some(reason) if !reason.is_failure() => ExitCode::SUCCESS,
        Some(_) | None => ExitCode::FAILURE,
    })
}

/// A session as far as it was shown.
pub(crate) struct Shown<'a> {
    pub(crate) conversation: Conversation,
    last: Seq,
    pub(crate) view: &'a mut dyn View,
}

impl Shown<'_> {
    /// Shows a record, unless it was shown before.
    fn record(&mut self, record: &Record) {
        if record.seq <= self.last {
            return;
        }
        if record.seq > self.conversation.stage().head() {
            self.conversation.apply(record);
        }
        self.last = record.seq;
        self.view.record(record, &self.conversation);
    }
}
