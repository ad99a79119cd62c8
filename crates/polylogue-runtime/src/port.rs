//! The ports: what the engine needs from outside, as traits. Nothing here knows a vendor, a file or a database.

mod clock;
mod journal;
mod model;
mod voice;

pub use clock::{Clock, SystemClock};
pub use journal::{Journal, JournalError, RoomRecord, RoomSummary, Summary};
pub use model::{Admission, Arrived, Call, CallError, Deltas, Model, Reply};
pub use voice::{NoVoice, Speech, Voice, VoiceError};
