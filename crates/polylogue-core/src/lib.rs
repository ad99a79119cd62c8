//! What a conversation between agents and a person is: its events, formats, prompts and parsers.
//!
//! Core decides and never acts. It has no clock, no randomness, no files, no network and no threads: all of
//! that comes in as arguments, so that the same journal always makes the same conversation. Start at
//! [`Conversation`].

pub mod ask;
pub mod bracket;
mod chance;
mod conversation;
pub mod cut;
pub mod event;
pub mod format;
pub mod id;
pub mod identity;
pub mod ledger;
pub mod line;
pub mod memory;
pub mod money;
pub mod mood;
pub mod projection;
mod prompt;
mod reason;
pub mod repetition;
pub mod reply;
pub mod room;
pub mod setup;
pub mod spoken;
mod stage;
mod step;
mod time;

pub use conversation::{Conversation, NotAJournal};
pub use event::{Event, Record};
pub use prompt::Templates;
pub use reason::{Ending, Reason};
pub use setup::Setup;
pub use stage::{Failure, Stage};
pub use step::{Answer, Cut, Halt, Input, Rejected, Step};
pub use time::Timestamp;
