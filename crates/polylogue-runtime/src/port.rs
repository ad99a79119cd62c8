//! The ports: what the engine needs from outside, as traits. Nothing here knows a vendor, a file or a database.

mod clock;
mod journal;
mod memories;
mod model;
mod nodes;
mod rooms;
mod voice;

pub use clock::{Clock, SystemClock};
pub use journal::{Journal, JournalError, Summary};
pub use memories::Memories;
pub use model::{Admission, Arrived, Call, CallError, Deltas, FIRST_TOKEN, Model, Reply};
pub use nodes::{MAX_TAKEOVERS, NodeId, Nodes, Owned};
pub use rooms::{RoomRecord, RoomSummary, Rooms};
pub use voice::{Budget, NoVoice, Speech, Voice, VoiceError};

/// A store that keeps all that there is to keep.
pub trait Store: Journal + Nodes + Rooms + Memories {}

impl<S: Journal + Nodes + Rooms + Memories> Store for S {}
