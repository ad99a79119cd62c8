//! `polylogue serve`: the API on one port.

use std::{net::SocketAddr, process::ExitCode, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{Setup, id::SessionId};
use polylogue_providers::{catalogue, resolve::resolve};
use polylogue_runtime::HubSettings;
use polylogue_server::{
    AgentInfo, App, ChorusRequest, Code, CollaborationRequest, DiscussionRequest, House, ModelInfo, Refusal,
    SceneRequest, Settings, VoiceInfo, serve,
};
use tokio::net::TcpListener;

use crate::{
    agents,
    args::{Common, Serve},
    chorus::{self, Wish},
    collaboration,
    config::Config,
    discussion,
    engine::{self, Engine},
    failure::Failure,
    memory,
    scene::{self, Folder, Given},
};

pub(crate) async fn run(common: Common, args: Serve) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let listen = args.listen.as_deref().unwrap_or(&config.server.listen);
    let listen: SocketAddr = listen
        .parse()
        .map_err(|_| Failure::config(format!("`{listen}` is no address to listen on: write 127.0.0.1:7654")))?;
    let settings = settings(&config);
    settings.check(listen).map_err(|error| Failure::config(error.to_string()))?;
    let hub = HubSettings { max_live: config.server.max_sessions, ..HubSettings::default() };
    let engine = Engine::open_with(&common, &config, hub)?;
    let listener = TcpListener::bind(listen).await;
    let listener = listener.map_err(|error| Failure::config(format!("{listen} cannot be listened on: {error}")))?;
    let address = listener.local_addr().map_err(|error| Failure::internal(error.to_string()))?;
    eprintln!("Polylogue listens on http://{address} · the API is described at http://{address}/docs/");
    let (hub, journal) = (engine.hub.clone(), engine.journal.clone());
    let house = Arc::new(ThisHouse { common, config, engine });
    serve(App::new(hub, journal, house, settings), listener, stopped()).await?;
    Ok(ExitCode::SUCCESS)
}

fn settings(config: &Config) -> Settings {
    let tokens = std::env::var(&config.server.tokens_env).unwrap_or_default();
    let tokens = tokens.split(',').map(str::trim).filter(|token| !token.is_empty()).map(str::to_owned);
    Settings {
        tokens: tokens.collect(),
        cors_origins: config.server.cors_origins.clone(),
        ..Settings::new(config.artifacts.dir.clone())
    }
}

/// Ctrl-C, or whatever else tells a process to end.
async fn stopped() {
    let ctrl_c = async {
        // Where it cannot be listened for, the process is ended the hard way, which sessions survive.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        let Ok(mut terminate) = terminate else { return ctrl_c.await };
        tokio::select! {
            () = ctrl_c => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    ctrl_c.await;
}

/// What the server knows of agents, voices and models.
struct ThisHouse {
    common: Common,
    config: Config,
    engine: Engine,
}

impl ThisHouse {
    /// A file of this machine is nobody's to name from outside, unless the configuration did.
    fn is_file(&self, name: &str) -> bool {
        name.trim_start().starts_with("script/") && !self.config.agents.contains_key(name)
    }

    /// Whether it is an agent, or names a model that could be one.
    fn knows(&self, name: &str) -> bool {
        agents::names(&self.config).contains(&name) || (!self.is_file(name) && resolve(name).is_ok())
    }

    fn must_be_no_file(&self, name: &str) -> Result<(), Refusal> {
        match self.is_file(name) {
            true => Err(Refusal::new(Code::InvalidConfig, format!("there is no agent `{name}`"))),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl House for ThisHouse {
    async fn chorus(&self, request: ChorusRequest) -> Result<Setup, Refusal> {
        if request.slots.as_ref().is_some_and(Vec::is_empty) {
            return Err(Refusal::request("`slots` is empty: name one to six, or leave it out"));
        }
        let slots = request.slots.unwrap_or_default();
        slots.iter().try_for_each(|slot| self.must_be_no_file(&slot.agent_id))?;
        let slots = slots.into_iter().map(|slot| (slot.slot_id, slot.agent_id)).collect();
        let wish = Wish { message: request.message, slots, seed: request.seed, speech: request.speech };
        chorus::setup(wish, &self.common, &self.config, &self.engine).map_err(refusal)
    }

    async fn discussion(&self, request: DiscussionRequest) -> Result<Setup, Refusal> {
        for participant in &request.participants {
            let model = participant.ai_model_config.as_ref().and_then(|config| config.model.as_ref());
            participant.agent.iter().chain(model).try_for_each(|name| self.must_be_no_file(name))?;
        }
        discussion::setup(request, &self.common, &self.config, &self.engine).map_err(refusal)
    }

    async fn scene(&self, request: SceneRequest) -> Result<Setup, Refusal> {
        let folder = Folder(self.config.characters());
        let characters = Given { texts: request.agents, or: &folder };
        let wish = scene::Wish { file: request.file, folder: None, characters: &characters };
        let setup = scene::setup(wish, &self.common, &self.config, &self.engine).map_err(refusal)?;
        memory::brought_along(setup, &*self.engine.journal).await.map_err(refusal)
    }

    async fn collaboration(&self, request: CollaborationRequest) -> Result<Setup, Refusal> {
        let CollaborationRequest { goal, mode, between, speaker, max_rounds, background, room } = request;
        let between = between.unwrap_or_default();
        if let Some(unknown) = between.iter().chain(&speaker).find(|name| !self.knows(name)) {
            let names = agents::names(&self.config).join(", ");
            return Err(Refusal::request(format!("there is no agent `{unknown}`: the agents here are {names}")));
        }
        let wish = collaboration::Wish { goal, mode, between, speaker, max_rounds, background, room };
        collaboration::setup(wish, &self.common, &self.config, &self.engine).map_err(refusal)
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
        let voices = chorus::voices(&self.config).into_iter();
        voices
            .map(|voice| VoiceInfo { name: voice.name.to_string(), description: voice.description.to_string() })
            .collect()
    }

    fn models(&self) -> Vec<ModelInfo> {
        let listings = catalogue::list(&self.engine.models, &self.engine.prices);
        let models = listings.iter().flat_map(|listing| {
            let available = listing.missing.is_none();
            listing.models.iter().map(move |listed| ModelInfo { name: listed.model.to_string(), available })
        });
        models.collect()
    }
}

/// A failure as callers are told of it: never with a path of this machine.
fn refusal(failure: Failure) -> Refusal {
    let message = failure.message();
    let is_path = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.');
        word.starts_with('/') || word.starts_with("script/") || word.ends_with(".yaml") || word.contains(":\\")
    };
    if message.split_whitespace().any(is_path) {
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
