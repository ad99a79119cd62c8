//! Runs conversations: performs the steps that the core wants, and records what happened.
//!
//! The [`port`]s say what is needed from outside; the drive loop is one function for every format; the hub
//! holds the sessions that are live.

mod bulletin;
mod call;
#[cfg(feature = "conformance")]
pub mod conformance;
mod drive;
mod hub;
mod live;
mod memory;
mod nearby;
mod overheard;
mod places;
pub mod port;
mod purse;
mod room;
mod spending;
mod tenure;

pub use call::Retries;
pub use hub::{Hub, HubError, HubSettings, Known, Opened};
pub use live::{Published, Subscription};
pub use memory::MemoryJournal;
pub use nearby::Nearby;
pub use overheard::{Listener, Overheard};
pub use port::Ports;
pub use room::{RoomHeard, RoomSubscription};
