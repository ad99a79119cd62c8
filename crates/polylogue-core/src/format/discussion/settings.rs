//! What a discussion is set up with: its title and topic, who speaks in which order, how many rounds.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::Awaits,
    format::Described,
    id::{AgentId, PersonId},
    line::Speaker,
    setup::{BadSetup, Cast},
};

/// What a discussion is set up with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DiscussionSettings")]
pub struct Settings {
    pub title: Arc<str>,
    /// What it is about, in more words than the title has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Arc<str>>,
    /// In the order in which they speak.
    pub participants: Vec<Participant>,
    pub max_rounds: u32,
    /// The key that the discussion was asked for with: asked for again, it is the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// How it closes after its rounds.
    #[serde(default, skip_serializing_if = "Closing::is_open")]
    pub closing: Closing,
}

/// How a discussion closes after its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DiscussionClosing")]
pub enum Closing {
    /// With the last turn.
    #[default]
    Open,
    /// With a decision: the leader states it, else the manager, else the agent that speaks last.
    Decision,
}

impl Closing {
    pub fn is_open(&self) -> bool {
        *self == Closing::Open
    }

    /// The way of closing that is written so.
    pub fn named(name: &str) -> Result<Closing, BadSetup> {
        match name {
            "open" => Ok(Closing::Open),
            "decision" => Ok(Closing::Decision),
            _ => Err(BadSetup::settings(format!("a discussion closes with `decision` or stays `open`, not `{name}`"))),
        }
    }
}

/// Who of these states the decision: the leader, whose task it is, else the manager, else the agent that speaks last.
pub(super) fn closer<T>(participants: &[T], role: impl Fn(&T) -> Role) -> Option<&T> {
    let in_role = |wanted: Role| participants.iter().find(|participant| role(participant) == wanted);
    let last = || participants.iter().rfind(|participant| role(participant) != Role::User);
    in_role(Role::Leader).or_else(|| in_role(Role::Manager)).or_else(last)
}

/// A place in the order, and who has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Participant {
    pub role: Role,
    #[serde(flatten)]
    pub who: Who,
}

/// What a participant is in the discussion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ParticipantRole")]
pub enum Role {
    Manager,
    Leader,
    /// A person. All the others are agents.
    User,
    Specialist,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    Agent(AgentId),
    Person(PersonId),
}

impl Role {
    pub const ALL: [Role; 4] = [Role::Manager, Role::Leader, Role::User, Role::Specialist];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Manager => "manager",
            Role::Leader => "leader",
            Role::User => "user",
            Role::Specialist => "specialist",
        }
    }

    /// The role that is written so.
    pub fn named(name: &str) -> Result<Role, BadSetup> {
        let role = Role::ALL.into_iter().find(|role| role.as_str() == name);
        let problem = || format!("there is no role `{name}`: the roles are manager, leader, user and specialist");
        role.ok_or_else(|| bad_participants(&problem()))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Participant {
    /// Anybody who comes may take the place of a person who is called so.
    pub const ANYBODY: &str = "user";

    pub fn is_person(&self) -> bool {
        matches!(self.who, Who::Person(_))
    }

    /// Whether the lines of this speaker are theirs.
    pub(super) fn is(&self, speaker: &Speaker) -> bool {
        match (&self.who, speaker) {
            (Who::Agent(own), Speaker::Agent(agent)) => own == agent,
            (Who::Person(own), Speaker::Person(person)) => own == person,
            (Who::Agent(_) | Who::Person(_), _) => false,
        }
    }

    pub fn name(&self) -> &str {
        match &self.who {
            Who::Agent(agent) => agent.as_str(),
            Who::Person(person) => person.as_str(),
        }
    }
}

impl Settings {
    pub const DEFAULT_ROUNDS: u32 = 3;
    pub const MAX_ROUNDS: u32 = 1_000;
    pub const MAX_TITLE_CHARS: usize = 200;
    pub const MAX_TOPIC_CHARS: usize = 20_000;
    pub const MAX_KEY_CHARS: usize = 200;
    /// Where an agent names no stop sequences of its own, these end its reply.
    pub const DEFAULT_STOP: [&str; 3] = ["[", "\n\n", "Speaker:"];
}

impl Described for Settings {
    fn title(&self) -> &str {
        &self.title
    }

    fn awaits_person(&self, _: &Cast) -> Awaits {
        Awaits::patiently(self.participants.first().is_some_and(Participant::is_person))
    }

    fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let too_long = |text: &str, max: usize| {
            let chars = text.chars().count();
            if chars > max { Err(BadSetup::TooLong(chars, max)) } else { Ok(()) }
        };
        if self.title.trim().is_empty() {
            return Err(BadSetup::settings("the title is empty: say what the discussion is about"));
        }
        too_long(&self.title, Self::MAX_TITLE_CHARS)?;
        too_long(self.topic.as_deref().unwrap_or_default(), Self::MAX_TOPIC_CHARS)?;
        too_long(self.key.as_deref().unwrap_or_default(), Self::MAX_KEY_CHARS)?;
        if !(1..=Self::MAX_ROUNDS).contains(&self.max_rounds) {
            return Err(BadSetup::Rounds(self.max_rounds, Self::MAX_ROUNDS));
        }
        check_seats(&self.participants, cast)
    }
}

fn bad_participants(problem: &str) -> BadSetup {
    BadSetup::settings(format!("the participants: {problem}"))
}

/// Whether these can speak in turn: an agent at least, each once, and all of the cast.
pub(super) fn check_seats(participants: &[Participant], cast: &Cast) -> Result<(), BadSetup> {
    let wrong = |problem: String| Err(bad_participants(&problem));
    let mut names: Vec<String> = Vec::new();
    for participant in participants {
        let name = participant.name();
        let is_cast = match (&participant.who, participant.role) {
            (Who::Agent(agent), Role::Manager | Role::Leader | Role::Specialist) => cast.agent(agent).is_some(),
            (Who::Person(person), Role::User) => cast.people().contains(person),
            (Who::Agent(_), Role::User) => return wrong(format!("`{name}` is an agent, and a user is a person")),
            (Who::Person(_), role) => return wrong(format!("`{name}` is a person, and a {role} is an agent")),
        };
        if !is_cast {
            return wrong(format!("`{name}` is not in the cast"));
        }
        if names.contains(&name.to_lowercase()) {
            return Err(BadSetup::Twice(name.to_owned()));
        }
        names.push(name.to_lowercase());
    }
    if !participants.iter().any(|participant| matches!(participant.who, Who::Agent(_))) {
        return wrong("there is no agent among them".to_owned());
    }
    if names.len() != cast.agents().len() + cast.people().len() {
        return wrong("somebody of the cast has no place in the order".to_owned());
    }
    Ok(())
}
