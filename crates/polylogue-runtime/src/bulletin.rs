//! A value that changes, and those who wait for it to change.
//!
//! They are woken in the order in which they came. tokio's `watch` wakes them by lot, and a run that is drawn from a
//! seed would not be the same twice (`tests/simulation`).

use std::{
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Bulletin<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T> Bulletin<T> {
    pub(crate) fn new(value: T) -> Bulletin<T> {
        Bulletin { value: Mutex::new(value), changed: Notify::new() }
    }

    pub(crate) fn set(&self, value: T) {
        *self.lock() = value;
        self.changed.notify_waiters();
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.lock())
    }

    /// Waits until the value has what is looked for.
    pub(crate) async fn until<R>(&self, find: impl Fn(&T) -> Option<R>) -> R {
        loop {
            let mut changed = pin!(self.changed.notified());
            // What changes between the look and the wait is not missed.
            changed.as_mut().enable();
            if let Some(found) = self.read(&find) {
                return found;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
