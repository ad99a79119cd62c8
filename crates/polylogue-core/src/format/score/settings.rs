//! What a session of a score is set up with: the score itself, the message, what is set, and who has which seat.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    compiled::Compiled,
    language::{Score, Setting, Times},
    playing::{self, Playing},
    reader,
};
use crate::{
    Conversation,
    event::Awaits,
    format::Described,
    setup::{BadSetup, Cast},
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScoreSettings")]
pub struct Settings {
    /// The score as it was when the session began.
    pub score: Arc<Score>,
    pub message: Arc<str>,
    /// What is set otherwise than the score has it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<Arc<str>, Value>,
    /// By their numbers, those of a role side by side.
    pub seats: Vec<Seat>,
    /// Whether it is only played to see how much it can come to.
    #[serde(skip)]
    pub(super) is_rehearsal: bool,
}

/// Somebody's place in a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScoreSeat")]
pub struct Seat {
    /// The name of an agent or a person of the cast.
    pub name: Arc<str>,
    pub role: Arc<str>,
}

impl Settings {
    pub fn new(score: Arc<Score>, message: &str, values: BTreeMap<Arc<str>, Value>, seats: Vec<Seat>) -> Settings {
        Settings { score, message: message.trim().into(), values, seats, is_rehearsal: false }
    }

    /// What a setting is.
    pub fn value(&self, setting: &Setting) -> Value {
        self.values.get(&setting.name).unwrap_or(&setting.default).clone()
    }

    /// How often a repeat goes round at most.
    pub fn times(&self, times: &Times) -> u32 {
        match times {
            Times::Number(times) => *times,
            Times::Setting(name) => {
                let setting = self.score.settings.iter().find(|setting| setting.name == *name);
                let value = setting.map(|setting| self.value(setting)).and_then(|value| value.as_u64());
                value.and_then(|value| u32::try_from(value).ok()).unwrap_or(1)
            }
        }
    }

    pub(super) fn compiled(&self) -> Compiled {
        Compiled::new(&self.score, |times| self.times(times)).0
    }

    /// The seats of a role, by their numbers.
    pub fn of_role<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a Seat> {
        self.seats.iter().filter(move |seat| *seat.role == *role)
    }

    /// A value for a setting, as somebody wrote it.
    pub fn parsed(setting: &Setting, written: &str) -> Result<Value, String> {
        let wrong = |wanted: &str| format!("`{}` is {wanted}: `{written}` is none", setting.name);
        match &setting.default {
            Value::Bool(_) => match written.trim() {
                "true" | "yes" | "on" => Ok(true.into()),
                "false" | "no" | "off" => Ok(false.into()),
                _ => Err(wrong("yes or no")),
            },
            Value::Number(_) => {
                let number: Result<serde_json::Number, _> = written.trim().parse();
                number.map(Value::Number).map_err(|_| wrong("a number"))
            }
            _ => Ok(written.into()),
        }
    }

    fn check_values(&self, problems: &mut Vec<String>) {
        let names: Vec<&str> = self.score.settings.iter().map(|setting| &*setting.name).collect();
        for (name, value) in &self.values {
            let Some(setting) = self.score.settings.iter().find(|setting| setting.name == *name) else {
                let meant = reader::meant(name, names.iter().copied());
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                problems.push(format!("there is no setting `{name}`{meant}; the score has {known}"));
                continue;
            };
            let same = matches!(
                (&setting.default, value),
                (Value::Bool(_), Value::Bool(_))
                    | (Value::Number(_), Value::Number(_))
                    | (Value::String(_), Value::String(_))
            );
            if !same {
                problems.push(format!("the setting `{name}` is like {}: {value} is not", setting.default));
            }
        }
    }

    fn check_seats(&self, cast: &Cast, problems: &mut Vec<String>) {
        for role in &self.score.roles {
            let seats: Vec<&Seat> = self.of_role(&role.name).collect();
            let count = seats.len() as u32;
            if !(role.least..=role.most).contains(&count) {
                let wanted = match role.least == role.most {
                    true => format!("{}", role.least),
                    false => format!("{} to {}", role.least, role.most),
                };
                problems.push(format!("the role `{}` has {wanted} seats: {count} are taken", role.name));
            }
            let is_there = |seat: &&Seat| match role.is_person {
                true => cast.people().iter().any(|person| person.as_str() == &*seat.name),
                false => cast.agents().iter().any(|agent| agent.name.as_str() == &*seat.name),
            };
            if let Some(seat) = seats.into_iter().find(|seat| !is_there(seat)) {
                problems.push(format!("`{}` has a seat and is not in the cast", seat.name));
            }
        }
        for (at, seat) in self.seats.iter().enumerate() {
            if self.score.role(&seat.role).is_none() {
                problems.push(format!("there is no role `{}`", seat.role));
            }
            if self.seats[..at].iter().any(|other| other.name == seat.name) {
                problems.push(format!("`{}` has two seats", seat.name));
            }
        }
    }
}

impl Described for Settings {
    fn title(&self) -> &str {
        &self.message
    }

    fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let chars = self.message.chars().count();
        if self.message.trim().is_empty() {
            return Err(BadSetup::settings("the message is empty: say what it is to be about"));
        } else if chars > Conversation::MAX_MESSAGE_CHARS {
            return Err(BadSetup::TooLong(chars, Conversation::MAX_MESSAGE_CHARS));
        }
        let mut problems = Vec::new();
        self.check_values(&mut problems);
        self.check_seats(cast, &mut problems);
        let (_, faulty) = Compiled::new(&self.score, |times| self.times(times));
        problems.extend(faulty.into_iter().map(|faulty| format!("{}: {}", faulty.part, faulty.problem)));
        problems.extend(reader::check_times(&self.score, |times| self.times(times)));
        if problems.is_empty() { Ok(()) } else { Err(BadSetup::Settings(problems)) }
    }

    fn awaits_person(&self, _: &Cast) -> Awaits {
        Awaits::patiently(playing::begins_with_person(self))
    }

    fn results(&self, conversation: &Conversation) -> Map<String, Value> {
        conversation.rules::<Playing>().map(|playing| playing.results.clone()).unwrap_or_default()
    }

    fn heading(&self, cast: &Cast) -> Option<String> {
        let mut name = self.score.name.replace('-', " ");
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let seats =
            self.seats.iter().map(|seat| match cast.agents().iter().find(|agent| agent.name.as_str() == &*seat.name) {
                Some(agent) => format!("{} ({})", seat.name, agent.model.shown()),
                None => seat.name.to_string(),
            });
        Some(format!("{name} with {}", seats.collect::<Vec<_>>().join(", ")))
    }
}
