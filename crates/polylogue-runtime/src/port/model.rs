//! A language model: one request in, one reply out, with the text shown as it arrives.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    ask::Ask,
    event::{CallFailure, FailureKind},
    ledger::Usage,
};

/// Whatever answers requests. Dropping the future that [`Model::answer`] returns must end the request itself.
#[async_trait]
pub trait Model: Send + Sync {
    /// Waits until this call can be taken up. A model in this process serves one call after the other: what a call
    /// spends in that queue is not held against its time limit.
    async fn admit(&self, _call: &Call) -> Admission {
        Admission::default()
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError>;
}

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
}

/// What a call has brought so far: text, to be watched and to be kept when the call is cut, and the usage
/// where the provider reports it before the end.
#[derive(Clone)]
pub struct Deltas {
    arrived: Arc<Mutex<Arrived>>,
    watch: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What had arrived when a call ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrived {
    pub text: String,
    pub usage: Option<Usage>,
}

impl Deltas {
    /// Text beyond this many bytes is shown but not kept for the case of a cut.
    pub const MAX_KEPT: usize = 256 * 1024;

    pub fn new(watch: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Deltas { arrived: Arc::default(), watch: Arc::new(watch) }
    }

    /// Text that nobody watches.
    pub fn unwatched() -> Self {
        Deltas::new(|_| {})
    }

    pub fn push(&self, text: &str) {
        let mut arrived = self.lock();
        if arrived.text.len() < Self::MAX_KEPT {
            arrived.text.push_str(text);
        }
        drop(arrived);
        (self.watch)(text);
    }

    /// What this try is billed for so far. It counts only if the try brings no reply.
    pub fn bill(&self, usage: Usage) {
        self.lock().usage = Some(usage);
    }

    /// Takes what has arrived, leaving nothing for the next try.
    pub fn take(&self) -> Arrived {
        mem::take(&mut *self.lock())
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
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
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
            CallError::Network(_) => FailureKind::Network,
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
