//! Artifacts in a bucket that every node reaches. What a node speaks or fetches also lies in a folder of its own, for
//! programs that need a file; nothing is served from there.
//!
//! Everything has a bound: how long a bucket may be silent, how often it is asked again, how large a file may be.

mod copies;
mod fault;
mod settings;

use std::{
    fmt, io,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{
    Attribute, Attributes, BackoffConfig, ClientOptions, Error, GetOptions, GetRange, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path as Key,
};
use polylogue_runtime::port::{Artifact, ArtifactError, ArtifactPath, Artifacts, Chunks};
use tokio::time::timeout;

pub use self::settings::{BadS3, Keys, S3Settings};
use self::{copies::Copies, fault::fault, settings::Address};
use crate::Folder;

/// The largest file. A clip of one line that speaks for twenty minutes is as large.
const MAX_BYTES: u64 = 64 << 20;
const CONNECT: Duration = Duration::from_secs(3);
/// How long the bucket may say nothing.
const SILENCE: Duration = Duration::from_secs(20);
/// How long somebody waits for the first byte of a file, with all tries. Somebody is listening.
const READ: Duration = Duration::from_secs(10);
/// How long a file may take until it is kept or fetched whole, with all tries.
const WHOLE: Duration = Duration::from_secs(45);
/// How long the removal of a session's files may take.
const REMOVE: Duration = Duration::from_secs(60);
/// How often a bucket is asked again by somebody who waits.
const RETRIES: usize = 2;
/// How often it is asked again to keep a file, which is lost otherwise. With the pauses it is some seconds: a server
/// that is started again comes back within them.
const PATIENT_RETRIES: usize = 8;
/// Files that are removed at once.
const REMOVED_AT_ONCE: usize = 8;

pub struct S3 {
    bucket: AmazonS3,
    /// The same for what must not be lost.
    patient: AmazonS3,
    prefix: Option<ArtifactPath>,
    copies: Copies,
}

impl fmt::Debug for S3 {
    /// The client would tell its keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3").finish_non_exhaustive()
    }
}

impl S3 {
    /// Nothing is asked of the bucket yet. The folder has the copies of this machine.
    pub fn new(settings: &S3Settings, copies: Folder) -> Result<S3, BadS3> {
        let address = Address::of(settings)?;
        // The HTTP client has no cryptography of its own. Somebody else may have chosen the same before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let keys = &settings.keys;
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&address.bucket)
            .with_region(&address.region)
            .with_access_key_id(&keys.access_key)
            .with_secret_access_key(&keys.secret_key)
            .with_virtual_hosted_style_request(!address.is_path_style)
            .with_client_options(client(&address));
        if let Some(token) = &keys.session_token {
            builder = builder.with_token(token);
        }
        if let Some(endpoint) = &address.endpoint {
            builder = builder.with_endpoint(hosted(endpoint, &address));
        }
        let asking_again = |times: usize| {
            let client = builder.clone().with_retry(retries(times)).build();
            client.map_err(|error| BadS3::Client(error.to_string()))
        };
        let (bucket, patient) = (asking_again(RETRIES)?, asking_again(PATIENT_RETRIES)?);
        Ok(S3 { bucket, patient, prefix: address.prefix, copies: Copies::new(copies) })
    }

    fn key(&self, path: &ArtifactPath) -> Result<Key, ArtifactError> {
        let whole = match &self.prefix {
            Some(prefix) => format!("{prefix}/{path}"),
            None => path.to_string(),
        };
        Key::parse(whole).map_err(|error| ArtifactError::Failed(error.to_string()))
    }

    /// Sends a file. `false` when another has the key and must stay.
    async fn put(&self, path: &ArtifactPath, content: Bytes, mode: PutMode) -> Result<bool, ArtifactError> {
        let bytes = content.len() as u64;
        if bytes > MAX_BYTES {
            return Err(ArtifactError::too_large(bytes, MAX_BYTES));
        }
        let kind = match path.as_str().rsplit('.').next() {
            Some("json") => "application/json",
            Some("md") => "text/markdown; charset=utf-8",
            _ => "audio/wav",
        };
        let attributes = Attributes::from_iter([(Attribute::ContentType, kind)]);
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        let key = self.key(path)?;
        match self.patient.put_opts(&key, PutPayload::from_bytes(content), options).await {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. }) => Ok(false),
            // What is written cannot be missing; where it goes can.
            Err(Error::NotFound { .. }) => Err(fault::no_bucket()),
            Err(error) => Err(fault(error)),
        }
    }

    /// Keeps what the path is free for, or holds already.
    async fn keep_content(&self, path: &ArtifactPath, content: Bytes) -> Result<bool, ArtifactError> {
        // Not every server minds the condition of a write, so the key is looked at first.
        if let Some(is_same) = self.has(path, &content).await? {
            return Ok(is_same);
        }
        if self.put(path, content.clone(), PutMode::Create).await? {
            return Ok(true);
        }
        Ok(self.has(path, &content).await?.unwrap_or(false))
    }

    /// Whether a file has the path already, and then whether it is the same.
    async fn has(&self, path: &ArtifactPath, content: &[u8]) -> Result<Option<bool>, ArtifactError> {
        match Found::at(&self.patient, &self.key(path)?).await {
            Ok(found) if found.size() != content.len() as u64 => Ok(Some(false)),
            Ok(found) => Ok(Some(whole(Box::new(found)).await? == content)),
            Err(ArtifactError::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn client(address: &Address) -> ClientOptions {
    let is_open = address.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
    // A file may take as long as its listener does, so there is no limit to the whole of a request.
    ClientOptions::new()
        .with_allow_http(is_open)
        .with_connect_timeout(CONNECT)
        .with_timeout_disabled()
        .with_read_timeout(SILENCE)
}

fn retries(max_retries: usize) -> RetryConfig {
    let (init_backoff, max_backoff) = (Duration::from_millis(200), Duration::from_secs(2));
    RetryConfig { backoff: BackoffConfig { init_backoff, max_backoff, base: 2.0 }, max_retries, retry_timeout: WHOLE }
}

/// The client wants the bucket in the host's name where it is to be there.
fn hosted(endpoint: &str, address: &Address) -> String {
    match endpoint.split_once("://") {
        Some((scheme, host)) if !address.is_path_style => format!("{scheme}://{}.{host}", address.bucket),
        _ => endpoint.to_owned(),
    }
}

/// The whole of a file, which may be as large as one that is kept.
async fn whole(found: Box<dyn Artifact>) -> Result<Vec<u8>, ArtifactError> {
    found.whole(MAX_BYTES).await
}

/// An operation with its limit.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, ArtifactError>>) -> Result<T, ArtifactError> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(fault::silence()))
}

#[async_trait]
impl Artifacts for S3 {
    async fn keep(&self, file: &Path, path: &ArtifactPath) -> Result<bool, ArtifactError> {
        let size = tokio::fs::metadata(file).await.map(|metadata| metadata.len());
        if let Ok(size) = size
            && size > MAX_BYTES
        {
            return Err(ArtifactError::too_large(size, MAX_BYTES));
        }
        let read = tokio::fs::read(file).await;
        let content = Bytes::from(read.map_err(|error| ArtifactError::Failed(error.kind().to_string()))?);
        let is_kept = within(WHOLE, self.keep_content(path, content.clone())).await?;
        if is_kept {
            self.copies.keep(file, path, content).await;
        }
        Ok(is_kept)
    }

    async fn write(&self, path: &ArtifactPath, content: Bytes) -> Result<(), ArtifactError> {
        within(WHOLE, self.put(path, content, PutMode::Overwrite)).await.map(|_| ())
    }

    async fn open(&self, path: &ArtifactPath) -> Result<Box<dyn Artifact>, ArtifactError> {
        let found = within(READ, Found::at(&self.bucket, &self.key(path)?)).await?;
        Ok(Box::new(found))
    }

    async fn local(&self, path: &ArtifactPath) -> Result<PathBuf, ArtifactError> {
        if let Some(copy) = self.copies.get(path).await {
            return Ok(copy);
        }
        let found = self.open(path).await?;
        let content = within(WHOLE, whole(found)).await?;
        self.copies.put(path, content.into()).await
    }

    /// Each by itself: not every server removes several at once.
    async fn remove(&self, paths: &[ArtifactPath]) -> Result<(), ArtifactError> {
        let keys = paths.iter().map(|path| self.key(path)).collect::<Result<Vec<Key>, _>>()?;
        let removals = stream::iter(keys).map(|key| async move {
            match self.bucket.delete(&key).await.map_err(fault) {
                Ok(()) | Err(ArtifactError::Missing) => Ok(()),
                Err(error) => Err(error),
            }
        });
        let removed = within(REMOVE, removals.buffer_unordered(REMOVED_AT_ONCE).try_collect::<()>()).await;
        // What lies here goes in any case.
        self.copies.remove(paths).await.and(removed)
    }
}

/// An object as it was when it was found.
struct Found {
    bucket: AmazonS3,
    meta: ObjectMeta,
}

impl Found {
    async fn at(bucket: &AmazonS3, key: &Key) -> Result<Found, ArtifactError> {
        Ok(Found { bucket: bucket.clone(), meta: bucket.head(key).await.map_err(fault)? })
    }
}

#[async_trait]
impl Artifact for Found {
    fn size(&self) -> u64 {
        self.meta.size
    }

    async fn read(self: Box<Self>, part: Range<u64>) -> Result<Chunks, ArtifactError> {
        if part.is_empty() {
            return Ok(Box::pin(stream::empty()));
        }
        // Another object under the same key would not fit the size that was told.
        let options = GetOptions {
            range: Some(GetRange::Bounded(part)),
            if_match: self.meta.e_tag.clone(),
            ..GetOptions::default()
        };
        let got = async { self.bucket.get_opts(&self.meta.location, options).await.map_err(fault) };
        let got = within(READ, got).await?;
        Ok(Box::pin(got.into_stream().map_err(|error| {
            tracing::warn!(%error, "a file of the artifacts' bucket broke off");
            io::Error::other("the bucket of the artifacts stopped in the middle")
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_in_the_path_or_in_the_host() {
        let keys = Keys { access_key: "key".into(), secret_key: "hidden".into(), session_token: None };
        for (path_style, endpoint) in [(Some(false), "http://team.storage:9"), (None, "http://storage:9")] {
            let settings = S3Settings {
                url: "s3://team/x".into(),
                endpoint: Some("http://storage:9/".into()),
                region: None,
                path_style,
                keys: keys.clone(),
            };
            let address = Address::of(&settings).unwrap();
            assert_eq!(hosted(address.endpoint.as_deref().unwrap(), &address), endpoint);
            let bucket = S3::new(&settings, Folder::new("artifacts")).unwrap();
            assert!(!format!("{bucket:?}").contains("hidden"));
        }
    }
}
