//! The clips of sessions that are deleted. A fork shares what was said before it with the session that it came from, so
//! a clip goes with the last session that has it in its journal.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{Event, Record, id::SessionId};
use polylogue_runtime::{
    Listener,
    port::{ArtifactPath, Artifacts, Journal, JournalError},
};

pub(crate) struct Clips {
    journal: Arc<dyn Journal>,
    artifacts: Arc<dyn Artifacts>,
}

impl Clips {
    pub(crate) fn new(journal: Arc<dyn Journal>, artifacts: Arc<dyn Artifacts>) -> Clips {
        Clips { journal, artifacts }
    }

    /// The clips that no session has any more which shares some with this one.
    async fn unshared(&self, session: SessionId, records: &[Arc<Record>]) -> Result<BTreeSet<String>, JournalError> {
        let mut clips: BTreeSet<String> = clips(records).collect();
        if clips.is_empty() {
            return Ok(clips);
        }
        let origins = records.iter().filter_map(|record| match &record.event {
            Event::Forked { from, .. } => Some(*from),
            _ => None,
        });
        let mut family: Vec<SessionId> = origins.chain([session]).collect();
        family.extend(self.journal.forks(&family).await?);
        for other in family.into_iter().filter(|other| *other != session) {
            for kept in self::clips(&self.journal.read_all(other).await?) {
                clips.remove(&kept);
            }
        }
        Ok(clips)
    }
}

fn clips(records: &[Arc<Record>]) -> impl Iterator<Item = String> + '_ {
    records.iter().filter_map(|record| match &record.event {
        Event::ClipMade { clip, .. } | Event::Narrated { clip, .. } => Some(clip.path.clone()),
        _ => None,
    })
}

#[async_trait]
impl Listener for Clips {
    async fn heard(&self, _: SessionId, _: &[Arc<Record>]) {}

    async fn deleted(&self, session: SessionId, records: &[Arc<Record>]) {
        let clips = match self.unshared(session, records).await {
            Ok(clips) => clips,
            Err(error) => return tracing::error!(%session, %error, "the session's clips stay"),
        };
        // A journal could have been written by anybody: what is no path among the artifacts is nobody's to remove.
        let clips: Vec<ArtifactPath> = clips.iter().filter_map(|clip| ArtifactPath::parse(clip)).collect();
        if let Err(error) = self.artifacts.remove(&clips).await {
            tracing::error!(%session, %error, "not all clips of the session could be removed");
        }
    }
}
