//! Journals on disk. The only crate that knows SQL; each backend is a module behind the runtime's ports, and what an
//! append means beside its records is worked out once for all of them (`batch.rs`, `views.rs`).

mod batch;
mod list;
mod open_error;
mod postgres;
mod sqlite;
mod views;

pub use open_error::OpenError;
pub use postgres::PostgresJournal;
pub use sqlite::SqliteJournal;
