//! A score as this process can cast it: who has which seat, what is set.

use std::{collections::BTreeMap, sync::Arc};

use polylogue_core::{
    Setup,
    format::score::{Role, Score, Seat, Settings},
    id::PersonId,
    setup::{Agent, Cast, FormatSetup},
};
use serde_json::Value;

use crate::{
    agents,
    args::Common,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
};

/// What is asked for; what is left open, the score and the house decide.
pub(super) struct Wish {
    pub(super) score: Arc<Score>,
    pub(super) message: String,
    pub(super) seats: BTreeMap<String, Vec<String>>,
    pub(super) values: BTreeMap<Arc<str>, Value>,
}

pub(super) fn setup(wish: Wish, common: &Common, config: &Config, engine: &Engine) -> Result<Setup, Failure> {
    let Wish { score, message, seats, values } = wish;
    if let Some(unknown) = seats.keys().find(|role| score.role(role).is_none()) {
        let roles: Vec<&str> = score.roles.iter().map(|role| &*role.name).collect();
        return Err(Failure::request(format!("`{}` has no role `{unknown}`: it has {}", score.name, roles.join(", "))));
    }
    let mut casting = Casting { common, config, engine, agents: Vec::new(), people: Vec::new(), seats: Vec::new() };
    for role in &score.roles {
        let named = seats.get(&*role.name).map(Vec::as_slice);
        match role.is_person {
            true => casting.people(role, named)?,
            false => casting.agents(role, named)?,
        }
    }
    let Casting { agents, mut people, seats, .. } = casting;
    // Whoever begins it has said the message.
    let you: PersonId = "you".parse().expect("a good name");
    if !people.contains(&you) {
        people.insert(0, you);
    }
    let cast = Cast::new(agents, people)?;
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(Settings::new(score, &message, values, seats)),
        cast,
        limits: config.limits.limits(),
        seed: common.seed.map_or_else(engine::new_seed, Ok)?,
        speech: common.speech && !common.no_speech,
        templates: config.templates()?,
        room: None,
    })
}

/// Seats that are being taken.
struct Casting<'a> {
    common: &'a Common,
    config: &'a Config,
    engine: &'a Engine,
    agents: Vec<Agent>,
    people: Vec<PersonId>,
    seats: Vec<Seat>,
}

impl Casting<'_> {
    fn agent(&self, name: &str) -> Result<Agent, Failure> {
        agents::agent(name, self.common, self.config, self.engine)
    }

    /// Those who are named, or the usual ones of a role as far as they can be had here.
    fn agents(&mut self, role: &Role, named: Option<&[String]>) -> Result<(), Failure> {
        let found: Vec<Agent> = match named {
            Some(names) => names.iter().map(|name| self.agent(name)).collect::<Result<_, _>>()?,
            None => self.usual(role)?,
        };
        for agent in found {
            // The only one of a role is known by it.
            let called = if role.most == 1 { role.name.to_string() } else { agent.name.to_string() };
            let name: Arc<str> = self.free(&called).into();
            let id = name.parse().map_err(|error| Failure::request(format!("{error}")))?;
            self.agents.push(Agent { name: id, ..agent });
            self.seats.push(Seat { name, role: role.name.clone() });
        }
        Ok(())
    }

    fn usual(&self, role: &Role) -> Result<Vec<Agent>, Failure> {
        let (least, most) = (role.least as usize, role.most as usize);
        let mut found = Vec::new();
        let mut first_problem = None;
        for name in &role.default {
            match self.agent(name) {
                Ok(agent) => found.push(agent),
                // Whoever set one up means this one, and no other in its place.
                Err(problem) if self.config.agents.contains_key(&**name) => return Err(problem),
                Err(problem) => first_problem = first_problem.or(Some(problem)),
            }
        }
        if found.is_empty() {
            let usual = agents::names(self.config).into_iter();
            found.extend(usual.filter_map(|name| self.agent(name).ok()).take(least.max(2).min(most)));
        }
        if found.is_empty() {
            let nobody = || Failure::config(format!("nobody can be had for the role `{}`", role.name));
            return Err(first_problem.unwrap_or_else(nobody));
        }
        // Where there are fewer than are needed, some have several seats.
        let had = found.len();
        for nth in 0..least.saturating_sub(had) {
            found.push(found[nth % had].clone());
        }
        Ok(found)
    }

    fn people(&mut self, role: &Role, named: Option<&[String]>) -> Result<(), Failure> {
        let usual = || (1..=role.least).map(|nth| if nth == 1 { "you".to_owned() } else { format!("guest-{nth}") });
        let default: Vec<String> = role.default.iter().map(|name| name.to_string()).collect();
        let names = match named {
            Some(names) => names.to_vec(),
            None if !default.is_empty() => default,
            None => usual().collect(),
        };
        for called in names {
            let name: Arc<str> = self.free(&called).into();
            self.people.push(name.parse().map_err(|error| Failure::request(format!("{error}")))?);
            self.seats.push(Seat { name, role: role.name.clone() });
        }
        Ok(())
    }

    /// The name, or the name with the first number that nobody has yet.
    fn free(&self, called: &str) -> String {
        let is_taken = |name: &str| self.seats.iter().any(|seat| seat.name.eq_ignore_ascii_case(name));
        if !is_taken(called) {
            return called.to_owned();
        }
        let numbered = (2..).map(|nth| format!("{called}-{nth}"));
        numbered.into_iter().find(|name| !is_taken(name)).unwrap_or_else(|| called.to_owned())
    }
}
