//! Standard output and standard error. Their readers may stop reading: then there is nothing left to say there, and
//! no reason to complain. Who runs a session looks whether anybody still reads.
//!
//! This is the one way out: what steers a terminal is made text here (see [`printable`](crate::printable)), and a
//! status line that is shown gives way to everything that is printed.

use std::{
    fmt::Display,
    io::{self, ErrorKind, Write, stderr, stdout},
    sync::{Mutex, OnceLock, PoisonError},
};

use indicatif::ProgressBar;
use polylogue_core::text::printable::printable_json;
use serde::Serialize;

use crate::printable::in_ink;

/// Why standard output cannot be written any more.
static CLOSED: OnceLock<ErrorKind> = OnceLock::new();

/// The status line that is shown.
static STATUS: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints a line.
pub(crate) fn line(text: impl Display) {
    to_stdout(&format!("{}\n", in_ink(&text.to_string())));
}

/// Prints a text as it is.
pub(crate) fn text(text: impl Display) {
    to_stdout(&in_ink(&text.to_string()));
}

/// Prints a value as a line of JSON.
pub(crate) fn json(value: &impl Serialize) {
    let json = serde_json::to_string(value).expect("what is printed has string keys");
    to_stdout(&format!("{}\n", printable_json(json)));
}

/// Whether nobody can read what is printed.
pub(crate) fn is_closed() -> bool {
    CLOSED.get().is_some()
}

/// Whether printing has failed for another reason than that the reader has left.
pub(crate) fn has_failed() -> bool {
    CLOSED.get().is_some_and(|why| *why != ErrorKind::BrokenPipe)
}

/// Tells a person something beside the output, on standard error.
pub(crate) fn notice(text: impl Display) {
    let text = in_ink(&text.to_string());
    // Where that cannot be written either, nobody is there to be told.
    beside_status(|| drop(writeln!(stderr().lock(), "{text}")));
}

/// Asks a person something on standard error; the answer is typed behind it.
pub(crate) fn question(text: impl Display) {
    let text = in_ink(&text.to_string());
    // Where that cannot be shown, the answer can be typed all the same.
    beside_status(|| drop(write!(stderr().lock(), "{text}").and_then(|()| stderr().flush())));
}

/// From here on what is printed is printed above this line.
pub(crate) fn keep_below(status: Option<ProgressBar>) {
    *STATUS.lock().unwrap_or_else(PoisonError::into_inner) = status;
}

/// Writes while the status line is out of the way.
pub(crate) fn beside_status<T>(write: impl FnOnce() -> T) -> T {
    let status = STATUS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match status {
        Some(status) => status.suspend(write),
        None => write(),
    }
}

fn to_stdout(text: &str) {
    if is_closed() {
        return;
    }
    if let Err(error) = beside_status(|| print(text))
        && CLOSED.set(error.kind()).is_ok()
        && has_failed()
    {
        notice(format!("error: standard output cannot be written: {error}"));
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
