//! The log, on standard error. It never takes anything down and never holds anything up: a thread of its own writes
//! it, and lines that cannot be written, or that come faster than they can be, are dropped and counted.

use std::{
    io::{self, Write, stderr},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait to be written.
const QUEUE: usize = 1_024;

/// How long the end of the process waits for the last lines.
const PATIENCE: Duration = Duration::from_millis(200);

static DROPPED: AtomicU64 = AtomicU64::new(0);
static QUEUED: OnceLock<SyncSender<Entry>> = OnceLock::new();

enum Entry {
    Line(Vec<u8>),
    /// Tells when everything before it is written.
    Flush(mpsc::Sender<()>),
}

/// Logs are for people who look into a problem: warnings by default, more with each `-v`.
pub(crate) fn to_stderr(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("POLYLOGUE_LOG").unwrap_or_else(|_| level.into());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Queue).with_target(false);
    // A log that cannot be written is no reason to stop: complaining about it on the same closed stream would panic.
    log.log_internal_errors(false).init();
}

/// How many lines were dropped.
pub(crate) fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Writes what waits, as far as that is possible in a moment.
pub(crate) fn flush() {
    let Some(queue) = QUEUED.get() else { return };
    let (done, is_done) = mpsc::channel();
    if queue.try_send(Entry::Flush(done)).is_ok() {
        let _ = is_done.recv_timeout(PATIENCE);
    }
}

/// Takes lines and passes them on to the thread that writes.
struct Queue;

struct Line(Vec<u8>);

impl MakeWriter<'_> for Queue {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line(Vec::new())
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.0);
        if !line.is_empty() && QUEUED.get_or_init(start).try_send(Entry::Line(line)).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn start() -> SyncSender<Entry> {
    let (queue, entries) = sync_channel(QUEUE);
    // Without the thread nobody receives, and every line counts as dropped.
    let _ = thread::Builder::new().name("log".to_owned()).spawn(move || {
        for entry in entries {
            match entry {
                Entry::Line(line) => {
                    if stderr().lock().write_all(&line).is_err() {
                        DROPPED.fetch_add(1, Ordering::Relaxed);
                    }
                }
                // Whoever asked may not wait any more.
                Entry::Flush(done) => drop(done.send(())),
            }
        }
    });
    queue
}
