//! What a model may refuse to be sent, and the memory of what it did refuse.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

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

/// What each model refused within the last hour. Models change, and a server may have meant something else: after that
/// it is asked again as if nothing had been.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_model: Mutex<HashMap<String, Vec<(Param, Instant)>>>,
}

impl Refusals {
    /// How long a lesson holds.
    pub(crate) const HOLDS: Duration = Duration::from_secs(3_600);

    /// Models that are remembered. Beyond, lessons hold for the call only.
    const MAX_MODELS: usize = 512;

    pub(crate) fn of(&self, model: &str, now: Instant) -> Params {
        let by_model = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        let lessons = by_model.get(model).map(Vec::as_slice).unwrap_or_default();
        let hold = lessons.iter().filter(|(_, at)| holds(*at, now)).map(|(param, _)| *param);
        hold.fold(Params::default(), Params::with)
    }

    pub(crate) fn remember(&self, model: &str, param: Param, now: Instant) {
        let mut by_model = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        by_model.retain(|_, lessons| {
            lessons.retain(|(_, at)| holds(*at, now));
            !lessons.is_empty()
        });
        if by_model.len() < Self::MAX_MODELS || by_model.contains_key(model) {
            let lessons = by_model.entry(model.to_owned()).or_default();
            lessons.retain(|(known, _)| *known != param);
            lessons.push((param, now));
        }
    }
}

fn holds(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < Refusals::HOLDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesson_holds_for_an_hour_and_only_for_its_model() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        let (half, second) = (Refusals::HOLDS / 2, Duration::from_secs(1));
        refusals.remember("odd", Param::Stop, start);
        refusals.remember("odd", Param::Temperature, start + half);
        let both = Params::of(&[Param::Stop, Param::Temperature]);
        for (model, after, expected) in [
            ("odd", half, both),
            ("odd", Refusals::HOLDS - second, both),
            ("odd", Refusals::HOLDS, Params::of(&[Param::Temperature])),
            ("odd", Refusals::HOLDS + half, Params::default()),
            ("even", half, Params::default()),
        ] {
            assert_eq!(refusals.of(model, start + after), expected, "{model} after {after:?}");
        }
        refusals.remember("odd", Param::Stop, start + Refusals::HOLDS);
        assert_eq!(refusals.of("odd", start + Refusals::HOLDS + second), both, "it was learned again");
    }

    #[test]
    fn what_holds_no_more_makes_room() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        for model in 0..Refusals::MAX_MODELS + 1 {
            refusals.remember(&model.to_string(), Param::Stop, start);
        }
        let last = Refusals::MAX_MODELS.to_string();
        assert_eq!(refusals.of(&last, start), Params::default(), "the memory is bounded");
        refusals.remember(&last, Param::Stop, start + Refusals::HOLDS);
        assert_eq!(refusals.of(&last, start + Refusals::HOLDS), Params::of(&[Param::Stop]));
    }
}
