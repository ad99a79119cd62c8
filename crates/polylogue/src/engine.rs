//! The engine as this process has it: the store, the models, the hub.

use std::sync::Arc;

use polylogue_core::{
    id::{Seq, SessionId},
    setup::ModelRef,
};
use polylogue_providers::{
    Limits, Local, Models, Prices,
    script::{Recorder, Scripts},
};
use polylogue_runtime::{
    Hub, HubSettings, Listener, Overheard, Ports,
    port::{Artifacts, CallError, Journal, Memories, Model, Search, Store, Summary, SystemClock},
};
use polylogue_signals::Nats;

use crate::{
    args::Common,
    artifacts, cache,
    clips::Clips,
    config::Config,
    failure::Failure,
    format,
    guide::Guide,
    meter::{Meter, MeteredJournal, MeteredModel},
    osc::Playback,
    output, speech,
};

/// Sessions that are looked through at a time for the last conversation.
const PAGE: usize = 100;

pub(crate) struct Engine {
    pub(crate) hub: Hub,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) memories: Arc<dyn Memories>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) artifacts: Arc<dyn Artifacts>,
    pub(crate) models: Models,
    pub(crate) prices: Prices,
    pub(crate) guide: Guide,
    pub(crate) meter: Arc<Meter>,
    /// Whether a view shows what is typed.
    pub(crate) shows_keys: bool,
    scripts: Arc<Scripts>,
}

impl Engine {
    pub(crate) async fn open(common: &Common, config: &Config) -> Result<Engine, Failure> {
        Engine::open_with(common, config, HubSettings::default()).await
    }

    pub(crate) async fn open_with(common: &Common, config: &Config, hub: HubSettings) -> Result<Engine, Failure> {
        let url = common.store.as_deref().unwrap_or(&config.store.url);
        let hub = HubSettings {
            lease: config.cluster.lease(url)?,
            // On one machine the bounds of each process are as good, and cost nothing.
            shares_places: !url.starts_with("sqlite:"),
            per_day: config.limits.per_day_usd,
            ..hub
        };
        let artifacts = artifacts::open(&config.artifacts)?;
        let store = open_store(url, config).await?;
        let meter = Arc::new(Meter::default());
        let journal: Arc<dyn Journal> = Arc::new(MeteredJournal { journal: store.clone(), meter: meter.clone() });
        let mut listeners = listeners(&journal, &artifacts, config)?;
        listeners.push(meter.clone());
        let journal: Arc<dyn Journal> = Arc::new(Overheard::new(journal, listeners));
        let scripts = Arc::new(Scripts::default());
        let models = models(config)?.with("script", scripts.clone());
        let mut model: Arc<dyn Model> = Arc::new(models.clone());
        if let Some(path) = &common.record {
            let recorder = Recorder::new(model, path.clone());
            let problem = |error| Failure::config(format!("{} cannot be written: {error}", path.display()));
            model = Arc::new(recorder.map_err(problem)?);
        }
        let prices = prices(config, &models);
        let model = Arc::new(MeteredModel { model, meter: meter.clone(), prices: prices.clone() });
        let voice = Arc::new(speech::speaker(config, artifacts.clone()).telling(|what| output::notice(what)));
        let ports = Ports::new(model, voice, store.clone(), Arc::new(SystemClock));
        let mut ports = Ports { journal: journal.clone(), ..ports };
        if let Some(nats) = config.cluster.nats(|name| std::env::var(name).ok())? {
            let problem = |error| Failure::config(format!("[cluster] nats: {error}"));
            ports.signals = Arc::new(Nats::connect(&nats).await.map_err(problem)?);
        }
        let (hub, memories) = (Hub::new(ports, hub), store.clone());
        let guide = Guide::new(common, config);
        let shows_keys = !common.json;
        Ok(Engine { hub, journal, memories, store, artifacts, models, prices, guide, meter, shows_keys, scripts })
    }

    /// Finds out what else could play where no vendor has a key and nobody has chosen: an Ollama that runs.
    pub(crate) async fn look_around(&self, common: &Common, config: &Config) {
        if common.model.is_none() && config.local.model.is_none() {
            self.models.look_for_ollama().await;
        }
    }

    /// Whether a model can be used from here, found out without asking it.
    pub(crate) fn check(&self, model: &ModelRef) -> Result<(), Failure> {
        if &*model.provider == "script" {
            self.scripts.check(&model.model)?;
            return Ok(());
        }
        self.models.check(model).map_err(|error| match error {
            CallError::Unavailable(what) => Failure::config(format!("{model} cannot be used: {what}")),
            other => Failure::config(other.to_string()),
        })
    }

    /// The session that a person means: a whole id, the beginning of one, or `last`.
    pub(crate) async fn find(&self, id: &str) -> Result<SessionId, Failure> {
        let none = || Failure::not_found(format!("there is no session `{id}`: `polylogue sessions list` shows them"));
        if id == "last" {
            return self.last().await?.ok_or_else(none);
        }
        let found = self.journal.find(id, 2).await?;
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(none()),
            _ => Err(Failure::request(format!("several sessions begin with `{id}`: write more of it"))),
        }
    }

    /// The newest conversation. Questions about one are none, however many were asked since.
    async fn last(&self) -> Result<Option<SessionId>, Failure> {
        let is_conversation =
            |summary: &&Summary| format::named(&summary.format).is_none_or(|format| format.is_conversation());
        let mut search = Search { limit: PAGE, ..Search::default() };
        loop {
            let page = self.journal.search(&search).await?;
            if let Some(last) = page.iter().find(is_conversation) {
                return Ok(Some(last.id));
            }
            search.before = page.last().map(Summary::place);
            if page.len() < PAGE {
                return Ok(None);
            }
        }
    }

    pub(crate) async fn head(&self, id: SessionId) -> Result<Seq, Failure> {
        Ok(self.hub.conversation(id).await?.stage().head())
    }
}

/// The models that the configuration and the environment give.
pub(crate) fn models(config: &Config) -> Result<Models, Failure> {
    let env = |name: &str| std::env::var(name).ok();
    let models = Models::new(&config.models(), Limits::default(), env);
    let models = models.map_err(|error| Failure::config(error.to_string()))?;
    Ok(models.with_local(Arc::new(Local::new(&config.local(), &cache::folder()))))
}

/// What those models cost, as far as anybody knows.
pub(crate) fn prices(config: &Config, models: &Models) -> Prices {
    Prices::new(config.prices.clone()).with_private(models.private())
}

/// A new id for a session.
pub(crate) fn new_session_id() -> Result<SessionId, Failure> {
    Ok(SessionId::from_random(u128::to_be_bytes(random()?)))
}

/// A new seed for a session.
pub(crate) fn new_seed() -> Result<u64, Failure> {
    // A seed that a JSON reader elsewhere can hold exactly.
    Ok((random()? >> 75) as u64)
}

fn random() -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure::internal(format!("the system has no randomness: {error}")))?;
    Ok(u128::from_be_bytes(bytes))
}

/// What the formats make of the records beside the journal.
fn listeners(
    journal: &Arc<dyn Journal>,
    artifacts: &Arc<dyn Artifacts>,
    config: &Config,
) -> Result<Vec<Arc<dyn Listener>>, Failure> {
    let mut listeners = Vec::new();
    for format in format::all() {
        listeners.extend(format.listeners(journal, artifacts, config)?);
    }
    if let Some(sender) = config.osc(artifacts)? {
        listeners.push(Arc::new(Playback::new(journal.clone(), sender)));
    }
    listeners.push(Arc::new(Clips::new(journal.clone(), artifacts.clone())));
    Ok(listeners)
}

/// Opens a store by its address. A password may be in the environment instead of in the address.
pub(crate) async fn open_store(url: &str, config: &Config) -> Result<Arc<dyn Store>, Failure> {
    let password = std::env::var(&config.store.password_env).ok();
    Ok(polylogue_store::open(url, password.as_deref()).await?)
}
