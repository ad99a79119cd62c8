//! The ports: what the engine needs from outside, as traits. Nothing here knows a vendor, a file or a database.

mod artifacts;
mod clock;
mod journal;
mod letters;
mod memories;
mod model;
mod nodes;
mod quotas;
mod rooms;
mod signals;
mod voice;

use std::sync::Arc;

pub use artifacts::{Artifact, ArtifactError, ArtifactPath, Artifacts, Chunks};
pub use clock::{Clock, SystemClock};
pub use journal::{CastNames, Journal, JournalError, ListPlace, NoPlace, Search, Summary};
pub use letters::{Fate, Letter, LetterId, Letters, Posted};
pub use memories::Memories;
pub use model::{Admission, Arrived, Bound, Call, CallError, Deltas, FIRST_TOKEN, Model, Reply};
pub use nodes::{Living, MAX_TAKEOVERS, NodeId, Nodes, Owned};
pub use quotas::{Day, Grant, Holder, Quotas, Wish};
pub use rooms::{RoomListPlace, RoomRecord, RoomSummary, Rooms};
pub use signals::{Signal, Signalled, Signals, Spoken, Topic, Words};
pub use voice::{Budget, NoVoice, Speech, Voice, VoiceError};

use crate::nearby::Nearby;

/// A store that keeps all that there is to keep.
pub trait Store: Journal + Nodes + Letters + Quotas + Rooms + Memories {}

impl<S: Journal + Nodes + Letters + Quotas + Rooms + Memories> Store for S {}

/// What the engine acts through.
#[derive(Clone)]
pub struct Ports {
    pub model: Arc<dyn Model>,
    pub voice: Arc<dyn Voice>,
    pub journal: Arc<dyn Journal>,
    pub nodes: Arc<dyn Nodes>,
    pub letters: Arc<dyn Letters>,
    pub quotas: Arc<dyn Quotas>,
    pub rooms: Arc<dyn Rooms>,
    pub clock: Arc<dyn Clock>,
    pub signals: Arc<dyn Signals>,
}

impl Ports {
    /// The ports of an engine that keeps everything in one store, and whose signals stay in the process.
    pub fn new(model: Arc<dyn Model>, voice: Arc<dyn Voice>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Ports {
        Ports {
            model,
            voice,
            journal: store.clone(),
            nodes: store.clone(),
            letters: store.clone(),
            quotas: store.clone(),
            rooms: store,
            clock,
            signals: Arc::new(Nearby::default()),
        }
    }
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}
