//! What a conversation between agents and a person is: its events, formats, prompts and parsers.
//!
//! Core decides and never acts. It has no clock, no randomness, no files, no network and no threads: all of
//! that comes in as arguments, so that the same journal always makes the same conversation. Start at
//! [`Conversation`].

pub mod ask;
mod chance;
mod conversation;
pub mod event;
pub mod format;
pub mod id;
pub mod ledger;
pub mod line;
pub mod memory;
pub mod money;
mod name;
mod narration;
pub mod projection;
mod prompt;
mod purpose;
mod reason;
pub mod room;
pub mod setup;
mod stage;
mod step;
mod tenant;
pub mod text;
mod thread;
mod time;

pub use conversation::{Conversation, NotAJournal};
pub use event::{Event, Record};
pub use narration::{NARRATOR, Narration};
pub use prompt::Templates;
pub use reason::{Ending, Reason};
pub use setup::Setup;
pub use stage::{Allowance, Failure, Stage};
pub use step::{Answer, Awaited, Cut, Halt, Input, Rejected, Step};
pub use tenant::{BadTenant, Tenant};
pub use time::Timestamp;
