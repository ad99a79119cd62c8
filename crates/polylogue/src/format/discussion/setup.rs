//! A discussion as this process can seat it: who takes part, with which models, how it is set up.

use std::sync::Arc;

use polylogue_core::{
    Setup,
    format::discussion::{Participant, Role, Settings, Who},
    id::PersonId,
    setup::{Agent, Cast, FormatSetup},
};
use polylogue_server::format::discussion::{DiscussionRequest, ModelConfigRequest, ParticipantRequest};

use crate::{
    agents,
    args::Common,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
};

const MAX_STOPS: usize = 16;
const MAX_STOP_CHARS: usize = 64;

pub(crate) fn setup(
    request: DiscussionRequest,
    common: &Common,
    config: &Config,
    engine: &Engine,
) -> Result<Setup, Failure> {
    let (mut participants, mut cast, mut people) = (Vec::new(), Vec::new(), Vec::new());
    if request.participants.len() > Cast::MAX_AGENTS + Cast::MAX_PEOPLE {
        return Err(Failure::request("there are too many participants"));
    }
    for asked in &request.participants {
        let role = Role::named(asked.role.trim()).map_err(|error| Failure::request(error.to_string()))?;
        let who = match role {
            Role::User => {
                let person: PersonId = person(asked)?.parse().map_err(|error| Failure::request(format!("{error}")))?;
                people.push(person.clone());
                Who::Person(person)
            }
            Role::Manager | Role::Leader | Role::Specialist => {
                let agent = agent(role, asked, common, config, engine)?;
                let name = agent.name.clone();
                cast.push(agent);
                Who::Agent(name)
            }
        };
        participants.push(Participant { role, who });
    }
    let (title, topic) = (request.title.trim().into(), request.topic.as_deref().map(str::trim));
    let topic = topic.filter(|topic| !topic.is_empty()).map(Arc::from);
    let max_rounds = request.max_rounds.unwrap_or(Settings::DEFAULT_ROUNDS);
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(Settings {
            title,
            topic,
            participants,
            max_rounds,
            key: None,
            closing: request.closing,
        }),
        cast: Cast::new(cast, people)?,
        limits: config.limits.limits(),
        seed: common.seed.map_or_else(engine::new_seed, Ok)?,
        speech: common.speech && !common.no_speech,
        templates: config.templates()?,
        room: None,
        tenant: None,
    })
}

/// The name of a person: without one, the place is anybody's.
fn person(asked: &ParticipantRequest) -> Result<&str, Failure> {
    if asked.agent.is_some() || asked.name.is_some() || asked.ai_model_config.is_some() {
        return Err(Failure::request("a user is a person: name them with `userId`, and nothing else"));
    }
    Ok(asked.user_id.as_deref().unwrap_or(Participant::ANYBODY))
}

fn agent(
    role: Role,
    asked: &ParticipantRequest,
    common: &Common,
    config: &Config,
    engine: &Engine,
) -> Result<Agent, Failure> {
    if asked.user_id.is_some() {
        return Err(Failure::request(format!("a {role} is an agent: only a user has a `userId`")));
    }
    let named = asked.agent.as_deref();
    let named = named.ok_or_else(|| Failure::request(format!("which agent is the {role}? Name it with `agent`")))?;
    let mut agent = agents::agent(named, common, config, engine)?;
    if let Some(name) = &asked.name {
        agent.name = name.parse().map_err(|error| Failure::request(format!("{error}")))?;
    }
    let usual = agent.sampling.stop.is_empty().then(|| Settings::DEFAULT_STOP.map(str::to_owned).to_vec());
    agent.sampling.stop = usual.unwrap_or(agent.sampling.stop);
    if let Some(wish) = &asked.ai_model_config {
        configure(&mut agent, wish, engine)?;
    }
    Ok(agent)
}

/// What a discussion wants of an agent's model, over what it is configured with.
fn configure(agent: &mut Agent, wish: &ModelConfigRequest, engine: &Engine) -> Result<(), Failure> {
    if let Some(model) = &wish.model {
        (agent.model, agent.price) = agents::model(model, engine)?;
    }
    if let Some(stop) = &wish.stop {
        let is_good = |stop: &String| !stop.is_empty() && stop.chars().count() <= MAX_STOP_CHARS;
        if stop.len() > MAX_STOPS || !stop.iter().all(is_good) {
            let bounds = format!("at most {MAX_STOPS} stop sequences, each of 1 to {MAX_STOP_CHARS} characters");
            return Err(Failure::request(bounds));
        }
        agent.sampling.stop = stop.clone();
    }
    if let Some(temperature) = wish.temperature {
        if !(0.0..=2.0).contains(&temperature) {
            return Err(Failure::request("a temperature is from 0 to 2"));
        }
        agent.sampling.temperature = Some(temperature);
    }
    if wish.max_tokens == Some(0) {
        return Err(Failure::request("`maxTokens` is 0: nothing could be said within it"));
    }
    agent.sampling.max_output_tokens = wish.max_tokens.or(agent.sampling.max_output_tokens);
    Ok(())
}
