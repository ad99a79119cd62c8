//! Standard output. The reader may stop reading: then there is nothing left to say, and no reason to
//! complain.

use std::{
    fmt::Display,
    io::{ErrorKind, Write, stdout},
};

use serde::Serialize;

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

fn text_and(text: &dyn Display, end: &str) {
    let mut out = stdout().lock();
    if let Err(error) = write!(out, "{text}{end}").and_then(|()| out.flush()) {
        if error.kind() != ErrorKind::BrokenPipe {
            eprintln!("error: standard output cannot be written: {error}");
        }
        // A session that was running can be resumed.
        std::process::exit(i32::from(error.kind() != ErrorKind::BrokenPipe));
    }
}
