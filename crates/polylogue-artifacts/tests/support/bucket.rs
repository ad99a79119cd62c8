//! A real S3 server over a temporary folder, on loopback, that checks signatures; and a weir in front of it that can
//! hold back or cut what comes through. Each runs on threads of its own, so that tests of processes use it as well.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use hyper_util::rt::TokioIo;
use s3s::{auth::SimpleAuth, service::S3ServiceBuilder};
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

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.at)
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

fn serve(listener: TcpListener, data: &Path) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let mut builder = S3ServiceBuilder::new(FileSystem::new(data).unwrap());
    builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
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

/// What the weir does with a connection that comes.
#[derive(Clone, Copy)]
pub(crate) enum Flow {
    Free,
    /// It is accepted, and nothing is ever answered.
    Held,
    /// It is cut after so many bytes of the server.
    CutAfter(usize),
}

/// Stands between a client and the server.
pub(crate) struct Weir {
    at: SocketAddr,
    flow: Arc<Mutex<Flow>>,
}

impl Weir {
    pub(crate) fn before(server: SocketAddr) -> Weir {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (at, flow) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Flow::Free)));
        let chosen = flow.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let flow = *chosen.lock().unwrap();
                thread::spawn(move || pass(client, server, flow));
            }
        });
        Weir { at, flow }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.at)
    }

    /// What becomes of the connections from now on.
    pub(crate) fn set(&self, flow: Flow) {
        *self.flow.lock().unwrap() = flow;
    }
}

fn pass(client: TcpStream, server: SocketAddr, flow: Flow) -> io::Result<()> {
    if let Flow::Held = flow {
        // Until the client gives up.
        return io::copy(&mut &client, &mut io::sink()).map(|_| ());
    }
    let server = TcpStream::connect(server)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut left = if let Flow::CutAfter(bytes) = flow { bytes } else { usize::MAX };
    let mut chunk = [0; 16 * 1024];
    while left > 0 {
        let read = (&server).read(&mut chunk)?;
        if read == 0 {
            break;
        }
        let passed = read.min(left);
        (&client).write_all(&chunk[..passed])?;
        left -= passed;
    }
    let _ = server.shutdown(Shutdown::Both);
    client.shutdown(Shutdown::Both)
}
