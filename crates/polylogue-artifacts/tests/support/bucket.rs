//! A real S3 server over a temporary folder, on loopback, that checks signatures. It runs on a thread of its own, so that
//! tests of processes use it as well.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
};

use async_trait::async_trait;
use hyper_util::rt::TokioIo;
use s3s::{
    S3Result,
    access::{S3Access, S3AccessContext},
    auth::SimpleAuth,
    s3_error,
    service::S3ServiceBuilder,
};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::sync::oneshot;

pub(crate) const NAME: &str = "team";
pub(crate) const ACCESS_KEY: &str = "polylogue-test";
pub(crate) const SECRET_KEY: &str = "not-to-be-seen";

/// The server with one bucket.
pub(crate) struct Bucket {
    at: SocketAddr,
    data: TempDir,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Bucket {
    pub(crate) fn start() -> Bucket {
        let data = tempfile::tempdir().unwrap();
        std::fs::create_dir(data.path().join(NAME)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let running = Some(serve(listener, data.path()));
        Bucket { at, data, running }
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.at
    }

    /// Ends the server and all its connections.
    pub(crate) fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            stop.send(()).unwrap();
            thread.join().unwrap();
        }
    }

    /// Starts it again where it was, with what it had.
    pub(crate) fn start_again(&mut self) {
        assert!(self.running.is_none());
        self.running = Some(serve(TcpListener::bind(self.at).unwrap(), self.data.path()));
    }

    /// The keys in the bucket, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        let root = self.data.path().join(NAME);
        let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                match entry.unwrap().path() {
                    path if path.is_dir() => folders.push(path),
                    path => found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()),
                }
            }
        }
        found.sort();
        found
    }

    /// An object, past the server.
    pub(crate) fn object(&self, key: &str) -> PathBuf {
        self.data.path().join(NAME).join(key)
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Refuses, as S3 does, what goes to a bucket that is not there; the server would make a folder of it.
struct OnlyWhatIsThere(PathBuf);

#[async_trait]
impl S3Access for OnlyWhatIsThere {
    async fn check(&self, request: &mut S3AccessContext<'_>) -> S3Result<()> {
        if request.credentials().is_none() {
            return Err(s3_error!(AccessDenied));
        }
        match request.s3_path().get_bucket_name() {
            Some(bucket) if !self.0.join(bucket).is_dir() => Err(s3_error!(NoSuchBucket)),
            _ => Ok(()),
        }
    }
}

fn serve(listener: TcpListener, data: &Path) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let mut builder = S3ServiceBuilder::new(FileSystem::new(data).unwrap());
    builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
    builder.set_access(OnlyWhatIsThere(data.to_owned()));
    let service = builder.build();
    listener.set_nonblocking(true).unwrap();
    let (stop, mut stopped) = oneshot::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Connections live as long as the runtime.
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (socket, _) = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap(),
                    _ = &mut stopped => return,
                };
                let served = hyper::server::conn::http1::Builder::new();
                tokio::spawn(served.serve_connection(TokioIo::new(socket), service.clone()));
            }
        });
    });
    (stop, thread)
}
