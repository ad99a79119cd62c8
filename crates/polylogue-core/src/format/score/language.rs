//! What a score says: roles, settings, phases, repeats, results. It is recorded whole in a session's setup, so that a
//! journal depends on no file. How it is written in YAML is in `reader`.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A format in words: who speaks when, what they see, what they answer with, when it is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Score {
    pub name: Arc<str>,
    #[serde(default)]
    pub about: Arc<str>,
    pub roles: Vec<Role>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    pub phases: Vec<Phase>,
    /// What comes out at the end, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Yield>,
}

impl Score {
    /// Seats of all roles together: as many agents as a cast has.
    pub const MAX_SEATS: usize = crate::setup::Cast::MAX_AGENTS;
    /// How often a repeat can go round.
    pub const MAX_TIMES: u32 = 100;
    /// Asks that a score can come to, with one more try for each.
    pub const MAX_ASKS: u64 = 2_000;

    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| *role.name == *name)
    }
}

/// A part that seats play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ScoreRole")]
pub struct Role {
    pub name: Arc<str>,
    pub least: u32,
    pub most: u32,
    /// Who has its seats when nobody else is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default: Vec<Arc<str>>,
    /// Whether people have its seats.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_person: bool,
    /// A template of who somebody is in this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Arc<str>>,
}

/// Something that can be set for a session, with what it is otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ScoreSetting")]
pub struct Setting {
    pub name: Arc<str>,
    /// A number, a text, or yes and no. What it is set to has the same type.
    pub default: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScorePhase")]
pub enum Phase {
    Turn(Turn),
    Repeat(Repeat),
}

/// Phases that are gone through again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ScoreRepeat")]
pub struct Repeat {
    pub at_most: Times,
    /// An expression: once it holds at the end of a round, that was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Arc<str>>,
    pub phases: Vec<Phase>,
}

/// How often: a number, or the setting that says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ScoreTimes")]
pub enum Times {
    Number(u32),
    Setting(Arc<str>),
}

/// A phase in which seats speak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ScoreTurn")]
pub struct Turn {
    pub name: Arc<str>,
    pub who: Vec<Who>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_by_one: bool,
    #[serde(default)]
    pub sees: Sees,
    /// What is seen is shown under letters, in an order drawn for each seat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blind: bool,
    /// The form of the reply; plain text without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply: Vec<ReplyField>,
    /// A template of what is heard of a reply that has a form. An empty one is heard by nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Arc<str>>,
    /// The field of the reply that says whom the line is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Arc<str>>,
}

/// Some of those who speak in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScoreWho")]
pub enum Who {
    /// The seats of a role, or those for whom an expression holds.
    Role {
        role: Arc<str>,
        #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
        only_if: Option<Arc<str>>,
    },
    /// One of these seats, whom another chooses.
    Pick {
        by: Arc<str>,
        from: Vec<Arc<str>>,
        /// Whether whoever spoke last may be chosen.
        #[serde(default = "yes")]
        again: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Arc<str>>,
    },
}

fn yes() -> bool {
    true
}

/// What a seat is shown in a phase of what was said before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScoreSees")]
pub enum Sees {
    #[default]
    All,
    These(Vec<Seen>),
}

/// What was said in a phase, or some of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ScoreSeen")]
pub struct Seen {
    pub phase: Arc<str>,
    /// An expression that holds for the lines that are shown.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub only_where: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
    /// Whether those of more than `at_most` are drawn. Otherwise they are the newest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drawn: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ScoreReplyField")]
pub struct ReplyField {
    pub name: Arc<str>,
    pub form: Form,
}

/// What a field of a reply can be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScoreForm")]
pub enum Form {
    Text,
    YesNo,
    Number {
        least: f64,
        most: f64,
    },
    OneOf(Of),
    /// Each of them once, the best first.
    Order(Of),
    List {
        of: Box<Form>,
        at_most: u32,
    },
}

/// What can be chosen from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScoreOf")]
pub enum Of {
    Words(Vec<Arc<str>>),
    /// Those who spoke in a phase, but for oneself.
    Phase(Arc<str>),
    /// The seats of a role, but for oneself.
    Role(Arc<str>),
}

/// Something that comes out of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ScoreYield")]
pub struct Yield {
    pub name: Arc<str>,
    pub value: Arc<str>,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Times::Number(times) => times.fmt(f),
            Times::Setting(name) => name.fmt(f),
        }
    }
}

impl Who {
    /// The roles whose seats may speak.
    pub fn roles(&self) -> Vec<&Arc<str>> {
        match self {
            Who::Role { role, .. } => vec![role],
            Who::Pick { from, .. } => from.iter().collect(),
        }
    }
}

impl Turn {
    /// Whether somebody chooses who speaks.
    pub(super) fn is_picked(&self) -> bool {
        self.who.iter().any(|who| matches!(who, Who::Pick { .. }))
    }
}

impl Sees {
    pub(super) fn these(&self) -> &[Seen] {
        match self {
            Sees::All => &[],
            Sees::These(seen) => seen,
        }
    }
}

/// What the person said at the beginning, as something to see.
pub(super) const MESSAGE: &str = "message";
