//! Journals on disk. The only crate that knows SQL; each backend is a module behind the runtime's `Journal`.

mod sqlite;

pub use sqlite::{OpenError, SqliteJournal};
