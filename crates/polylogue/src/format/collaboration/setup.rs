//! A collaboration as this process can cast it, or a single call: who takes part, who begins, how it is set up.

use polylogue_core::{
    Setup,
    format::collaboration::{Mode, Quote, Settings},
    id::PersonId,
    room::RoomCall,
    setup::{Agent, Cast, FormatSetup},
};

use crate::{
    agents,
    args::Common,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
};

const DEFAULT_AGENTS: [&str; 2] = ["gpt", "claude"];

/// What is asked for; what is left open, the configuration and the house decide.
#[derive(Default)]
pub(crate) struct Wish {
    pub(crate) goal: String,
    pub(crate) mode: Mode,
    pub(crate) between: Vec<String>,
    pub(crate) speaker: Option<String>,
    pub(crate) max_rounds: Option<u32>,
    pub(crate) background: Vec<Quote>,
    pub(crate) room: Option<RoomCall>,
}

pub(crate) fn setup(wish: Wish, common: &Common, config: &Config, engine: &Engine) -> Result<Setup, Failure> {
    let agent = |name: &str| agents::agent(name, common, config, engine);
    let defaults = &config.collaboration;
    let usual = usual(config);
    // Who usually begins need not be among those who were named.
    let usual_start = defaults.start.as_ref().filter(|start| wish.between.is_empty() || wish.between.contains(start));
    let begins = wish.speaker.as_ref().or(usual_start).cloned();
    let (cast, max_rounds) = match wish.mode {
        Mode::Collaborate => {
            let names = if wish.between.is_empty() { &usual } else { &wish.between };
            let cast = names.iter().map(|name| agent(name)).collect::<Result<Vec<_>, _>>()?;
            (cast, wish.max_rounds.or(defaults.max_rounds).unwrap_or(Settings::DEFAULT_ROUNDS))
        }
        Mode::Single => {
            let called = agent(begins.as_deref().or(usual.first().map(String::as_str)).unwrap_or(DEFAULT_AGENTS[0]))?;
            (with_others(called, &wish.between, common, config, engine), Settings::SINGLE_CALL_ROUNDS)
        }
    };
    let person: PersonId = "you".parse().expect("a good name");
    let cast = Cast::new(cast, vec![person])?;
    let speaker = match begins {
        Some(name) => name.parse().map_err(|error| Failure::config(format!("{error}")))?,
        None => cast.agents()[0].name.clone(),
    };
    let settings = Settings {
        mode: wish.mode,
        background: wish.background,
        ..Settings::new(wish.goal.trim(), speaker, max_rounds)
    };
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(settings),
        cast,
        limits: config.limits.limits(),
        seed: common.seed.map_or_else(engine::new_seed, Ok)?,
        speech: (defaults.speech || common.speech) && !common.no_speech,
        templates: config.templates()?,
        room: wish.room,
        tenant: None,
    })
}

/// Who takes part when nobody else is named.
pub(crate) fn usual(config: &Config) -> Vec<String> {
    config.collaboration.between.clone().unwrap_or_else(|| DEFAULT_AGENTS.map(str::to_owned).to_vec())
}

/// Whom somebody who is called may hand over to: these, or else every agent that can be used here.
fn with_others(called: Agent, named: &[String], common: &Common, config: &Config, engine: &Engine) -> Vec<Agent> {
    let names: Vec<&str> = match named {
        [] => agents::names(config),
        named => named.iter().map(String::as_str).collect(),
    };
    let mut cast = vec![called];
    for name in names {
        let is_new = cast.iter().all(|agent| !agent.name.as_str().eq_ignore_ascii_case(name));
        if is_new && cast.len() < Cast::MAX_AGENTS {
            cast.extend(agents::agent(name, common, config, engine).ok());
        }
    }
    cast
}
