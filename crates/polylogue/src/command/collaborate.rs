//! `polylogue collaborate`: agents hand a task back and forth, within bounds.

use std::process::ExitCode;

use polylogue_core::{
    Setup,
    format::collaboration::Settings,
    id::{PersonId, Seq},
    setup::{Cast, FormatSetup},
};

use crate::{
    agents,
    args::{Collaborate, Common},
    config::Config,
    engine::{self, Engine},
    failure::Failure,
    follow::follow,
    speech, view,
};

const DEFAULT_AGENTS: [&str; 2] = ["gpt", "claude"];

pub(crate) async fn run(common: &Common, args: Collaborate) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config)?;
    let setup = setup(common, &config, &engine, args)?;
    if setup.speech {
        speech::pull_if_wanted(&config).await;
    }
    let id = engine.hub.start(setup).await?;
    follow(&engine, id, Seq::START, view::new(common).as_mut()).await
}

fn setup(common: &Common, config: &Config, engine: &Engine, args: Collaborate) -> Result<Setup, Failure> {
    let defaults = &config.collaboration;
    let names = if !args.between.is_empty() {
        args.between
    } else {
        defaults.between.clone().unwrap_or_else(|| DEFAULT_AGENTS.map(str::to_owned).to_vec())
    };
    let agents = names.iter().map(|name| agents::agent(name, common, config, engine));
    let agents = agents.collect::<Result<Vec<_>, _>>()?;
    let person: PersonId = "you".parse().expect("a good name");
    let cast = Cast::new(agents, vec![person])?;
    let speaker = match args.start.or_else(|| defaults.start.clone()) {
        Some(name) => name.parse().map_err(|error| Failure::config(format!("{error}")))?,
        None => cast.agents()[0].name.clone(),
    };
    let max_rounds = args.max_rounds.or(defaults.max_rounds).unwrap_or(Settings::DEFAULT_ROUNDS);
    let goal = args.goal.trim();
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::Collaboration(Settings::new(goal, speaker, max_rounds)),
        cast,
        limits: config.limits.limits(),
        seed: common.seed.map_or_else(engine::new_seed, Ok)?,
        speech: (config.collaboration.speech || common.speech) && !common.no_speech,
        templates: config.templates()?,
        room: None,
    })
}
