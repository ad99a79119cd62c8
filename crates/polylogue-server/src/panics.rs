//! Panics, counted where they happen: in a handler, in a session or in any other task.

use std::{
    panic,
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Counts every panic of the process from now on. What is told about one stays as it is.
pub(crate) fn count() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            COUNT.fetch_add(1, Ordering::Relaxed);
            tell(about);
        }));
    });
}

pub(crate) fn counted() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
