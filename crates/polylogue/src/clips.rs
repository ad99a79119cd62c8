//! The clips of sessions that are deleted. A fork shares what was said before it with the session that it came from, so
//! a clip goes with the last session that has it in its journal.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use polylogue_core::{Event, Record, id::SessionId};
use polylogue_runtime::{
    Listener,
    port::{Journal, JournalError},
};

use crate::whole;

/// Where speech engines find what they have spoken before.
const CACHE: &str = "tts/cache";

pub(crate) struct Clips {
    journal: Arc<dyn Journal>,
    artifacts: PathBuf,
}

impl Clips {
    pub(crate) fn new(journal: Arc<dyn Journal>, artifacts: PathBuf) -> Clips {
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
        Event::ClipMade { clip, .. } => Some(clip.path.clone()),
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
        let artifacts = self.artifacts.clone();
        let removed = tokio::task::spawn_blocking(move || remove(&artifacts, &clips)).await;
        if let Err(error) = removed.map_err(io::Error::other).flatten() {
            tracing::error!(%session, %error, "the session's clips cannot be removed");
        }
    }
}

fn remove(artifacts: &Path, clips: &BTreeSet<String>) -> io::Result<()> {
    let mut gone = BTreeSet::new();
    for clip in clips {
        let path = Path::new(clip);
        // A journal could have been written by anybody: nothing outside the folder is anybody's to remove.
        if path.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            continue;
        }
        gone.extend(identity(&artifacts.join(path)));
        whole::remove(artifacts, path)?;
    }
    forget(artifacts, &gone)
}

/// Takes the clips that nobody has any more out of the cache, where they are the same files under another name.
fn forget(artifacts: &Path, gone: &BTreeSet<(u64, u64)>) -> io::Result<()> {
    let cache = Path::new(CACHE);
    let Ok(shards) = std::fs::read_dir(artifacts.join(cache)) else { return Ok(()) };
    for shard in shards {
        let shard = shard?;
        let Ok(entries) = std::fs::read_dir(shard.path()) else { continue };
        for entry in entries {
            let entry = entry?;
            if is_alone(&entry.path()) && identity(&entry.path()).is_some_and(|file| gone.contains(&file)) {
                whole::remove(artifacts, &cache.join(shard.file_name()).join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

/// A file whatever it is called: two names of one file have the same.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Whether a file has only this name.
#[cfg(unix)]
fn is_alone(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.nlink() == 1)
}

/// Elsewhere the cache holds copies, which go when it grows too large.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(not(unix))]
fn is_alone(_: &Path) -> bool {
    false
}
