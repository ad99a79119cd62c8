//! What only a scene decides, as the journal holds it.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Judgement, Mood, Note, Settings, bracket};
use crate::{
    event::Awaits,
    format::{Decided, Format, Recorded},
    id::{AgentId, AskId},
    reason::Reason,
};

/// What only a scene decides. Beats are counted from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(rename = "SceneDecided")]
pub enum Decision {
    /// A character chose to say nothing.
    StayedSilent {
        ask: AskId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nonverbal: Vec<Arc<str>>,
    },
    /// How much a character wants to speak in this beat, and whether it cuts in, where the floor is bid for.
    Bid {
        ask: AskId,
        want: u8,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cuts_in: bool,
    },
    /// Everybody has answered: these may speak.
    FloorGranted {
        beat: u32,
        to: Vec<AgentId>,
    },
    /// A character wanted to speak, and others did: nothing of it was said.
    Waited {
        ask: AskId,
    },
    /// A reply was not in its form: what was wrong, and what was made of it.
    Salvaged {
        ask: AskId,
        problems: Vec<bracket::Problem>,
    },
    /// A judgement could not be read, and is asked for once more.
    Reasked {
        ask: AskId,
        problem: String,
    },
    Judged {
        beat: u32,
        judgement: Judgement,
    },
    /// The scene goes on without a judgement of this beat.
    Unjudged {
        beat: u32,
        problem: String,
        /// Who judges from now on, if it is another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stands_in: Option<AgentId>,
    },
    BeatEnded {
        beat: u32,
        spoke: Vec<AgentId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<AgentId>,
        /// Whether everything that was said had been said before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_circling: bool,
        moods: BTreeMap<AgentId, Mood>,
    },
    BeatBegun {
        beat: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<Note>,
    },
    /// A person directs the scene. What happens in the world is the line after this.
    Directed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<Arc<str>>,
    },
    /// Everybody else has had their turn: from here on the beat waits for nobody but the people who play these. Where
    /// there are none, it waits no more.
    WaitBegun {
        characters: Vec<AgentId>,
        /// For so long; without a number however long it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u32>,
    },
    /// A person did not speak while they were waited for. To the others, their character says nothing.
    PassedOver {
        ask: AskId,
    },
    Concluded {
        #[serde(deserialize_with = "Reason::known")]
        reason: Reason,
        goal_achieved: bool,
    },
    /// What a character takes along from the scene.
    Remembered {
        character: AgentId,
        text: Arc<str>,
    },
    /// A character takes nothing along: why.
    NotRemembered {
        character: AgentId,
        problem: String,
    },
}

impl Decided for Decision {
    fn is_consequence(&self) -> bool {
        !matches!(self, Decision::Directed { .. } | Decision::PassedOver { .. })
    }

    fn ask(&self) -> Option<&AskId> {
        match self {
            Decision::StayedSilent { ask, .. }
            | Decision::Bid { ask, .. }
            | Decision::Waited { ask }
            | Decision::Salvaged { ask, .. }
            | Decision::Reasked { ask, .. }
            | Decision::PassedOver { ask } => Some(ask),
            _ => None,
        }
    }

    fn awaits_person(&self) -> Option<Awaits> {
        match self {
            Decision::WaitBegun { characters, .. } if characters.is_empty() => Some(Awaits::Nobody),
            Decision::WaitBegun { seconds, .. } => Some(Awaits::People { seconds: *seconds }),
            Decision::PassedOver { .. } => Some(Awaits::Nobody),
            _ => None,
        }
    }

    fn remembered(&self) -> Option<(&AgentId, &Arc<str>)> {
        match self {
            Decision::Remembered { character, text } => Some((character, text)),
            _ => None,
        }
    }
}

impl Recorded for Decision {
    const FORMAT: &'static str = Settings::NAME;
}
