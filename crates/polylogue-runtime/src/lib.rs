//! Runs conversations: performs the steps that the core wants, and records what happened.
//!
//! The [`port`]s say what is needed from outside; the drive loop is one function for every format; the hub
//! holds the sessions that are live.

#[cfg(feature = "conformance")]
pub mod conformance;
mod memory;
pub mod port;

pub use memory::MemoryJournal;
