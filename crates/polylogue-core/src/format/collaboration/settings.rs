//! What a collaboration is set up with.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finished, Quote, reason};
use crate::{
    Conversation,
    format::Described,
    id::AgentId,
    line::Speaker,
    setup::{BadSetup, Cast},
};

/// What a collaboration is set up with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CollaborationSettings")]
pub struct Settings {
    pub goal: Arc<str>,
    /// Who speaks first.
    pub speaker: AgentId,
    pub max_rounds: u32,
    #[serde(default, skip_serializing_if = "Mode::is_collaborate")]
    pub mode: Mode,
    /// What was said before in the place where it happens, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Quote>,
    /// Whether the agents are told that a final message is the finished work itself, whole: then it is the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delivers: bool,
}

/// How agents go about what a person says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CollaborationMode")]
pub enum Mode {
    /// They work on it together.
    #[default]
    Collaborate,
    /// One of them answers, and may hand over to another.
    Single,
}

impl Mode {
    fn is_collaborate(&self) -> bool {
        *self == Mode::Collaborate
    }

    /// What the person is told it is.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Mode::Collaborate => "Collaboration",
            Mode::Single => "Call",
        }
    }

    pub(super) fn system_template(self) -> &'static str {
        match self {
            Mode::Collaborate => "collaboration_system.j2",
            Mode::Single => "call_system.j2",
        }
    }

    pub(super) fn turn_template(self) -> &'static str {
        match self {
            Mode::Collaborate => "collaboration_turn.j2",
            Mode::Single => "call_turn.j2",
        }
    }

    /// How few agents can do it.
    fn min_agents(self) -> usize {
        match self {
            Mode::Collaborate => 2,
            Mode::Single => 1,
        }
    }
}

impl Settings {
    pub const DEFAULT_ROUNDS: u32 = 6;
    /// One who answers, and one who goes on from there.
    pub const SINGLE_CALL_ROUNDS: u32 = 2;
    pub const MAX_ROUNDS: u32 = 10_000;
    pub const MAX_GOAL_CHARS: usize = 20_000;

    /// A collaboration that knows of nothing before it, and comes to a result.
    pub fn new(goal: impl Into<Arc<str>>, speaker: AgentId, max_rounds: u32) -> Settings {
        Settings {
            goal: goal.into(),
            speaker,
            max_rounds,
            mode: Mode::Collaborate,
            background: Vec::new(),
            delivers: true,
        }
    }
}

impl Described for Settings {
    fn title(&self) -> &str {
        &self.goal
    }

    fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let chars = self.goal.chars().count();
        if self.goal.trim().is_empty() {
            Err(BadSetup::settings("the goal is empty: say what the agents are to do"))
        } else if chars > Self::MAX_GOAL_CHARS {
            Err(BadSetup::TooLong(chars, Self::MAX_GOAL_CHARS))
        } else if cast.agents().len() < self.mode.min_agents() {
            Err(BadSetup::settings("a collaboration is between two agents or more: name another with --between"))
        } else if cast.agent(&self.speaker).is_none() {
            let names: Vec<&str> = cast.agents().iter().map(|agent| agent.name.as_str()).collect();
            Err(BadSetup::NotInCast(self.speaker.to_string(), names.join(", ")))
        } else if !(1..=Self::MAX_ROUNDS).contains(&self.max_rounds) {
            Err(BadSetup::Rounds(self.max_rounds, Self::MAX_ROUNDS))
        } else {
            Ok(())
        }
    }

    /// The last words of the agent that said it was finished.
    fn result(&self, conversation: &Conversation) -> Option<Arc<str>> {
        let stage = conversation.stage();
        let is_finished = stage.ended() == Some(reason::FINAL) && self.delivers && self.mode == Mode::Collaborate;
        let lines = stage.transcript().lines().iter();
        let last = lines.rev().find(|line| matches!(line.speaker, Speaker::Agent(_))).filter(|_| is_finished)?;
        Some(last.text.clone())
    }

    fn artifacts(&self, conversation: &Conversation) -> Vec<String> {
        let path = || Finished::path(conversation.stage().setup().id);
        self.result(conversation).map(|_| path()).into_iter().collect()
    }

    fn answers_in_rooms(&self) -> bool {
        true
    }

    /// Agents of the cast may have been handed over to in a single call. The others are no part of it.
    fn heading(&self, cast: &Cast) -> Option<String> {
        match self.mode {
            Mode::Collaborate => None,
            Mode::Single => {
                cast.agent(&self.speaker).map(|agent| format!("Call to {} ({})", agent.name, agent.model.shown()))
            }
        }
    }
}
