//! What was said: lines with their speakers, in order.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, AskId, LineId, PersonId, Seq},
    time::Timestamp,
};

/// Who speaks a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Agent(AgentId),
    Person(PersonId),
    /// The conversation itself, where it directs the agents.
    Router,
}

impl Speaker {
    pub fn name(&self) -> &str {
        match self {
            Speaker::Agent(agent) => agent.as_str(),
            Speaker::Person(person) => person.as_str(),
            Speaker::Router => "router",
        }
    }
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a line is in its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// A person's words.
    User,
    /// An agent's contribution.
    Message,
    /// The router's instruction or notice.
    Router,
    /// What a slot answers the person.
    Response,
    /// What a slot says about another's response.
    Comment,
    /// What a slot says to the comments on its own.
    Reply,
}

impl LineKind {
    /// Whether the line becomes a clip when the session has speech.
    pub fn is_spoken(self) -> bool {
        match self {
            LineKind::Message | LineKind::Response | LineKind::Comment | LineKind::Reply => true,
            LineKind::User | LineKind::Router => false,
        }
    }
}

/// What was said, with its speaker.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub id: LineId,
    pub seq: Seq,
    pub at: Timestamp,
    pub speaker: Speaker,
    pub kind: LineKind,
    /// Whom it is addressed to, where the format says so.
    pub to: Option<AgentId>,
    pub text: Arc<str>,
    /// The request that it answers.
    pub ask: Option<AskId>,
    /// The voice profile that the speaker chose for this line.
    pub voice: Option<Arc<str>>,
    pub clip: ClipState,
}

/// The audio of one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Clip {
    /// Relative to the artifacts folder, with forward slashes.
    pub path: String,
    pub duration_ms: u64,
    /// How loud it is as a whole, in LUFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loudness_lufs: Option<f32>,
    /// The voice profile that it was spoken with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<Arc<str>>,
    /// The speech engine that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ClipState {
    /// The line is not spoken aloud.
    Unspoken,
    /// To be made.
    Wanted,
    Made(Clip),
    Failed,
}

/// The lines of a session in order, and the marks on them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    lines: Vec<Line>,
}

impl Transcript {
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub fn get(&self, id: LineId) -> Option<&Line> {
        self.lines.get((id.0 as usize).checked_sub(1)?)
    }

    pub(crate) fn next_id(&self) -> LineId {
        LineId(self.lines.len() as u32 + 1)
    }

    pub(crate) fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub(crate) fn set_clip(&mut self, id: LineId, state: ClipState) {
        if let Some(line) = (id.0 as usize).checked_sub(1).and_then(|at| self.lines.get_mut(at)) {
            line.clip = state;
        }
    }
}
