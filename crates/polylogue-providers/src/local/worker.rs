//! The threads that own the embedded models, one for each file, and the queue before each.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use async_trait::async_trait;
use polylogue_core::{
    ask::{Ask, Digest},
    ledger::Usage,
};
use polylogue_runtime::port::{Admission, Call, CallError, Model, Reply};
use tokio::sync::{Semaphore, mpsc};

use super::{
    Local, LocalSettings,
    engine::{Bounds, Engine, File, Listener},
};
use crate::answer::{Answer, End};

/// Tokens that a request and its reply may have together, unless the configuration says otherwise.
const CONTEXT: u32 = 4_096;
/// Less than this is no room for a conversation.
const LEAST_CONTEXT: u32 = 512;
/// Asks that wait for one model, at most. Sessions are admitted one after the other, so that it never fills
/// unless somebody asks without.
const MAX_WAITING: usize = 64;
/// Pieces of a reply that nobody has taken yet, at most: a model does not run far ahead of its listener.
const MAX_UNHEARD: usize = 4;

/// The threads that were started.
pub(super) struct Workers {
    bounds: Bounds,
    running: Mutex<BTreeMap<String, mpsc::Sender<Job>>>,
    /// All models share the processor: one call at a time.
    admission: Arc<Semaphore>,
}

/// One ask, and where its reply goes. A caller that drops the other end has stopped it.
struct Job {
    ask: Ask,
    retry: u32,
    pieces: mpsc::Sender<Piece>,
}

enum Piece {
    Text { text: String, usage: Usage },
    Ended(Result<(End, Usage), CallError>),
}

impl Workers {
    pub(super) fn new(settings: &LocalSettings) -> Workers {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = settings.threads.map_or((cores - 1).max(1), usize::from);
        let bounds = Bounds {
            threads: i32::try_from(threads).unwrap_or(i32::MAX),
            context: settings.context.unwrap_or(CONTEXT).max(LEAST_CONTEXT),
        };
        Workers { bounds, running: Mutex::default(), admission: Arc::new(Semaphore::new(1)) }
    }

    /// The queue of the thread that owns this file. A thread that could not load it has ended: what is not there
    /// now may have been pulled by the next time.
    fn queue(&self, model: &str, path: &Path) -> Result<mpsc::Sender<Job>, CallError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = running.get(model).filter(|queue| !queue.is_closed()) {
            return Ok(queue.clone());
        }
        let (queue, jobs) = mpsc::channel(MAX_WAITING);
        let (path, bounds) = (path.to_owned(), self.bounds);
        let started = thread::Builder::new().name("embedded-model".to_owned()).spawn(move || work(path, bounds, jobs));
        started.map_err(|error| CallError::Unavailable(format!("the embedded model has no thread: {error}")))?;
        running.insert(model.to_owned(), queue.clone());
        Ok(queue)
    }
}

#[async_trait]
impl Model for Local {
    async fn admit(&self, _: &Call) -> Admission {
        // It is never closed; if it were, the queue would still keep order.
        Admission::new(self.workers.admission.clone().acquire_owned().await.ok())
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let request = &call.ask.request;
        let path = self.file(&request.model.model).map_err(CallError::Unavailable)?;
        let queue = self.workers.queue(&request.model.model, path)?;
        let (pieces, mut heard) = mpsc::channel(MAX_UNHEARD);
        let job = Job { ask: call.ask.clone(), retry: call.retry, pieces };
        queue.try_send(job).map_err(|_| CallError::Overloaded {
            retry_after: None,
            message: format!("{MAX_WAITING} asks wait for the embedded model"),
        })?;
        let mut answer = Answer::new(&call.deltas, &request.sampling.stop);
        let mut used = Usage::default();
        while let Some(piece) = heard.recv().await {
            match piece {
                Piece::Text { text, usage } => {
                    answer.text(&text);
                    call.deltas.bill(usage);
                    used = usage;
                    if answer.has_stopped() {
                        answer.end(End::Complete);
                        break;
                    }
                }
                Piece::Ended(ended) => {
                    let (end, usage) = ended?;
                    answer.end(end);
                    used = usage;
                }
            }
        }
        answer.usage(used);
        answer.finish()
    }
}

/// What a thread does: read the file when it is first asked, then answer one after the other until nobody is left.
fn work(path: PathBuf, bounds: Bounds, mut jobs: mpsc::Receiver<Job>) {
    let Some(first) = jobs.blocking_recv() else { return };
    let file = match File::open(&path, bounds) {
        Ok(file) => file,
        Err(error) => {
            jobs.close();
            first.end(Err(error.clone()));
            // Those who wait are told too.
            while let Some(job) = jobs.blocking_recv() {
                job.end(Err(error.clone()));
            }
            return;
        }
    };
    let mut engine = Engine::new(&file);
    first.serve(&mut engine);
    while let Some(job) = jobs.blocking_recv() {
        job.serve(&mut engine);
    }
}

impl Job {
    fn serve(self, engine: &mut Engine<'_>) {
        let mut heard_by = HeardBy(&self.pieces);
        if heard_by.is_there() {
            let ended = engine.answer(&self.ask.request, seed(&self), &mut heard_by);
            self.end(ended);
        }
    }

    fn end(self, ended: Result<(End, Usage), CallError>) {
        // The caller that stopped it does not want to know.
        let _ = self.pieces.blocking_send(Piece::Ended(ended));
    }
}

/// The seed of an ask's draws: it follows from the session's seed, the request, its place in the conversation and the
/// try. So the same session gets the same replies again, and one of another seed gets others.
fn seed(job: &Job) -> u32 {
    let mut digest = Digest::default();
    digest.add(&job.ask.request.sampling.seed.unwrap_or_default().to_string());
    digest.add(&String::from(job.ask.request.digest()));
    digest.add(&job.ask.id.to_string());
    digest.add(&job.retry.to_string());
    let number = u64::from_str_radix(&String::from(digest), 16).unwrap_or_default();
    (number ^ (number >> 32)) as u32
}

/// The other end of a reply.
struct HeardBy<'a>(&'a mpsc::Sender<Piece>);

impl Listener for HeardBy<'_> {
    fn hear(&mut self, text: &str, usage: Usage) -> bool {
        self.0.blocking_send(Piece::Text { text: text.to_owned(), usage }).is_ok()
    }

    fn is_there(&self) -> bool {
        !self.0.is_closed()
    }
}
