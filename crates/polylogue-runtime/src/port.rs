//! The ports: what the engine needs from outside, as traits. Nothing here knows a vendor, a file or a database.

mod artifacts;
mod clock;
mod journal;
mod memories;
mod model;
mod nodes;
mod rooms;
mod voice;

use std::sync::Arc;

pub use artifacts::{Artifact, ArtifactError, ArtifactPath, Artifacts, Chunks};
pub use clock::{Clock, SystemClock};
pub use journal::{CastNames, Journal, JournalError, ListPlace, NoPlace, Search, Summary};
pub use memories::Memories;
pub use model::{Admission, Arrived, Call, CallError, Deltas, FIRST_TOKEN, Model, Reply};
pub use nodes::{MAX_TAKEOVERS, NodeId, Nodes, Owned};
pub use rooms::{RoomListPlace, RoomRecord, RoomSummary, Rooms};
pub use voice::{Budget, NoVoice, Speech, Voice, VoiceError};

/// A store that keeps all that there is to keep.
pub trait Store: Journal + Nodes + Rooms + Memories {}

impl<S: Journal + Nodes + Rooms + Memories> Store for S {}

/// What the engine acts through.
#[derive(Clone)]
pub struct Ports {
    pub model: Arc<dyn Model>,
    pub voice: Arc<dyn Voice>,
    pub journal: Arc<dyn Journal>,
    pub nodes: Arc<dyn Nodes>,
    pub rooms: Arc<dyn Rooms>,
    pub clock: Arc<dyn Clock>,
}

impl Ports {
    /// The ports of an engine that keeps everything in one store.
    pub fn new(model: Arc<dyn Model>, voice: Arc<dyn Voice>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Ports {
        Ports { model, voice, journal: store.clone(), nodes: store.clone(), rooms: store, clock }
    }
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}
