//! The side that watches a session which another process runs: that there are new records, and the words that are being
//! written there.
//!
//! All of it may be lost. Records are then found by looking into the journal, and words are asked for again.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use polylogue_core::id::Seq;
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{Channel, arriving::Arriving};
use crate::port::{Signal, Signalled, Topic, Words};

/// How often it is said that the words are still wanted.
const RENEWAL: Duration = Duration::from_secs(5);

/// Where there is news but no words have come for so long, nobody may know that they are wanted.
const SILENCE: Duration = Duration::from_secs(1);

/// A task that ends with whoever holds this.
#[derive(Debug)]
pub(crate) struct Task(AbortHandle);

impl Task {
    pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(tokio::spawn(work).abort_handle())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Channel {
    /// Listens to whoever else runs the session, unless it runs here or that is done already.
    pub(super) fn listen_elsewhere(self: &Arc<Self>) {
        if self.is_run() {
            return;
        }
        let mut listening = self.listening();
        if listening.as_ref().is_none_or(|task| task.0.is_finished()) {
            let signalled = self.channels.signals.listen(Topic::Session(self.session));
            *listening = Some(Task::spawn(listen(Arc::downgrade(self), signalled)));
        }
    }

    /// Has those who watch read the journal up to here.
    fn tell_of(&self, head: Seq) {
        self.news.send_if_modified(|known| std::mem::replace(known, head.max(*known)) < head);
    }

    /// Takes in what is being written elsewhere. Tells whether something before it is missing.
    fn hear(&self, words: Words) -> bool {
        let mut open = self.open();
        // Who writes here knows better, and what was sent before an ask was over is void after it.
        if self.is_run() || words.head < open.closed {
            return false;
        }
        open.asks.retain(|ask, _| words.asks.iter().any(|spoken| spoken.ask == *ask));
        open.heard_at = words.head;
        let mut is_whole = true;
        for spoken in words.asks {
            let arriving = open.asks.entry(spoken.ask.clone()).or_insert_with(Arriving::elsewhere);
            is_whole &= arriving.hear(spoken);
        }
        drop(open);
        self.stirred.send_modify(|()| {});
        !is_whole
    }
}

/// Listens for as long as there is a channel and nobody runs the session here.
async fn listen(channel: Weak<Channel>, mut signalled: Signalled) {
    let (mut renewal, mut wanted_at, mut heard_at) = (Instant::now(), None, None);
    let Some(first_ear) = channel.upgrade().map(|channel| channel.first_ear.clone()) else { return };
    loop {
        {
            let Some(channel) = channel.upgrade().filter(|channel| !channel.is_run()) else { return };
            let now = Instant::now();
            if renewal <= now {
                renewal = now + RENEWAL;
                if channel.has_ears() {
                    wanted_at = Some(now);
                    let wanted = Signal::Wanted { session: channel.session };
                    channel.channels.signals.send(&Topic::Nodes, wanted);
                }
            }
        }
        let signal = tokio::select! {
            biased;
            () = first_ear.notified() => {
                renewal = Instant::now();
                continue;
            }
            () = sleep_until(renewal) => continue,
            signal = signalled.next() => signal,
        };
        let Some(channel) = channel.upgrade() else { return };
        match signal {
            Signal::News { head } => {
                channel.tell_of(head);
                let is_quiet = |at: Option<Instant>| at.is_none_or(|at| at.elapsed() >= SILENCE);
                if is_quiet(wanted_at) && is_quiet(heard_at) {
                    renewal = Instant::now();
                }
            }
            Signal::Words(words) => {
                heard_at = Some(Instant::now());
                channel.tell_of(words.head);
                if channel.hear(words) {
                    renewal = Instant::now();
                }
            }
            Signal::Look | Signal::Wanted { .. } => {}
        }
    }
}
