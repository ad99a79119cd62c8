//! A room as programs and pages see it: the room protocol of seed 002 §2, and what was said there lately.
//!
//! A room has no state of its own. Its events are those of its sessions, each a fold of that session's records,
//! in the order in which the records were written.

mod recent;
mod stream;

pub use recent::Recent;
pub use stream::{RoomEvent, RoomEventKind, RoomRound, RoomSession, RoomStream};
