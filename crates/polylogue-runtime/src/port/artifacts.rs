//! The files that sessions make and others fetch: clips and manifests, each known by its path. The port says nothing
//! of where they lie, and refuses every path that could lead out of there.

use std::{
    fmt, io,
    ops::Range,
    path::{Path, PathBuf},
    pin::Pin,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};

#[async_trait]
pub trait Artifacts: fmt::Debug + Send + Sync {
    /// Keeps a file of this machine under a path. Another file that has the path is never written over: then the
    /// answer is `false`.
    async fn keep(&self, file: &Path, path: &ArtifactPath) -> Result<bool, ArtifactError>;

    /// Writes a file, whole or not at all, in place of the one that has the path.
    async fn write(&self, path: &ArtifactPath, content: Bytes) -> Result<(), ArtifactError>;

    /// Finds a file. Its content is read afterwards, if at all.
    async fn open(&self, path: &ArtifactPath) -> Result<Box<dyn Artifact>, ArtifactError>;

    /// The file on this machine, for programs that read nothing else. It may be a copy that is removed later.
    async fn local(&self, path: &ArtifactPath) -> Result<PathBuf, ArtifactError>;

    /// Removes files, and what this machine has kept of them. One that is not there is removed already.
    async fn remove(&self, paths: &[ArtifactPath]) -> Result<(), ArtifactError>;
}

/// A file that was found.
#[async_trait]
pub trait Artifact: Send + Sync {
    fn size(&self) -> u64;

    /// The bytes of a part that lies within its size, as they arrive.
    async fn read(self: Box<Self>, part: Range<u64>) -> Result<Chunks, ArtifactError>;
}

/// Bytes as they arrive. A stream that breaks off ends with an error.
pub type Chunks = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl dyn Artifact {
    /// The whole content. What is larger than the limit is not read.
    pub async fn whole(self: Box<Self>, max_bytes: u64) -> Result<Vec<u8>, ArtifactError> {
        let size = self.size();
        if size > max_bytes {
            return Err(ArtifactError::too_large(size, max_bytes));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let mut chunks = self.read(0..size).await?;
        let broken = |error: io::Error| ArtifactError::Unavailable(format!("the file broke off: {error}"));
        while let Some(chunk) = chunks.try_next().await.map_err(broken)? {
            content.extend_from_slice(&chunk);
        }
        Ok(content)
    }
}

/// The path of a file that a session made: relative, with forward slashes, and no part of it leads elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArtifactPath(String);

impl ArtifactPath {
    /// `None` for what cannot be such a path.
    pub fn parse(path: &str) -> Option<ArtifactPath> {
        let is_plain = |part: &str| {
            !matches!(part, "" | "." | "..") && !part.contains(|c: char| matches!(c, '\\' | ':') || c.is_control())
        };
        path.split('/').all(is_plain).then(|| ArtifactPath(path.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file below a folder.
    pub fn below(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }
}

impl fmt::Display for ArtifactPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a file could not be kept or had. The sentences name no key and no path of the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactError {
    #[error("there is no such file")]
    Missing,
    /// The same may well succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// It fails again until somebody changes something.
    #[error("{0}")]
    Failed(String),
}

impl ArtifactError {
    pub fn too_large(bytes: u64, max_bytes: u64) -> ArtifactError {
        ArtifactError::Failed(format!("the file has {bytes} bytes, and at most {max_bytes} are allowed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out() {
        for path in ["a.wav", "tts/sessions/x/turn_1/slot-1_gpt~0a.wav", "tts/a b.wav", "tts/J\u{fc}rgen.wav"] {
            assert_eq!(ArtifactPath::parse(path).as_ref().map(ArtifactPath::as_str), Some(path));
        }
        for path in ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a\\b", "C:a", "a\0", "a\nb"] {
            assert_eq!(ArtifactPath::parse(path), None, "{path:?}");
        }
    }
}
