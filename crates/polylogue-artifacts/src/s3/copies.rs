//! Copies of what lies in the bucket, for programs that need a file of this machine: what was spoken here, and what
//! was fetched. Together they are bounded; the oldest go.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use bytes::Bytes;
use polylogue_runtime::port::{ArtifactError, ArtifactPath, Artifacts};

use crate::{Folder, whole};

/// When they are more, the oldest go.
const MAX_BYTES: u64 = 2 << 30;
/// How much may be added between two looks at the whole.
const LOOK_EVERY_BYTES: u64 = 64 << 20;
/// Where sessions have their files; beside it lies the cache of the speech engines, which has a bound of its own.
const SESSIONS: &str = "tts/sessions";

#[derive(Debug)]
pub(super) struct Copies {
    folder: Folder,
    added: AtomicU64,
}

impl Copies {
    pub(super) fn new(folder: Folder) -> Copies {
        Copies { folder, added: AtomicU64::new(LOOK_EVERY_BYTES) }
    }

    pub(super) async fn get(&self, path: &ArtifactPath) -> Option<PathBuf> {
        self.folder.local(path).await.ok()
    }

    /// Keeps what was sent to the bucket. The bucket has it: what goes wrong here is only logged.
    pub(super) async fn keep(&self, file: &Path, path: &ArtifactPath, content: Bytes) {
        let bytes = content.len() as u64;
        let kept = match self.folder.keep(file, path).await {
            Ok(true) => Ok(()),
            // The bucket says what the path holds.
            Ok(false) => self.folder.write(path, content).await,
            Err(error) => Err(error),
        };
        match kept {
            Ok(()) => self.look(bytes).await,
            Err(error) => tracing::warn!(%error, "a clip has no copy on this machine"),
        }
    }

    /// Keeps what was fetched.
    pub(super) async fn put(&self, path: &ArtifactPath, content: Bytes) -> Result<PathBuf, ArtifactError> {
        let bytes = content.len() as u64;
        self.folder.write(path, content).await?;
        self.look(bytes).await;
        Ok(path.below(self.folder.root()))
    }

    pub(super) async fn remove(&self, paths: &[ArtifactPath]) -> Result<(), ArtifactError> {
        self.folder.remove(paths).await
    }

    /// Removes the oldest, now and then.
    async fn look(&self, bytes: u64) {
        if self.added.fetch_add(bytes, Ordering::Relaxed) + bytes < LOOK_EVERY_BYTES {
            return;
        }
        self.added.store(0, Ordering::Relaxed);
        let root = self.folder.root().to_owned();
        let pruned = tokio::task::spawn_blocking(move || prune(&root, MAX_BYTES)).await;
        if let Err(error) = pruned.map_err(io::Error::other).flatten() {
            tracing::warn!(%error, "the copies of clips could not be pruned");
        }
    }
}

/// Removes the oldest copies until those that are left are small enough.
fn prune(root: &Path, max_bytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    list(&root.join(SESSIONS), &mut files)?;
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    files.sort();
    for (_, size, file) in files {
        if bytes <= max_bytes {
            break;
        }
        whole::remove(root, file.strip_prefix(root).map_err(io::Error::other)?)?;
        bytes -= size;
    }
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<(SystemTime, u64, PathBuf)>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.push((metadata.modified()?, metadata.len(), entry.path()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_copies_go_first_and_their_folders_with_them() {
        let root = tempfile::tempdir().expect("a folder");
        for (session, age) in [("old", 3), ("middle", 2), ("new", 1)] {
            let path = root.path().join(SESSIONS).join(session).join("turn_1/a.wav");
            whole::write(&path, &[0; 100]).expect("written");
            let at = SystemTime::now() - Duration::from_secs(age * 60);
            fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(at)).expect("dated");
        }
        prune(root.path(), 250).expect("pruned");
        let left: Vec<bool> =
            ["old", "middle", "new"].map(|session| root.path().join(SESSIONS).join(session).exists()).to_vec();
        assert_eq!(left, [false, true, true]);
    }
}
