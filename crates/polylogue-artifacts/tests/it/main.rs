//! Artifacts in a folder and in a bucket: the same for both, and what only a bucket can do to us.

#[path = "../support/bucket.rs"]
mod bucket;
mod faults;
mod same;
mod weir;

use std::net::SocketAddr;

use polylogue_artifacts::{Folder, Keys, S3, S3Settings};
use polylogue_runtime::port::{ArtifactError, ArtifactPath, Artifacts};
use tempfile::TempDir;

fn path(path: &str) -> ArtifactPath {
    ArtifactPath::parse(path).unwrap()
}

fn settings(url: &str, server: SocketAddr) -> S3Settings {
    let keys = Keys {
        access_key: bucket::ACCESS_KEY.to_owned(),
        secret_key: bucket::SECRET_KEY.to_owned(),
        session_token: None,
    };
    S3Settings { url: url.to_owned(), endpoint: Some(format!("http://{server}")), region: None, path_style: None, keys }
}

/// A node: the bucket, and a folder of its own.
struct Node {
    artifacts: S3,
    folder: TempDir,
}

impl Node {
    fn new(settings: &S3Settings) -> Node {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = S3::new(settings, Folder::new(folder.path().join("artifacts"))).unwrap();
        Node { artifacts, folder }
    }

    /// Keeps a clip of these bytes.
    async fn keep(&self, at: &str, content: &[u8]) -> Result<bool, ArtifactError> {
        let file = self.folder.path().join("clip.wav");
        std::fs::write(&file, content).unwrap();
        self.artifacts.keep(&file, &path(at)).await
    }

    async fn read(&self, at: &str) -> Result<Vec<u8>, ArtifactError> {
        self.artifacts.open(&path(at)).await?.whole(u64::MAX).await
    }
}
