//! The threads that own the embedded models, one for each file, and the queue before each. A model that nobody has
//! asked for some minutes is forgotten, and read again when somebody does.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    ask::{Ask, Digest},
    event::Drafts,
    ledger::Usage,
};
use polylogue_runtime::port::{Admission, Call, CallError, Model, Reply};
use tokio::sync::{Semaphore, mpsc};

use super::{
    Local, LocalSettings,
    engine::{Engine, SEATS},
    file::{Bounds, File},
    machine,
    work::Listener,
};
use crate::answer::{Answer, End};

/// Tokens that a request and its reply may have together, unless the configuration says otherwise.
const CONTEXT: u32 = 4_096;
/// Less than this is no room for a conversation.
const LEAST_CONTEXT: u32 = 512;
/// Asks that wait for one model, at most. Sessions are admitted one after the other, so that it never fills
/// unless somebody asks without.
const MAX_WAITING: usize = 64;
/// After so long without an ask a model is no longer kept in memory.
const KEPT_FOR: Duration = Duration::from_secs(300);
/// After so long it is seen anew how many cores are free.
const SETTLED_FOR: Duration = Duration::from_secs(30);

/// The threads that were started.
pub(super) struct Workers {
    context: u32,
    threads: Option<usize>,
    kept_for: Duration,
    running: Arc<Running>,
    /// As many calls at once as a model has seats. All models share the processor, so it is one count for all.
    admission: Arc<Semaphore>,
}

type Running = Mutex<BTreeMap<String, SyncSender<Job>>>;

/// One ask, and where its reply goes. A caller that drops the other end has stopped it.
struct Job {
    ask: Ask,
    retry: u32,
    /// Holds at most a piece for each token, and a reply has at most half a window of them.
    pieces: mpsc::UnboundedSender<Piece>,
}

enum Piece {
    Text { text: String, usage: Usage },
    Unseen { text: String, usage: Usage },
    Kept(Drafts),
    Ended(Result<(End, Usage), CallError>),
}

impl Workers {
    pub(super) fn new(settings: &LocalSettings) -> Workers {
        Workers {
            context: settings.context.unwrap_or(CONTEXT).max(LEAST_CONTEXT),
            threads: settings.threads.map(usize::from),
            kept_for: KEPT_FOR,
            running: Arc::default(),
            admission: Arc::new(Semaphore::new(SEATS)),
        }
    }

    /// Hands a job to the thread that owns this file, and starts one if there is none.
    fn send(&self, model: &str, path: &Path, job: Job) -> Result<(), CallError> {
        let full = || CallError::Overloaded {
            retry_after: None,
            message: format!("{MAX_WAITING} asks wait for the embedded model"),
        };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match running.get(model).cloned() {
            Some(queue) => match queue.try_send(job) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(_)) => return Err(full()),
                // A thread that could not load it has ended: what is not there now may be there the next time.
                Err(TrySendError::Disconnected(job)) => job,
            },
            None => job,
        };
        let (queue, jobs) = sync_channel(MAX_WAITING);
        let worker = Worker {
            model: model.to_owned(),
            path: path.to_owned(),
            context: self.context,
            threads: self.threads,
            kept_for: self.kept_for,
            running: self.running.clone(),
            jobs,
        };
        let started = thread::Builder::new().name("embedded-model".to_owned()).spawn(move || worker.work());
        started.map_err(|error| CallError::Unavailable(format!("the embedded model has no thread: {error}")))?;
        queue.try_send(job).map_err(|_| full())?;
        running.insert(model.to_owned(), queue);
        Ok(())
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
        let (pieces, mut heard) = mpsc::unbounded_channel();
        let job = Job { ask: call.ask.clone(), retry: call.retry, pieces };
        self.workers.send(&request.model.model, path, job)?;
        let mut answer = Answer::new(&call.deltas, &request.sampling.stop);
        let (mut used, mut drafts) = (Usage::default(), None);
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
                Piece::Unseen { text, usage } => {
                    call.deltas.overhear(&text);
                    call.deltas.bill(usage);
                }
                Piece::Kept(kept) => drafts = Some(kept),
                Piece::Ended(ended) => {
                    let (end, usage) = ended?;
                    answer.end(end);
                    used = usage;
                }
            }
        }
        answer.usage(used);
        Ok(Reply { drafts, ..answer.finish()? })
    }
}

/// What a thread owns.
struct Worker {
    model: String,
    path: PathBuf,
    context: u32,
    threads: Option<usize>,
    kept_for: Duration,
    running: Arc<Running>,
    jobs: Receiver<Job>,
}

impl Worker {
    /// Reads the file when it is first asked, then answers as many at once as there are seats, until nobody is left or
    /// nobody has asked for a while.
    fn work(self) {
        let Ok(first) = self.jobs.recv_timeout(self.kept_for) else { return };
        let mut bounds = self.bounds();
        let opened = File::open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(error) => return self.refuse(first, &error),
        };
        let mut engine = match Engine::new(&file, bounds) {
            Ok(engine) => engine,
            Err(error) => return self.refuse(first, &error),
        };
        first.begin(&mut engine);
        loop {
            while engine.has_room() {
                if !engine.is_idle() {
                    match self.jobs.try_recv() {
                        Ok(job) => job.begin(&mut engine),
                        Err(_) => break,
                    }
                    continue;
                }
                let job = match self.jobs.recv_timeout(SETTLED_FOR) {
                    Ok(job) => job,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        let Some(job) = self.wait_longer() else { return };
                        // Others may have come or gone meanwhile.
                        let now = self.bounds();
                        if now != bounds {
                            engine = match Engine::new(&file, now) {
                                Ok(engine) => engine,
                                Err(error) => return self.refuse(job, &error),
                            };
                            bounds = now;
                        }
                        job
                    }
                };
                job.begin(&mut engine);
            }
            engine.step();
        }
    }

    fn bounds(&self) -> Bounds {
        let threads = self.threads.unwrap_or_else(machine::free_cores);
        Bounds { threads: i32::try_from(threads).unwrap_or(i32::MAX), context: self.context }
    }

    /// The next job, however late it comes; `None` when nobody asks any more.
    fn wait_longer(&self) -> Option<Job> {
        match self.jobs.recv_timeout(self.kept_for) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.retire(),
        }
    }

    /// Takes leave, unless somebody has asked in this very moment.
    fn retire(&self) -> Option<Job> {
        // Jobs are sent under this lock: none can come between the last look and the leave.
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let job = self.jobs.try_recv().ok();
        if job.is_none() {
            running.remove(&self.model);
            tracing::debug!(model = self.model, "nobody has asked the embedded model for a while: it is unloaded");
        }
        job
    }

    /// Tells everybody who waits that nothing will come of it.
    fn refuse(&self, first: Job, error: &CallError) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.model);
        first.listener().end(Err(error.clone()));
        while let Ok(job) = self.jobs.try_recv() {
            job.listener().end(Err(error.clone()));
        }
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

    fn overhear(&mut self, text: &str, usage: Usage) {
        let _ = self.0.send(Piece::Unseen { text: text.to_owned(), usage });
    }

    fn end(&mut self, ended: Result<(End, Usage), CallError>) {
        let _ = self.0.send(Piece::Ended(ended));
    }

    fn kept(&mut self, kept: u8, of: u8) {
        let _ = self.0.send(Piece::Kept(Drafts { kept, of }));
    }

    fn is_there(&self) -> bool {
        !self.0.is_closed()
    }
}
