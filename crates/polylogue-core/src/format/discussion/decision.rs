//! What only a discussion decides, as the journal holds it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Participant, Settings};
use crate::{
    event::{Awaits, FailureKind},
    format::{Decided, Format, Recorded, Remark},
    id::{AgentId, AskId},
    setup::Cast,
};

/// What only a discussion decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(rename = "DiscussionDecided")]
pub enum Decision {
    /// Before anybody spoke: others take part, or in another order.
    Reseated { participants: Vec<Participant>, cast: Cast },
    /// Somebody outside tells this to an agent, or to all of them, before their next turn.
    Noted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<AgentId>,
        text: Arc<str>,
    },
    /// An agent said nothing, and is asked once more, told why.
    Reasked { ask: AskId, problem: String },
    /// A participant has had their turn; what they said is the line before this.
    TurnTaken {
        turn: Turn,
        /// Why they said nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<TurnFailure>,
        /// Whose turn it is now; nobody's after the last.
        next: Option<Turn>,
        /// Who states the decision now, where that was the last turn and the discussion closes with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        closes: Option<AgentId>,
    },
    /// The decision was stated, in the line before this; its turn comes after everybody's.
    Closed {
        turn: Turn,
        /// Why nothing was stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<TurnFailure>,
    },
}

impl Decided for Decision {
    fn is_consequence(&self) -> bool {
        match self {
            Decision::Reseated { .. } | Decision::Noted { .. } => false,
            Decision::Reasked { .. } | Decision::TurnTaken { .. } | Decision::Closed { .. } => true,
        }
    }

    fn ask(&self) -> Option<&AskId> {
        match self {
            Decision::Reasked { ask, .. } => Some(ask),
            Decision::Reseated { .. }
            | Decision::Noted { .. }
            | Decision::TurnTaken { .. }
            | Decision::Closed { .. } => None,
        }
    }

    fn awaits_person(&self) -> Option<Awaits> {
        let is_person = match self {
            Decision::Reseated { participants, .. } => participants.first().is_some_and(Participant::is_person),
            Decision::TurnTaken { next, .. } => next.as_ref().is_some_and(|turn| turn.participant.is_person()),
            Decision::Reasked { .. } | Decision::Noted { .. } | Decision::Closed { .. } => return None,
        };
        Some(Awaits::patiently(is_person))
    }

    fn remark(&self) -> Option<Remark> {
        match self {
            Decision::Reasked { ask, problem } => {
                Some(Remark::info(format!("nothing was said, and it is asked for again: {ask}: {problem}")))
            }
            Decision::TurnTaken { turn, failure: Some(failure), .. } => {
                let (speaker, round, message) = (turn.participant.name(), turn.round, &failure.message);
                Some(Remark::warning(format!("{speaker} says nothing in round {round}: {message}")))
            }
            Decision::Closed { turn, failure: Some(failure) } => {
                let (speaker, message) = (turn.participant.name(), &failure.message);
                Some(Remark::warning(format!("{speaker} states no decision: {message}")))
            }
            Decision::TurnTaken { failure: None, .. }
            | Decision::Closed { failure: None, .. }
            | Decision::Reseated { .. }
            | Decision::Noted { .. } => None,
        }
    }
}

impl Recorded for Decision {
    const FORMAT: &'static str = Settings::NAME;
}

/// One participant's chance to speak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DiscussionTurn")]
pub struct Turn {
    /// The place in the order, from 0. A decision has the one after the last.
    pub index: u32,
    /// From 1.
    pub round: u32,
    #[serde(flatten)]
    pub participant: Participant,
}

/// Why a turn passed without a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnFailure {
    /// What became of the call; `None` when it brought replies without words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailureKind>,
    pub message: String,
}
