//! Who can take part: the agents of the configuration, the built-in ones, and models by their own name.

use std::path::Path;

use polylogue_core::{
    Timestamp,
    id::AgentId,
    money::Price,
    setup::{Agent, ModelRef, Sampling},
};
use polylogue_providers::{
    local,
    resolve::{AS_OF, BUILT_IN, BuiltIn, Ending, resolve},
    speech::Profiles,
};
use polylogue_runtime::port::{Clock, SystemClock};

use crate::{
    args::Common,
    config::{AgentTable, Config},
    engine::Engine,
    failure::Failure,
};

/// Where one who has no key at all can begin.
const EXAMPLE: &str = "or try an example that needs no key: --config examples/collaboration/polylogue.toml, examples/chorus/polylogue.toml or examples/scenes/polylogue.toml";

/// What makes the built-in agents more than the embedded model.
const KEYS: [&str; 2] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];

/// The agent of this name, with its model checked as far as it can be without asking it.
pub(crate) fn agent(name: &str, common: &Common, config: &Config, engine: &Engine) -> Result<Agent, Failure> {
    let id: AgentId = name.parse().map_err(|error| Failure::config(format!("{error}")))?;
    let table = config.agents.get(id.as_str());
    let chosen = table.map(|table| chosen_model(table, config)).transpose()?.flatten();
    let is_chosen = common.model.is_some() || chosen.is_some();
    let model = match (&common.model, chosen.or_else(|| usual_model(id.as_str(), engine))) {
        (Some(model), own) if own.is_some() || table.is_some() => parse(model)?,
        (None, Some(model)) => model,
        (None, None) if table.is_some() => return Err(without_model(id.as_str())),
        (_, _) => return Err(unknown(&id, config)),
    };
    let is_stand_in = !is_chosen && &*model.provider == local::PROVIDER;
    engine.check(&model).map_err(|failure| match BuiltIn::named(id.as_str()) {
        Some(_) if is_stand_in => {
            let keys = KEYS.join(" or ");
            failure.and(&format!("set {keys}, start Ollama, name another model with --model, {EXAMPLE}"))
        }
        Some(_) if common.model.is_none() => failure.and(&format!("name another model with --model, {EXAMPLE}")),
        _ => failure,
    })?;
    played_by(id, model, config, engine)
}

/// An agent of this name that plays with this model, which has been checked. What else there is to say of it, the
/// configuration says.
pub(crate) fn played_by(id: AgentId, model: ModelRef, config: &Config, engine: &Engine) -> Result<Agent, Failure> {
    let table = config.agents.get(id.as_str());
    if let Some(voice) = table.and_then(|table| table.voice.as_deref()) {
        known_voice(&id, voice, config)?;
    }
    let price = engine.prices.of(&model);
    if price.is_none() && config.limits.needs_prices() {
        return Err(unpriced(&model));
    }
    notes(&model, price).iter().for_each(|note| tracing::info!("{note}"));
    Ok(Agent {
        name: id,
        price,
        is_small: table.and_then(|table| table.small).unwrap_or_else(|| engine.models.is_small(&model)),
        model,
        persona: table.and_then(|table| table.persona.as_deref()).map(Into::into),
        voice: table.and_then(|table| table.voice.as_deref()).map(Into::into),
        sampling: table.map(sampling).unwrap_or_default(),
    })
}

pub(crate) fn known_voice(id: &AgentId, voice: &str, config: &Config) -> Result<(), Failure> {
    let profiles = Profiles::with(config.voices.clone());
    profiles.get(voice).map(|_| ()).map_err(|error| Failure::config(format!("agent `{id}`: {error}")))
}

/// A limit in dollars was set, and it could not hold this model.
pub(crate) fn unpriced(model: &ModelRef) -> Failure {
    Failure::config(format!(
        "max_usd cannot hold {model}, because nobody knows what it costs: add [prices.\"{model}\"] with input and \
         output in dollars per million tokens, or set allow_unpriced = true under [limits]"
    ))
}

/// A model that an agent is given later on, when a session is resumed or forked.
pub(crate) fn model(text: &str, engine: &Engine) -> Result<(ModelRef, Option<Price>), Failure> {
    let model = parse(text)?;
    engine.check(&model)?;
    let price = engine.prices.of(&model);
    notes(&model, price).iter().for_each(|note| tracing::info!("{note}"));
    Ok((model, price))
}

/// The agents that need no `--model`: of the configuration, and built in.
pub(crate) fn names(config: &Config) -> Vec<&str> {
    let built_in = BUILT_IN.iter().map(|built_in| built_in.agent);
    let own = config.agents.keys().map(String::as_str);
    own.clone().chain(built_in.filter(|name| !config.agents.contains_key(*name))).collect()
}

/// The model that an agent of the configuration plays with: its own, or the one that its name stands for.
pub(crate) fn model_of(name: &str, table: &AgentTable, config: &Config, engine: &Engine) -> Result<ModelRef, Failure> {
    let chosen = chosen_model(table, config)?;
    chosen.or_else(|| usual_model(name, engine)).ok_or_else(|| without_model(name))
}

/// The model that the configuration names for an agent.
pub(crate) fn chosen_model(table: &AgentTable, config: &Config) -> Result<Option<ModelRef>, Failure> {
    let model = table.model.as_deref().map(parse).transpose()?;
    Ok(model.map(|model| in_folder(model, &config.folder)))
}

/// The model that a name stands for by itself: that of a built-in agent, or the model of this very name.
fn usual_model(name: &str, engine: &Engine) -> Option<ModelRef> {
    let built_in = BuiltIn::named(name).map(|built_in| engine.models.model_of(built_in));
    built_in.or_else(|| resolve(name).ok())
}

fn without_model(name: &str) -> Failure {
    Failure::config(format!(
        "agent `{name}` has no model: add model = \"provider/model\" under [agents.{name}]; `polylogue models list` \
         shows what there is"
    ))
}

fn sampling(table: &AgentTable) -> Sampling {
    let (temperature, max_output_tokens, stop) = (table.temperature, table.max_tokens, table.stop.clone());
    Sampling { temperature, max_output_tokens, stop, ..Sampling::default() }
}

pub(crate) fn parse(model: &str) -> Result<ModelRef, Failure> {
    resolve(model).map_err(|error| Failure::config(error.to_string()))
}

/// A script that a file names lies beside that file.
pub(crate) fn in_folder(model: ModelRef, folder: &Path) -> ModelRef {
    if &*model.provider != ModelRef::SCRIPT {
        return model;
    }
    let path = folder.join(&*model.model);
    ModelRef { model: path.to_string_lossy().into(), ..model }
}

/// A model by its name; what plays for want of a key, with what it is.
pub(crate) fn introduced(model: &ModelRef) -> String {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|key| !key.is_empty());
    if let Some(person) = model.person() {
        return format!("{person}, a person");
    }
    match &*model.provider {
        _ if KEYS.iter().any(is_set) => model.shown(),
        local::PROVIDER => {
            format!("{model}, a small model on this machine ({} brings a larger one)", KEYS.join(" or "))
        }
        "ollama" => format!("{model}, which Ollama runs (--model chooses another)"),
        _ => model.shown(),
    }
}

/// What somebody who plays with a model should know of it, a line each.
pub(crate) fn notes(model: &ModelRef, price: Option<Price>) -> Vec<String> {
    let mut notes = Vec::new();
    if price.is_none() {
        notes.push(format!("nobody knows what {model} costs: [prices.\"{model}\"] says it, and lets max_usd hold it"));
    }
    if let Some(ending) = Ending::of(model) {
        let Timestamp(now) = SystemClock.now();
        let today = i64::try_from(now).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let today = today.map_or(AS_OF, |now| now.to_zoned(jiff::tz::TimeZone::UTC).date());
        notes.push(ending.warning(model, today));
    }
    notes
}

fn unknown(id: &AgentId, config: &Config) -> Failure {
    Failure::config(format!(
        "there is no agent `{id}`: the agents here are {}; add [agents.{id}] to polylogue.toml",
        names(config).join(", ")
    ))
}
