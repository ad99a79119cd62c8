//! The chorus as playback systems and pages see it: the stream of seed 000 §7, and the manifest of its files.
//!
//! Every record becomes one event of the stream at most, so the journal's sequence number names an event, and
//! a client that comes back with the last number seen misses nothing and sees nothing twice.

mod manifest;
mod stream;

pub use manifest::{Manifest, ManifestLine};
pub use stream::{ChorusEvent, ChorusStream, NotAChorus, SlotError, SlotTurn};
