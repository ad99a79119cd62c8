//! What a session is set up with: format, cast, limits, seed. Recorded once, as the journal's first event.

use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::format::FormatSetup;
use crate::{
    id::{AgentId, PersonId, SessionId},
    money::{Money, Price},
    room::RoomCall,
};

/// Everything that a session needs to know before its first step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Setup {
    pub id: SessionId,
    pub format: FormatSetup,
    pub cast: Cast,
    #[serde(default)]
    pub limits: Limits,
    /// The one source of chance: a replay draws the same.
    #[serde(default)]
    pub seed: u64,
    /// Whether lines become clips.
    #[serde(default)]
    pub speech: bool,
    /// Prompt templates that replace the built-in ones of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, Arc<str>>,
    /// The message of a room that the session answers, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomCall>,
}

/// A model by provider and name, written `provider/model`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    pub provider: Arc<str>,
    pub model: Arc<str>,
}

impl ModelRef {
    /// The provider of what a person says: a part whose model is `person/NAME` is played by that person, and no model
    /// is asked for it.
    pub const PERSON: &str = "person";
    /// The provider of replies out of a file, by its path.
    pub const SCRIPT: &str = "script";

    /// A person in the place of a model.
    pub fn of_person(person: &PersonId) -> ModelRef {
        ModelRef { provider: Self::PERSON.into(), model: person.shared().clone() }
    }

    /// The person that plays in the place of a model.
    pub fn person(&self) -> Option<PersonId> {
        if &*self.provider == Self::PERSON { self.model.parse().ok() } else { None }
    }

    /// As people are shown it: a script by the name of its file, wherever that lies.
    pub fn shown(&self) -> String {
        match (&*self.provider, self.model.rsplit(['/', '\\']).next()) {
            (Self::SCRIPT, Some(file)) => format!("{}/{file}", self.provider),
            _ => self.to_string(),
        }
    }
}

impl FromStr for ModelRef {
    type Err = BadSetup;
    fn from_str(text: &str) -> Result<Self, BadSetup> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(ModelRef { provider: provider.into(), model: model.into() })
            }
            _ => Err(BadSetup::Model(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ModelRef {
    type Error = BadSetup;
    fn try_from(text: String) -> Result<Self, BadSetup> {
        text.parse()
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> String {
        model.to_string()
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl fmt::Debug for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// How an agent's model is to answer. What a vendor refuses, its connector leaves out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Sampling {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// What a model draws from, where it lets others choose that: an ask has its session's seed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A participant that a model plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub name: AgentId,
    pub model: ModelRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<Arc<str>>,
    #[serde(default)]
    pub sampling: Sampling,
    /// What the model charged when the session began; `None` when nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether its model is a small one, which is asked in a few plain sentences and shown no form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_small: bool,
}

/// The participants of a session: at least one agent, no two of the same name. The crew are agents who are asked
/// and never speak, such as the one who directs the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawCast")]
pub struct Cast {
    agents: Vec<Agent>,
    people: Vec<PersonId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    crew: Vec<Agent>,
}

#[derive(Deserialize, JsonSchema)]
struct RawCast {
    agents: Vec<Agent>,
    people: Vec<PersonId>,
    #[serde(default)]
    crew: Vec<Agent>,
}

impl TryFrom<RawCast> for Cast {
    type Error = BadSetup;
    fn try_from(raw: RawCast) -> Result<Self, BadSetup> {
        Cast::new(raw.agents, raw.people)?.with_crew(raw.crew)
    }
}

impl Cast {
    pub const MAX_AGENTS: usize = 16;
    pub const MAX_PEOPLE: usize = 16;
    /// Names that the formats use for voices of their own.
    pub const RESERVED: [&str; 6] = ["router", "system", "moderator", "all", "user", "you"];

    pub fn new(agents: Vec<Agent>, people: Vec<PersonId>) -> Result<Self, BadSetup> {
        if agents.is_empty() {
            return Err(BadSetup::NoAgents);
        }
        if agents.len() > Self::MAX_AGENTS || people.len() > Self::MAX_PEOPLE {
            return Err(BadSetup::TooMany);
        }
        let mut seen: Vec<String> = people.iter().map(|person| person.as_str().to_lowercase()).collect();
        for agent in &agents {
            let name = agent.name.as_str().to_lowercase();
            if Self::RESERVED.contains(&name.as_str()) {
                return Err(BadSetup::Reserved(agent.name.to_string()));
            }
            let is_own = |person: &PersonId| person.as_str().to_lowercase() == name;
            let person = agent.model.person();
            if let Some(person) = person.as_ref().filter(|person| !people.contains(person)) {
                return Err(BadSetup::NoSuchPerson(agent.name.to_string(), person.to_string()));
            }
            // A person may be called as the part is that they play.
            if seen.contains(&name) && !person.as_ref().is_some_and(is_own) {
                return Err(BadSetup::Twice(agent.name.to_string()));
            }
            seen.push(name);
        }
        Ok(Cast { agents, people, crew: Vec::new() })
    }

    /// The same cast with these behind it. Only the crew may have the names that are the conversation's own.
    pub fn with_crew(mut self, crew: Vec<Agent>) -> Result<Self, BadSetup> {
        for member in crew {
            if self.agent(&member.name).is_some() {
                return Err(BadSetup::Twice(member.name.to_string()));
            }
            self.crew.push(member);
        }
        if self.crew.len() > Self::MAX_AGENTS { Err(BadSetup::TooMany) } else { Ok(self) }
    }

    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    pub fn people(&self) -> &[PersonId] {
        &self.people
    }

    pub fn crew(&self) -> &[Agent] {
        &self.crew
    }

    /// Everyone who is asked: the agents, then the crew.
    pub fn everyone(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter().chain(&self.crew)
    }

    /// The person who plays this part, if it is one.
    pub fn person_of(&self, agent: &AgentId) -> Option<PersonId> {
        self.agent(agent).and_then(|agent| agent.model.person())
    }

    pub fn agent(&self, name: &AgentId) -> Option<&Agent> {
        self.everyone().find(|agent| agent.name == *name)
    }

    /// Replaces models and personas; an unknown name changes nothing.
    pub(crate) fn go_on(&mut self, change: &Change) {
        for agent in self.agents.iter_mut().chain(&mut self.crew) {
            if let Some(recast) = change.recast.iter().rfind(|recast| recast.agent == agent.name) {
                agent.model = recast.model.clone();
                agent.price = recast.price;
                agent.is_small = recast.is_small;
            }
            if let Some(persona) = change.personas.get(&agent.name) {
                agent.persona = Some(persona.clone());
            }
        }
    }

    /// Whether one of these is called so.
    fn must_have<'a>(&self, name: &AgentId, among: impl IntoIterator<Item = &'a Agent>) -> Result<(), BadSetup> {
        if among.into_iter().any(|agent| agent.name == *name) {
            return Ok(());
        }
        let names: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        Err(BadSetup::NotInCast(name.to_string(), names.join(", ")))
    }
}

/// The bounds of a session. Reaching one ends it with that reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    pub max_usd: Money,
    pub max_tokens: u64,
    pub max_seconds: u64,
    /// How long a model that has begun to answer may fall silent.
    pub call_timeout_seconds: u64,
    /// How long a model may take to its first word; without it, as long as its kind usually needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_seconds: Option<u64>,
    /// How long one try may take as a whole.
    #[serde(skip_serializing_if = "is_usual_call_max")]
    pub call_max_seconds: u64,
}

const CALL_MAX_SECONDS: u64 = 240;

fn is_usual_call_max(seconds: &u64) -> bool {
    *seconds == CALL_MAX_SECONDS
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_usd: Money::from_usd(2.0),
            max_tokens: 500_000,
            max_seconds: 900,
            call_timeout_seconds: 30,
            first_token_seconds: None,
            call_max_seconds: CALL_MAX_SECONDS,
        }
    }
}

impl Limits {
    pub(crate) fn check(&self) -> Result<(), BadSetup> {
        for (limit, value) in [
            ("max_tokens", self.max_tokens),
            ("max_seconds", self.max_seconds),
            ("call_timeout_seconds", self.call_timeout_seconds),
            ("first_token_seconds", self.first_token_seconds.unwrap_or(1)),
            ("call_max_seconds", self.call_max_seconds),
        ] {
            if value == 0 {
                return Err(BadSetup::ZeroLimit(limit.into()));
            }
        }
        Ok(())
    }
}

/// What may be different from here on, when a session is resumed or forked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Change {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Rounds, beats or whatever the format counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recast: Vec<Recast>,
    /// Whether lines become clips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speech: Option<bool>,
    /// Who an agent is from here on. Only a fork can change that, and the two that follow.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub personas: BTreeMap<AgentId, Arc<str>>,
    /// What the line at the fork reads instead. It stands after the fork's own record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Arc<str>>,
    /// What the agents are told before their next turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

impl Change {
    pub const MAX_NOTES: usize = 16;
    pub const MAX_PERSONA_CHARS: usize = 20_000;

    /// Whether everybody whom it names is in the cast, and whether it is within bounds.
    pub(crate) fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        self.limits.as_ref().map_or(Ok(()), Limits::check)?;
        for Recast { agent, model, .. } in &self.recast {
            cast.must_have(agent, cast.everyone())?;
            if let Some(person) = model.person().filter(|person| cast.person_of(agent).as_ref() != Some(person)) {
                return Err(BadSetup::NoSuchPerson(agent.to_string(), person.to_string()));
            }
        }
        for (agent, persona) in &self.personas {
            cast.must_have(agent, cast.agents())?;
            let chars = persona.chars().count();
            if persona.trim().is_empty() {
                return Err(BadSetup::settings(format!("the persona of `{agent}` is empty")));
            } else if chars > Self::MAX_PERSONA_CHARS {
                return Err(BadSetup::TooLong(chars, Self::MAX_PERSONA_CHARS));
            }
        }
        if self.notes.len() > Self::MAX_NOTES {
            let (many, most) = (self.notes.len(), Self::MAX_NOTES);
            return Err(BadSetup::settings(format!("there are {many} notes: at most {most} are taken")));
        }
        self.notes.iter().try_for_each(|note| note.check(cast))
    }

    /// What a session that goes on with the same journal cannot change.
    pub(crate) fn must_rewrite_nothing(&self) -> Result<(), BadSetup> {
        match self.personas.is_empty() && self.edit.is_none() && self.notes.is_empty() {
            true => Ok(()),
            false => {
                Err(BadSetup::settings("personas, notes and a line's words change only in a fork: fork the session"))
            }
        }
    }
}

/// Something that an agent is told by somebody outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// `None` when it is for everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    pub text: Arc<str>,
}

impl Note {
    pub const MAX_CHARS: usize = 2_000;

    pub(crate) fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let chars = self.text.chars().count();
        if self.text.trim().is_empty() {
            return Err(BadSetup::settings("the note is empty"));
        } else if chars > Self::MAX_CHARS {
            return Err(BadSetup::TooLong(chars, Self::MAX_CHARS));
        }
        self.to.as_ref().map_or(Ok(()), |to| cast.must_have(to, cast.agents()))
    }
}

/// Another model for an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recast {
    pub agent: AgentId,
    pub model: ModelRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_small: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum BadSetup {
    #[error("`{0}` names no model: write provider/model, for example openai/gpt-4o")]
    Model(String),
    #[error("a session needs at least one agent")]
    NoAgents,
    #[error("a session has at most {} agents and {} people", Cast::MAX_AGENTS, Cast::MAX_PEOPLE)]
    TooMany,
    #[error("two participants are called `{0}`: give one of them another name")]
    Twice(String),
    #[error("`{0}` cannot be played by `{1}`: a person takes a part only where the session is set up")]
    NoSuchPerson(String, String),
    #[error("an agent cannot be called `{0}`: the name is taken by the conversation itself")]
    Reserved(String),
    #[error("`{0}` does not take part: the agents here are {1}")]
    NotInCast(String, String),
    #[error("the text is too long: {0} characters, at most {1} are taken")]
    TooLong(usize, usize),
    #[error("the number of rounds is {0}: choose from 1 to {1}")]
    Rounds(u32, u32),
    #[error("a session of this format cannot answer in a room")]
    NotForRooms,
    /// What the format itself finds wrong, in words.
    #[error("{}", .0.join("; "))]
    Settings(Vec<String>),
    #[error("the limit {0} is 0: nothing could be said within it")]
    ZeroLimit(Cow<'static, str>),
    #[error("the template `{name}` does not compile: {problem}")]
    Template { name: String, problem: String },
    #[error("there is no template called `{0}`: the templates are {1}")]
    UnknownTemplate(String, String),
}

impl BadSetup {
    /// The one thing that a format finds wrong with its settings.
    pub fn settings(problem: impl Into<String>) -> BadSetup {
        BadSetup::Settings(vec![problem.into()])
    }
}

impl Setup {
    /// Everything that must hold before the first step, checked once.
    pub fn check(&self) -> Result<(), BadSetup> {
        self.limits.check()?;
        if self.room.is_some() && !self.format.answers_in_rooms() {
            return Err(BadSetup::NotForRooms);
        }
        self.format.check(&self.cast)
    }
}
