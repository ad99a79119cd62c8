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
    engine::{Bounds, Engine, File, Listener, SEATS},
};
use crate::answer::{Answer, End};

/// Tokens that a request and its reply may have together, unless the configuration says otherwise.
const CONTEXT: u32 = 4_096;
/// Less than this is no room for a conversation.
const LEAST_CONTEXT: u32 = 512;
/// Asks that wait for one model, at most. Sessions are admitted one after the other, so that it never fills
/// unless somebody asks without.
const MAX_WAITING: usize = 64;
/// The threads that were started.
pub(super) struct Workers {
    bounds: Bounds,
    running: Mutex<BTreeMap<String, mpsc::Sender<Job>>>,
    /// As many calls at once as a model has seats. All models share the processor, so it is one count for all.
    admission: Arc<Semaphore>,
}

/// One ask, and where its reply goes. A caller that drops the other end has stopped it.
struct Job {
    ask: Ask,
    retry: u32,
    /// Holds at most a piece for each token, and a reply has at most half a window of them.
    pieces: mpsc::UnboundedSender<Piece>,
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
        Workers { bounds, running: Mutex::default(), admission: Arc::new(Semaphore::new(SEATS)) }
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
        let (pieces, mut heard) = mpsc::unbounded_channel();
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

/// What a thread does: read the file when it is first asked, then answer as many at once as there are seats, until
/// nobody is left.
fn work(path: PathBuf, bounds: Bounds, mut jobs: mpsc::Receiver<Job>) {
    let Some(first) = jobs.blocking_recv() else { return };
    let refuse = |first: Job, jobs: &mut mpsc::Receiver<Job>, error: CallError| {
        jobs.close();
        first.listener().end(Err(error.clone()));
        // Those who wait are told too.
        while let Some(job) = jobs.blocking_recv() {
            job.listener().end(Err(error.clone()));
        }
    };
    let file = match File::open(&path, bounds) {
        Ok(file) => file,
        Err(error) => return refuse(first, &mut jobs, error),
    };
    let mut engine = match Engine::new(&file) {
        Ok(engine) => engine,
        Err(error) => return refuse(first, &mut jobs, error),
    };
    first.begin(&mut engine);
    loop {
        while engine.has_room() {
            let next = if engine.is_idle() { jobs.blocking_recv() } else { jobs.try_recv().ok() };
            match next {
                Some(job) => job.begin(&mut engine),
                // Nobody can ask any more, and everybody is answered.
                None if engine.is_idle() => return,
                None => break,
            }
        }
        engine.step();
    }
}

impl Job {
    fn begin(self, engine: &mut Engine<'_>) {
        let (request, seed) = (self.ask.request.clone(), seed(&self));
        let listener = self.listener();
        if listener.is_there() {
            engine.begin(&request, seed, Box::new(listener));
        }
    }

    fn listener(self) -> HeardBy {
        HeardBy(self.pieces)
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

/// The other end of a reply. A caller that stopped it does not want to know the rest.
struct HeardBy(mpsc::UnboundedSender<Piece>);

impl Listener for HeardBy {
    fn hear(&mut self, text: &str, usage: Usage) {
        let _ = self.0.send(Piece::Text { text: text.to_owned(), usage });
    }

    fn end(&mut self, ended: Result<(End, Usage), CallError>) {
        let _ = self.0.send(Piece::Ended(ended));
    }

    fn is_there(&self) -> bool {
        !self.0.is_closed()
    }
}
