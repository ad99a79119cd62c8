//! Journals on disk. The only crate that knows SQL; each backend is a module behind the runtime's ports, and what an
//! append means beside its records is worked out once for all of them (`batch.rs`, `views.rs`).

mod batch;
mod copy;
mod list;
mod open;
mod open_error;
mod postgres;
mod sqlite;
mod views;

pub use copy::{Copied, CopyError, copy};
pub use open::{open, without_password};
pub use open_error::OpenError;
pub use postgres::PostgresJournal;
pub use sqlite::SqliteJournal;
