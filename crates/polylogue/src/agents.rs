//! Who can take part: the agents of the configuration, the built-in ones, and models by their own name.

use polylogue_core::{
    id::AgentId,
    money::Price,
    setup::{Agent, ModelRef, Sampling},
};

use crate::{args::Common, config::Config, engine::Engine, failure::Failure};

/// Agents that every configuration has, and the variable that makes them usable.
const BUILT_IN: [(&str, &str); 2] = [("gpt", "OPENAI_API_KEY"), ("claude", "ANTHROPIC_API_KEY")];

/// The agent of this name, with its model checked as far as it can be without asking it.
pub(crate) fn resolve(name: &str, common: &Common, config: &Config, engine: &Engine) -> Result<Agent, Failure> {
    let id: AgentId = name.parse().map_err(|error| Failure::config(format!("{error}")))?;
    let table = config.agents.get(id.as_str());
    let model = match (&common.model, table) {
        (Some(model), _) if table.is_some() || is_known(&id) => parse(model)?,
        (None, Some(table)) => in_folder(parse(&table.model)?, config),
        (None, None) if id.as_str().contains('/') => parse(id.as_str())?,
        (None, None) if is_built_in(&id) => return Err(no_key(&id)),
        _ => return Err(unknown(&id, config)),
    };
    engine.check(&model)?;
    let price = price(&model, config);
    Ok(Agent {
        name: id,
        model,
        persona: table.and_then(|table| table.persona.as_deref()).map(Into::into),
        voice: table.and_then(|table| table.voice.as_deref()).map(Into::into),
        sampling: table.map(sampling).unwrap_or_default(),
        price,
    })
}

/// A model that an agent is given later on, when a session is resumed or forked.
pub(crate) fn model(text: &str, config: &Config, engine: &Engine) -> Result<(ModelRef, Option<Price>), Failure> {
    let model = parse(text)?;
    engine.check(&model)?;
    let price = price(&model, config);
    Ok((model, price))
}

fn sampling(table: &crate::config::AgentTable) -> Sampling {
    Sampling { temperature: table.temperature, max_output_tokens: table.max_tokens, stop: table.stop.clone() }
}

fn is_built_in(id: &AgentId) -> bool {
    BUILT_IN.iter().any(|(name, _)| *name == id.as_str())
}

fn is_known(id: &AgentId) -> bool {
    is_built_in(id) || id.as_str().contains('/')
}

fn parse(model: &str) -> Result<ModelRef, Failure> {
    model.parse().map_err(|error| Failure::config(format!("{error}")))
}

/// A script that the configuration names lies beside the configuration.
fn in_folder(model: ModelRef, config: &Config) -> ModelRef {
    if &*model.provider != "script" {
        return model;
    }
    let path = config.folder.join(&*model.model);
    ModelRef { model: path.to_string_lossy().into(), ..model }
}

/// What the user says, then what we know; a script costs nothing.
fn price(model: &ModelRef, config: &Config) -> Option<Price> {
    let free = (&*model.provider == "script").then_some(Price::FREE);
    config.prices.get(&model.to_string()).copied().or(free)
}

fn no_key(id: &AgentId) -> Failure {
    let variable = BUILT_IN.iter().find(|(name, _)| *name == id.as_str()).map_or("", |(_, variable)| variable);
    Failure::config(format!(
        "`{id}` has no model here: set {variable}, or name one with --model, \
         or try the example that needs no key: --config examples/collaboration/polylogue.toml"
    ))
}

fn unknown(id: &AgentId, config: &Config) -> Failure {
    let mut names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    names.extend(config.agents.keys().map(String::as_str).filter(|name| !names.contains(name)).collect::<Vec<_>>());
    Failure::config(format!(
        "there is no agent `{id}`: the agents here are {}; add [agents.{id}] to polylogue.toml",
        names.join(", ")
    ))
}
