//! A chorus's `session.json`.

use std::{io, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{
    Event, Record,
    format::chorus::{Manifest, Settings},
    id::SessionId,
    text::printable::printable_json,
};
use polylogue_runtime::port::{ArtifactPath, Artifacts};

use crate::format::keepsake::Keepsake;

#[async_trait]
impl Keepsake for Manifest {
    type Of = Settings;
    type Place = Arc<dyn Artifacts>;

    fn of(records: &[Record]) -> Option<Manifest> {
        Manifest::of(records)
    }

    async fn write(self, artifacts: &Arc<dyn Artifacts>) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self).expect("a manifest has string keys");
        artifacts.write(&path(self.session_id), printable_json(text).into()).await.map_err(io::Error::other)
    }

    async fn remove(records: &[Arc<Record>], artifacts: &Arc<dyn Artifacts>) -> io::Result<()> {
        match records.first().map(|first| &first.event) {
            Some(Event::Started { setup, .. }) => artifacts.remove(&[path(setup.id)]).await.map_err(io::Error::other),
            _ => Ok(()),
        }
    }
}

fn path(session: SessionId) -> ArtifactPath {
    ArtifactPath::parse(&Manifest::path(session)).expect("a manifest has a plain path")
}
