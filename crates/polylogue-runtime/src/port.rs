//! The ports: what the engine needs from outside, as traits. Nothing here knows a vendor, a file or a database.

mod clock;
mod journal;
mod memories;
mod model;
mod rooms;
mod voice;

pub use clock::{Clock, SystemClock};
pub use journal::{Journal, JournalError, Summary};
pub use memories::Memories;
pub use model::{Admission, Arrived, Call, CallError, Deltas, FIRST_TOKEN, Model, Reply};
pub use rooms::{RoomRecord, RoomSummary, Rooms};
pub use voice::{Budget, NoVoice, Speech, Voice, VoiceError};

/// A store that keeps all that there is to keep.
pub trait Store: Journal + Rooms + Memories {}

impl<S: Journal + Rooms + Memories> Store for S {}
