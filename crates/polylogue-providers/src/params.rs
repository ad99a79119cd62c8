//! What a model may refuse to be sent, and the memory of what it did refuse.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Something that a request can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Param {
    Temperature,
    Stop,
    /// How much a reasoning model is to think.
    Effort,
    /// `max_completion_tokens`, the newer name of the output limit.
    MaxCompletionTokens,
    /// `max_tokens`, the older one.
    MaxTokens,
    /// The provider's schema mode.
    Schema,
    /// JSON mode with the schema beside it: llama.cpp's older form.
    JsonMode,
    Stream,
    /// Asking for the usage at the end of a stream.
    StreamUsage,
    /// A system text of its own, apart from the first message.
    System,
    CacheKey,
    CacheControl,
    /// The provider's own path, where there is a compatible one beside it.
    OwnPath,
}

/// A set of [`Param`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params(u16);

impl Params {
    pub(crate) fn of(params: &[Param]) -> Params {
        params.iter().fold(Params::default(), |set, param| set.with(*param))
    }

    pub(crate) fn has(self, param: Param) -> bool {
        self.0 & (1 << param as u16) != 0
    }

    #[must_use]
    pub(crate) fn with(self, param: Param) -> Params {
        Params(self.0 | (1 << param as u16))
    }

    #[must_use]
    pub(crate) fn and(self, other: Params) -> Params {
        Params(self.0 | other.0)
    }
}

/// A name on the wire and what to do without when a server refuses it: the first that is still sent.
pub(crate) type Names = &'static [(&'static str, &'static [Param])];

/// What each model refused, for as long as the program runs.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_model: Mutex<HashMap<String, Params>>,
}

impl Refusals {
    /// Models that are remembered. Beyond, lessons hold for the call only.
    const MAX_MODELS: usize = 512;

    pub(crate) fn of(&self, model: &str) -> Params {
        self.by_model.lock().unwrap_or_else(PoisonError::into_inner).get(model).copied().unwrap_or_default()
    }

    pub(crate) fn remember(&self, model: &str, param: Param) {
        let mut by_model = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        if by_model.len() < Self::MAX_MODELS || by_model.contains_key(model) {
            let known = by_model.entry(model.to_owned()).or_default();
            *known = known.with(param);
        }
    }
}
