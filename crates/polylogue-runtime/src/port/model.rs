//! A language model: one request in, one reply out, with the text shown as it arrives.

use std::{
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    ask::Ask,
    event::{CallFailure, Drafts, FailureKind},
    ledger::{TokenCount, Usage},
    setup::ModelRef,
};
use tokio::time::Instant;

/// Whatever answers requests. Dropping the future that [`Model::answer`] returns must end the request itself.
#[async_trait]
pub trait Model: Send + Sync {
    /// Waits until this call can be taken up. A model in this process serves one call after the other: what a call
    /// spends in that queue is not held against its time limit.
    async fn admit(&self, _call: &Call) -> Admission {
        Admission::default()
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError>;

    /// The calls that the provider of this model is to get at once from all processes together, where somebody has
    /// said so.
    fn bound(&self, _model: &ModelRef) -> Option<Bound> {
        None
    }

    /// How long this model may take to its first word, when nobody has said so (`asked`).
    fn first_token(&self, _model: &ModelRef, asked: Option<Duration>) -> Duration {
        asked.unwrap_or(FIRST_TOKEN)
    }
}

/// How many calls a provider is to get at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    pub provider: Arc<str>,
    pub at_once: u32,
}

/// How long a model may take to its first word.
pub const FIRST_TOKEN: Duration = Duration::from_secs(60);

/// Leave to make a call, given back when it is dropped.
#[derive(Default)]
pub struct Admission {
    _pass: Option<Box<dyn Send>>,
}

impl Admission {
    /// Keeps this for as long as the call takes.
    pub fn new(pass: impl Send + 'static) -> Self {
        Admission { _pass: Some(Box::new(pass)) }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

/// One try at one ask.
#[derive(Debug)]
pub struct Call {
    pub ask: Ask,
    /// 0 for the first try of this ask, counting up with the runtime's retries.
    pub retry: u32,
    /// Where text goes as it arrives.
    pub deltas: Deltas,
}

/// What a model replied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub text: Arc<str>,
    /// `None` when the provider does not say.
    pub usage: Option<Usage>,
    /// Whether it broke off because the output limit was reached.
    pub is_full: bool,
    /// Which of several drafts it is, where a model draws several at once.
    pub drafts: Option<Drafts>,
}

/// What a call has brought so far: text, to be watched and to be kept when the call is cut; the usage, where the
/// provider reports it before the end; and the signs of life, by which the runtime knows how long to wait.
#[derive(Clone)]
pub struct Deltas {
    arrived: Arc<Mutex<Arrived>>,
    /// How often the text has changed.
    changes: Arc<AtomicU64>,
    watch: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What had arrived when a call ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrived {
    pub text: String,
    pub usage: Option<Usage>,
    /// Everything that the model wrote, shown or not.
    heard: TokenCount,
    last_sign: Option<Instant>,
    has_begun: bool,
}

/// When something was last heard of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Signs {
    pub(crate) last: Option<Instant>,
    /// Whether the model has begun to write.
    pub(crate) has_begun: bool,
}

impl Arrived {
    /// What a try used: what the provider reported, or else all that was sent and what had arrived.
    pub fn used(&self, sent: Usage) -> Usage {
        self.usage.unwrap_or(Usage { output: self.heard.tokens(), estimated: true, ..sent })
    }

    /// Whether the provider has taken the request up: then the vendor bills it, whatever becomes of the answer.
    pub(crate) fn is_taken_up(&self) -> bool {
        self.usage.is_some() || self.last_sign.is_some()
    }
}

impl Deltas {
    /// Text beyond this many bytes is shown but not kept for the case of a cut.
    pub const MAX_KEPT: usize = 256 * 1024;

    pub fn new(watch: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Deltas { arrived: Arc::default(), changes: Arc::default(), watch: Arc::new(watch) }
    }

    /// Text that nobody watches.
    pub fn unwatched() -> Self {
        Deltas::new(|_| {})
    }

    pub fn push(&self, text: &str) {
        self.overhear(text);
        let mut arrived = self.lock();
        if arrived.text.len() < Self::MAX_KEPT {
            arrived.text.push_str(text);
            self.changes.fetch_add(1, Ordering::SeqCst);
        }
        drop(arrived);
        (self.watch)(text);
    }

    /// Text that is billed and not shown: thoughts, or what comes after a stop sequence.
    pub fn overhear(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.alive();
        let mut arrived = self.lock();
        arrived.has_begun = true;
        arrived.heard.add(text);
    }

    /// A sign of life other than text: the provider has taken the request up and works on it.
    pub fn alive(&self) {
        self.lock().last_sign = Some(Instant::now());
    }

    /// What this try is billed for so far. It counts only if the try brings no reply.
    pub fn bill(&self, usage: Usage) {
        self.lock().usage = Some(usage);
    }

    /// Takes what has arrived, leaving nothing for the next try.
    pub fn take(&self) -> Arrived {
        let mut arrived = self.lock();
        self.changes.fetch_add(1, Ordering::SeqCst);
        mem::take(&mut *arrived)
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Reads what has arrived in this try, with the number of the change that it is as of.
    pub(crate) fn read<T>(&self, read: impl FnOnce(u64, &str) -> T) -> T {
        let arrived = self.lock();
        read(self.changes(), &arrived.text)
    }

    pub(crate) fn signs(&self) -> Signs {
        let arrived = self.lock();
        Signs { last: arrived.last_sign, has_begun: arrived.has_begun }
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Deltas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deltas").finish_non_exhaustive()
    }
}

/// Why a try came to nothing. The variants are what a caller can act on; the texts are for people and carry
/// no key, no prompt and no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Says who was too slow, and the name of the setting that says so.
    #[error("{0}")]
    Timeout(String),
    #[error("the provider limits the rate of requests: {message}")]
    RateLimited { retry_after: Option<Duration>, message: String },
    #[error("the provider is overloaded: {message}")]
    Overloaded { retry_after: Option<Duration>, message: String },
    #[error("the provider does not accept the key: {0}")]
    Unauthorized(String),
    #[error("the model refused: {0}")]
    Refused(String),
    #[error("the request is longer than the model can read: {0}")]
    ContextTooLong(String),
    /// Nothing was sent.
    #[error("the provider cannot be reached: {0}")]
    Unreachable(String),
    /// The connection failed after the request was sent.
    #[error("the connection failed: {0}")]
    Network(String),
    #[error("the provider's answer cannot be read: {0}")]
    BadResponse(String),
    #[error("the provider rejects the request: {0}")]
    Rejected(String),
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    ScriptChanged(String),
}

impl CallError {
    /// Whether the same request may well succeed a moment later.
    pub fn is_passing(&self) -> bool {
        match self {
            CallError::Timeout(_)
            | CallError::RateLimited { .. }
            | CallError::Overloaded { .. }
            | CallError::Unreachable(_)
            | CallError::Network(_)
            | CallError::BadResponse(_) => true,
            CallError::Unauthorized(_)
            | CallError::Refused(_)
            | CallError::ContextTooLong(_)
            | CallError::Rejected(_)
            | CallError::Unavailable(_)
            | CallError::ScriptChanged(_) => false,
        }
    }

    /// Whether a try that ended so is paid for although nothing was heard of it. Vendors do not bill what they answer
    /// with an error, nor what never reached them. What reached them and was not answered they may well bill, so it
    /// is charged.
    pub fn is_billed(&self) -> bool {
        match self {
            CallError::Timeout(_) | CallError::Network(_) => true,
            CallError::BadResponse(_)
            | CallError::RateLimited { .. }
            | CallError::Overloaded { .. }
            | CallError::Unauthorized(_)
            | CallError::Refused(_)
            | CallError::ContextTooLong(_)
            | CallError::Unreachable(_)
            | CallError::Rejected(_)
            | CallError::Unavailable(_)
            | CallError::ScriptChanged(_) => false,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            CallError::RateLimited { retry_after, .. } | CallError::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    pub fn kind(&self) -> FailureKind {
        match self {
            CallError::Timeout(_) => FailureKind::Timeout,
            CallError::RateLimited { .. } => FailureKind::RateLimited,
            CallError::Overloaded { .. } => FailureKind::Overloaded,
            CallError::Unauthorized(_) => FailureKind::Unauthorized,
            CallError::Refused(_) => FailureKind::Refused,
            CallError::ContextTooLong(_) => FailureKind::ContextTooLong,
            CallError::Unreachable(_) | CallError::Network(_) => FailureKind::Network,
            CallError::BadResponse(_) => FailureKind::BadResponse,
            CallError::Rejected(_) => FailureKind::Rejected,
            CallError::Unavailable(_) => FailureKind::Unavailable,
            CallError::ScriptChanged(_) => FailureKind::ScriptChanged,
        }
    }
}

impl From<&CallError> for CallFailure {
    fn from(error: &CallError) -> Self {
        CallFailure { kind: error.kind(), message: error.to_string() }
    }
}
