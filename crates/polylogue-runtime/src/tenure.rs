//! For how long this process may take itself for the owner of what it runs.
//!
//! A process that was frozen, or could not reach its store, may have lost its sessions without knowing. What it would
//! append is refused, but a call is paid for when it is sent. So nothing is sent once the lease is over by this
//! process's own clock, until it has said again that it is alive and has found out what is still its own.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::bulletin::Bulletin;

/// Until when it lasts. Shared by the hub, which renews it, and by everything that is about to cost something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tenure(Arc<Bulletin<Option<Instant>>>);

impl Tenure {
    /// It lasts for so long from a moment before which the store was told.
    pub(crate) fn renew(&self, told: Instant, lease: Duration) {
        self.0.set(told.checked_add(lease));
    }

    /// Whether it was never begun: then there is nothing that could have been lost.
    pub(crate) fn is_new(&self) -> bool {
        self.0.read(Option::is_none)
    }

    pub(crate) fn is_certain(&self) -> bool {
        self.0.read(lasts)
    }

    /// Waits until it is certain. Says so first where it is not.
    pub(crate) async fn certain(&self, waits: impl FnOnce()) {
        if self.is_certain() {
            return;
        }
        waits();
        self.0.until(|until| lasts(until).then_some(())).await;
    }
}

fn lasts(until: &Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() < until)
}
