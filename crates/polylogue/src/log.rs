//! The log, on standard error, for people who look into a problem. It never takes anything down and never holds
//! anything up: a thread of its own writes it, and lines that cannot be written, or that come faster than they can be,
//! are dropped and counted.
//!
//! Who did not ask for a log gets none: only what is seriously wrong is told, in a plain sentence.

use std::{
    fmt::{self, Debug},
    io::{self, Write, stderr},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use polylogue_core::text::printable::printable;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter, format::Writer},
    registry::LookupSpan,
};

use crate::output;

/// Lines that may wait to be written.
const QUEUE: usize = 1_024;

/// How long the end of the process waits for the last lines.
const PATIENCE: Duration = Duration::from_millis(200);

static DROPPED: AtomicU64 = AtomicU64::new(0);
static QUEUED: OnceLock<SyncSender<Entry>> = OnceLock::new();

enum Entry {
    Line(String),
    /// Tells when everything before it is written.
    Flush(mpsc::Sender<()>),
}

/// Begins to log: as much as `-v` asks for, or the variable `POLYLOGUE_LOG`.
pub(crate) fn to_stderr(verbose: u8) {
    let level = match verbose {
        0 => None,
        // What the client of NATS says is said in our own words as well.
        1 => Some("info,async_nats=error"),
        2 => Some("debug,async_nats=error"),
        _ => Some("trace"),
    };
    let filter = EnvFilter::try_from_env("POLYLOGUE_LOG").ok().or_else(|| level.map(Into::into));
    // A log that cannot be written is no reason to stop: complaining about it on the same closed stream would panic.
    let log = tracing_subscriber::fmt().with_writer(Queue).log_internal_errors(false);
    match filter {
        Some(filter) => log.with_env_filter(filter).with_ansi(false).with_target(false).init(),
        None => log.with_max_level(Level::ERROR).event_format(Sentence).init(),
    }
}

/// What is seriously wrong, as a person is told of it.
struct Sentence;

impl<S, N> FormatEvent<S, N> for Sentence
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut words = Words::default();
        event.record(&mut words);
        let why = words.why.map(|why| format!(": {why}")).unwrap_or_default();
        writeln!(writer, "[{}{why}]", words.message)
    }
}

/// What an event says, and why; the rest is for those who log.
#[derive(Default)]
struct Words {
    message: String,
    why: Option<String>,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "error" | "problem" => self.why = Some(format!("{value:?}")),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
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
        if self.0.is_empty() {
            return;
        }
        let line = printable(&String::from_utf8_lossy(&self.0)).into_owned();
        if QUEUED.get_or_init(start).try_send(Entry::Line(line)).is_err() {
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
                    if output::beside_status(|| stderr().lock().write_all(line.as_bytes())).is_err() {
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
