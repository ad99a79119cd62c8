//! What becomes of a step over which a model, a voice or a format panics: that step has failed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use polylogue_core::{
    Answer, Input, Stage,
    event::{CallFailure, FailureKind},
    id::{AskId, LineId, Seq},
    ledger::{Usage, estimate_tokens},
};

const MESSAGE: &str = "what came broke its reader, which is a bug: the log says where";

/// A format that panicked. The log says where.
pub(super) struct Broken;

/// What came of the work, unless it panicked.
pub(super) fn unbroken<T>(work: impl FnOnce() -> T) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Broken)
}

/// What came of a step, also when it panicked.
pub(super) async fn or_broken(work: impl Future<Output = Input>, broken: impl FnOnce() -> Input) -> Input {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| broken())
}

/// What a step has brought, kept for the case that the format breaks over it.
pub(super) enum Brought {
    Answer(AskId, Answer),
    Clip(LineId),
    Narration(Seq),
}

impl Brought {
    /// `None` for an input that no step has brought.
    pub(super) fn by(input: &Input) -> Option<Brought> {
        match input {
            Input::Answered { ask, answer } => Some(Brought::Answer(ask.clone(), answer.clone())),
            Input::ClipMade { line, .. } => Some(Brought::Clip(*line)),
            Input::Narrated { of, .. } => Some(Brought::Narration(*of)),
            Input::AskFailed { .. }
            | Input::NotNarrated { .. }
            | Input::ClipFailed { .. }
            | Input::HumanSaid { .. }
            | Input::Absent(_)
            | Input::Reopened { .. }
            | Input::Proposed { .. }
            | Input::Halted { .. }
            | Input::ResumePressed { .. } => None,
        }
    }

    /// The same step, failed. An answer is paid for, whatever becomes of it.
    pub(super) fn failed(self, stage: &Stage) -> Input {
        match self {
            Brought::Answer(ask, answer) => {
                let sent = stage.estimate_of(&ask).unwrap_or_default();
                let estimate = || Usage { output: estimate_tokens(&answer.text), ..sent };
                let mut usage = answer.usage.unwrap_or_else(estimate);
                usage += answer.wasted;
                let failure = CallFailure { kind: FailureKind::BadResponse, message: MESSAGE.to_owned() };
                Input::AskFailed { ask, failure, usage, retries: answer.retries }
            }
            Brought::Clip(line) => Input::ClipFailed { line, error: MESSAGE.to_owned() },
            Brought::Narration(of) => Input::NotNarrated { of, error: MESSAGE.to_owned() },
        }
    }
}
