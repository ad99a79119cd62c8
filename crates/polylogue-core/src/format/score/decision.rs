//! What only a score decides. What follows from an expression is recorded, so that folding works none out.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Settings;
use crate::{
    event::Awaits,
    event::FailureKind,
    format::{Decided, Format, Recorded, Remark},
    id::{AgentId, AskId},
};

/// `turn` counts the phases as they are played, from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(rename = "ScoreDecided")]
pub enum Decision {
    /// A phase begins, for these seats. The first begins with the session.
    PhaseBegun {
        turn: u32,
        phase: Arc<str>,
        /// How often the repeats around it have gone round, the outermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rounds: Vec<u32>,
        seats: Vec<Arc<str>>,
        /// Who chooses one of them, where one is chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    /// This seat speaks in the phase.
    Picked {
        turn: u32,
        seat: Arc<str>,
        /// Why the seat was drawn and not chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// A reply could not be used, and the seat is asked once more, told why.
    Reasked { ask: AskId, problem: String },
    /// A seat had its turn. The line before this, if any, is what was heard of it.
    Played {
        turn: u32,
        seat: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<Value>,
        /// Nobody hears of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        silent: bool,
    },
    /// A seat is left out of the phase.
    SeatFailed {
        turn: u32,
        seat: Arc<str>,
        /// What became of the call; `None` when it brought replies that cannot be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<FailureKind>,
        message: String,
    },
    /// Fewer seats of a role are left than it has at least.
    TooFew { turn: u32, role: Arc<str> },
    /// Somebody outside tells a seat, or all, something before their next turns.
    Noted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<AgentId>,
        text: Arc<str>,
    },
    /// An expression could not be worked out.
    Broken { part: String, problem: String },
    /// A person is waited for from here on, or nobody any more.
    Awaited {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<Arc<str>>,
    },
    /// All phases are played.
    Concluded { results: Map<String, Value> },
}

impl Decided for Decision {
    fn is_consequence(&self) -> bool {
        !matches!(self, Decision::Noted { .. })
    }

    fn ask(&self) -> Option<&AskId> {
        match self {
            Decision::Reasked { ask, .. } => Some(ask),
            _ => None,
        }
    }

    fn awaits_person(&self) -> Option<Awaits> {
        match self {
            Decision::Awaited { who } => Some(Awaits::patiently(who.is_some())),
            _ => None,
        }
    }

    fn remark(&self) -> Option<Remark> {
        match self {
            Decision::Reasked { ask, problem } => {
                Some(Remark::info(format!("a reply could not be used and is asked for again: {ask}: {problem}")))
            }
            Decision::SeatFailed { seat, message, kind: None, .. } => {
                Some(Remark::warning(format!("`{seat}` falls out of its phase: {message}")))
            }
            Decision::Picked { seat, problem: Some(problem), .. } => {
                Some(Remark::warning(format!("nobody was chosen, so `{seat}` is drawn: {problem}")))
            }
            Decision::Broken { part, problem } => {
                Some(Remark::warning(format!("the score breaks at {part}: {problem}")))
            }
            _ => None,
        }
    }
}

impl Recorded for Decision {
    const FORMAT: &'static str = Settings::NAME;
}
