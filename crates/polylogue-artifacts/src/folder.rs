//! Artifacts as plain files of this machine: what other programs read by their paths. A clip is the same file as in the
//! speech engines' cache, under another name, so it takes no room twice.

use std::{
    collections::BTreeSet,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use bytes::Bytes;
use polylogue_runtime::port::{Artifact, ArtifactError, ArtifactPath, Artifacts, Chunks};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt},
};
use tokio_util::io::ReaderStream;

use crate::whole;

/// Where speech engines find what they have spoken before.
const CACHE: &str = "tts/cache";

#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// It is made when the first file is kept.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ArtifactError> {
        let root = self.root.clone();
        let done = tokio::task::spawn_blocking(move || work(&root)).await;
        done.map_err(io::Error::other).flatten().map_err(|error| ArtifactError::Failed(error.kind().to_string()))
    }
}

#[async_trait]
impl Artifacts for Folder {
    async fn keep(&self, file: &Path, path: &ArtifactPath) -> Result<bool, ArtifactError> {
        let (file, path) = (file.to_owned(), path.clone());
        self.blocking(move |root| keep(&file, &path.below(root))).await
    }

    async fn write(&self, path: &ArtifactPath, content: Bytes) -> Result<(), ArtifactError> {
        let path = path.clone();
        self.blocking(move |root| whole::write(&path.below(root), &content)).await
    }

    /// A link within the folder must not lead out of it.
    async fn open(&self, path: &ArtifactPath) -> Result<Box<dyn Artifact>, ArtifactError> {
        let found = async {
            let root = tokio::fs::canonicalize(&self.root).await.ok()?;
            let file = tokio::fs::canonicalize(path.below(&root)).await.ok().filter(|file| file.starts_with(&root))?;
            let file = File::open(file).await.ok()?;
            let metadata = file.metadata().await.ok().filter(fs::Metadata::is_file)?;
            Some(Opened { file, size: metadata.len() })
        };
        Ok(Box::new(found.await.ok_or(ArtifactError::Missing)?))
    }

    async fn local(&self, path: &ArtifactPath) -> Result<PathBuf, ArtifactError> {
        let file = path.below(&self.root);
        let is_there = tokio::fs::metadata(&file).await.is_ok_and(|metadata| metadata.is_file());
        is_there.then_some(file).ok_or(ArtifactError::Missing)
    }

    async fn remove(&self, paths: &[ArtifactPath]) -> Result<(), ArtifactError> {
        let paths = paths.to_vec();
        self.blocking(move |root| remove(root, &paths)).await
    }
}

struct Opened {
    file: File,
    size: u64,
}

#[async_trait]
impl Artifact for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    async fn read(mut self: Box<Self>, part: Range<u64>) -> Result<Chunks, ArtifactError> {
        let failed = |error: io::Error| ArtifactError::Failed(error.kind().to_string());
        self.file.seek(io::SeekFrom::Start(part.start)).await.map_err(failed)?;
        Ok(Box::pin(ReaderStream::new(self.file.take(part.end - part.start))))
    }
}

/// Whether the file is now at the place: it was free, or held the same.
fn keep(from: &Path, to: &Path) -> io::Result<bool> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::hard_link(from, to) {
        Ok(()) => Ok(true),
        Err(_) if to.exists() => is_same(from, to),
        // Not every file system has links.
        Err(_) => whole::copy(from, to).map(|()| true),
    }
}

fn is_same(a: &Path, b: &Path) -> io::Result<bool> {
    Ok(fs::metadata(a)?.len() == fs::metadata(b)?.len() && fs::read(a)? == fs::read(b)?)
}

fn remove(root: &Path, paths: &[ArtifactPath]) -> io::Result<()> {
    let mut gone = BTreeSet::new();
    for path in paths {
        gone.extend(identity(&path.below(root)));
        whole::remove(root, Path::new(path.as_str()))?;
    }
    forget(root, &gone)
}

/// Takes the files that nobody has any more out of the cache, where they have another name.
fn forget(root: &Path, gone: &BTreeSet<(u64, u64)>) -> io::Result<()> {
    let cache = Path::new(CACHE);
    if gone.is_empty() {
        return Ok(());
    }
    let Ok(shards) = fs::read_dir(root.join(cache)) else { return Ok(()) };
    for shard in shards {
        let shard = shard?;
        let Ok(entries) = fs::read_dir(shard.path()) else { continue };
        for entry in entries {
            let entry = entry?;
            if is_alone(&entry.path()) && identity(&entry.path()).is_some_and(|file| gone.contains(&file)) {
                whole::remove(root, &cache.join(shard.file_name()).join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

/// A file whatever it is called: two names of one file have the same.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Whether a file has only this name.
#[cfg(unix)]
fn is_alone(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.nlink() == 1)
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
