//! What the server asks of this process: its agents, voices and models, and how a session is made of a request.

use std::collections::BTreeMap;

use async_trait::async_trait;
use polylogue_core::{
    Setup,
    id::{AgentId, SessionId},
    setup::Recast,
};
use polylogue_providers::{catalogue, resolve::resolve};
use polylogue_server::{
    AgentInfo, CharacterInfo, Code, House, ModelInfo, Ready, Refusal, Request, Standing, VoiceInfo,
};
use serde_json::{Map, Value};

use crate::{
    agents,
    args::Common,
    command::doctor,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
    format, log,
    opened::Opened,
};

/// What the server knows of agents, voices and models.
pub(crate) struct ThisHouse {
    pub(crate) common: Common,
    pub(crate) config: Config,
    pub(crate) engine: Engine,
    /// Which models a request may name.
    pub(crate) opened: Opened,
}

impl ThisHouse {
    /// Whether it is an agent, or names a model that could be one.
    pub(crate) fn knows(&self, name: &str) -> bool {
        agents::names(&self.config).contains(&name) || resolve(name).is_ok()
    }

    /// Whether a request may name this agent or model.
    pub(crate) fn must_be_open(&self, name: &str) -> Result<(), Refusal> {
        self.opened.check(name, &self.config)
    }
}

#[async_trait]
impl House for ThisHouse {
    async fn setup(&self, request: Request) -> Result<Setup, Refusal> {
        self.engine.look_around(&self.common, &self.config).await;
        let format = format::named(request.format());
        format.ok_or_else(|| Refusal::internal("nobody plays this format here"))?.setup(request, self).await
    }

    fn new_session_id(&self) -> Result<SessionId, Refusal> {
        engine::new_session_id().map_err(refusal)
    }

    fn agents(&self) -> Vec<AgentInfo> {
        let info = |name: &str| {
            let agent = agents::agent(name, &self.common, &self.config, &self.engine).ok();
            // A script's name is a path of this machine.
            let model = agent.as_ref().map(|agent| &agent.model).filter(|model| &*model.provider != "script");
            AgentInfo {
                name: name.to_owned(),
                model: model.map(ToString::to_string),
                voice: agent.as_ref().and_then(|agent| agent.voice.as_deref()).map(str::to_owned),
                available: agent.is_some(),
            }
        };
        agents::names(&self.config).into_iter().map(info).collect()
    }

    fn voices(&self) -> Vec<VoiceInfo> {
        let voices = format::voices(&self.config).into_iter();
        voices
            .map(|voice| VoiceInfo { name: voice.name.to_string(), description: voice.description.to_string() })
            .collect()
    }

    async fn characters(&self) -> Vec<CharacterInfo> {
        let folder = self.config.characters();
        tokio::task::spawn_blocking(move || format::characters(&folder)).await.unwrap_or_default()
    }

    fn examples(&self) -> Map<String, Value> {
        let example = |format: &dyn format::Format| Some((format.name().to_owned(), format.example(self)?));
        format::all().filter_map(example).collect()
    }

    async fn offer(&self, format: &str) -> Option<Value> {
        format::named(format)?.offer(self)
    }

    async fn ready(&self) -> Ready {
        self.engine.look_around(&self.common, &self.config).await;
        let standing = |(name, state): (String, Result<String, String>)| {
            let (works, says) = (state.is_ok(), without_paths(state.unwrap_or_else(|what_to_do| what_to_do)));
            Standing { name, works, says }
        };
        let (models, voices) = (doctor::providers(&self.engine).await, doctor::voices(&self.config).await);
        // Scripts think only where somebody has put them into the configuration.
        let is_script = |model: &String| model.trim().starts_with("script/");
        let has_scripts = self.config.agents.values().any(|agent| agent.model.as_ref().is_some_and(is_script));
        let models = models.into_iter().filter(|(name, _)| has_scripts || name != "script");
        Ready { models: models.map(standing).collect(), voices: voices.into_iter().map(standing).collect() }
    }

    fn recast(&self, models: BTreeMap<AgentId, String>) -> Result<Vec<Recast>, Refusal> {
        let recast = |(agent, model): (AgentId, String)| {
            self.must_be_open(&model)?;
            let (model, price) = agents::model(&model, &self.engine).map_err(refusal)?;
            let is_small = self.engine.models.is_small(&model);
            Ok(Recast { agent, model, price, is_small })
        };
        models.into_iter().map(recast).collect()
    }

    fn log_lines_dropped(&self) -> u64 {
        log::dropped()
    }

    fn models(&self) -> Vec<ModelInfo> {
        let listings = catalogue::list(&self.engine.models, &self.engine.prices);
        let models = listings.iter().flat_map(|listing| {
            listing.models.iter().filter(|listed| self.opened.admits(&listed.model)).map(|listed| {
                // Of the embedded models some are there and others not.
                let available = listing.missing.is_none() && self.engine.check(&listed.model).is_ok();
                ModelInfo { name: listed.model.to_string(), available }
            })
        });
        models.collect()
    }
}

/// Whether a text names a file of this machine.
fn has_path(text: &str) -> bool {
    let is_path = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.');
        word.starts_with('/') || word.starts_with("script/") || word.ends_with(".yaml") || word.contains(":\\")
    };
    text.split_whitespace().any(is_path)
}

/// What can be told to callers of how something stands here.
fn without_paths(text: String) -> String {
    if has_path(&text) { "`polylogue doctor` says more".to_owned() } else { text }
}

/// A failure as callers are told of it: never with a path of this machine.
pub(crate) fn refusal(failure: Failure) -> Refusal {
    let message = failure.message();
    if has_path(message) {
        tracing::warn!(%message, "an agent cannot be used");
        return Refusal::new(Code::InvalidConfig, "an agent cannot be used here: the server's log says why");
    }
    if !failure.is_of_the_caller() {
        return Refusal::internal(message);
    }
    let code = match (failure.is_request(), failure.is_of_a_character()) {
        (true, _) => Code::InvalidRequest,
        (_, true) => Code::CharacterLoadError,
        (false, false) => Code::InvalidConfig,
    };
    let context = failure.context().iter();
    context.fold(Refusal::new(code, message), |refusal, (key, value)| refusal.with(key, value.clone()))
}
