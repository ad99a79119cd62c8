//! Standard output and standard error. Their readers may stop reading: then there is nothing left to say there, and
//! no reason to complain. Who runs a session looks whether anybody still reads.

use std::{
    fmt::Display,
    io::{self, ErrorKind, Write, stderr, stdout},
    sync::OnceLock,
};

use serde::Serialize;

/// Why standard output cannot be written any more.
static CLOSED: OnceLock<ErrorKind> = OnceLock::new();

/// Prints a line.
pub(crate) fn line(text: impl Display) {
    text_and(&text, "\n");
}

/// Prints a text as it is.
pub(crate) fn text(text: impl Display) {
    text_and(&text, "");
}

/// Prints a value as a line of JSON.
pub(crate) fn json(value: &impl Serialize) {
    line(serde_json::to_string(value).expect("what is printed has string keys"));
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
    // Where that cannot be written either, nobody is there to be told.
    let _ = writeln!(stderr().lock(), "{text}");
}

fn text_and(text: &dyn Display, end: &str) {
    if is_closed() {
        return;
    }
    if let Err(error) = print(text, end)
        && CLOSED.set(error.kind()).is_ok()
        && has_failed()
    {
        notice(format!("error: standard output cannot be written: {error}"));
    }
}

fn print(text: &dyn Display, end: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    write!(out, "{text}{end}")?;
    out.flush()
}
