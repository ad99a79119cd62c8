//! Every model that can be asked from here, behind the one port: the provider's name says which.

mod ollama;
mod source;

use std::{collections::BTreeMap, fmt, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use polylogue_core::setup::ModelRef;
use polylogue_runtime::port::{Admission, Bound, Call, CallError, FIRST_TOKEN, Model, Reply};

use tokio::sync::Semaphore;

use self::{
    ollama::Neighbour,
    source::{BUILT_IN, Source},
};
use crate::{
    command::Command,
    http::{Http, is_private},
    local::Local,
    resolve::BuiltIn,
    settings::{Limits, ProviderSettings, Settings},
};

/// Names that are not for a provider of one's own.
const RESERVED: [&str; 3] = ["command", "local", "script"];

/// Calls that a provider gets at once, unless the configuration says otherwise.
const MAX_CONCURRENT: usize = 32;

/// What runs on somebody's own machine takes its time before the first word.
const SLOW_KINDS: [&str; 3] = ["command", "local", "ollama"];
const FIRST_TOKEN_OF_SLOW: Duration = Duration::from_secs(120);

/// The port for all models. Unknown providers and missing keys are told when they are asked for.
#[derive(Clone, Default)]
pub struct Models {
    providers: BTreeMap<String, Provider>,
    /// The Ollama that may run beside this program.
    neighbour: Option<Arc<Neighbour>>,
}

/// One provider and whether it can be used.
#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) kind: &'static str,
    pub(crate) state: State,
    /// Where it is, if that is on this machine or in a private network.
    private: Option<String>,
    /// For calls at once, handed out in the order of asking. What has none is not bounded here.
    places: Option<Arc<Semaphore>>,
    /// How many calls it is to get at once from all processes together, where the configuration says so.
    at_once: Option<usize>,
}

impl Provider {
    fn unbounded(kind: &'static str, state: State) -> Provider {
        Provider { kind, state, private: None, places: None, at_once: None }
    }

    fn at(self, base: &str) -> Provider {
        Provider { private: is_private(base).then(|| base.to_owned()), ..self }
    }

    fn with_places(self, settings: Option<&ProviderSettings>) -> Provider {
        let at_once = settings.and_then(|own| own.max_concurrent).map(NonZeroUsize::get);
        let places = at_once.unwrap_or(MAX_CONCURRENT);
        Provider { places: Some(Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)))), at_once, ..self }
    }
}

#[derive(Clone)]
pub(crate) enum State {
    Ready(Arc<dyn Model>),
    /// The embedded model: whether it is there may change while the program runs.
    Local(Arc<Local>),
    /// What a person has to do first.
    Missing(String),
}

/// Why the settings for models cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    #[error("the address of provider `{0}` cannot be used: write it as http://host:port/path")]
    Address(String),
    #[error("a provider cannot be called `{0}`: choose another name")]
    Name(String),
    #[error("provider `{0}` has no address: give it a base_url")]
    NoAddress(String),
    #[error("the key of provider `{0}` cannot be sent: it has characters that a key cannot have")]
    Key(String),
    #[error("command `{0}` names no program")]
    NoProgram(String),
    #[error("the HTTP client cannot be set up: {0}")]
    Client(reqwest::Error),
}

impl Models {
    /// From what the configuration says. `env` is the only way in which the environment is read.
    pub fn new(
        settings: &Settings,
        limits: Limits,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Models, BadSettings> {
        let env = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        // A proxy's address may carry a password.
        let http = Http::new(limits, &env).map_err(|error| BadSettings::Client(error.without_url()))?;
        let mut models = Models::default();
        let mut keys = Vec::new();
        for built_in in &BUILT_IN {
            let own = settings.providers.get(built_in.name);
            let source = Source::of_built_in(built_in, own, &env)?;
            keys.extend(source.key.clone());
            if let Some(endpoint) = source.ollama()? {
                models.neighbour = Some(Arc::new(Neighbour::new(built_in.name, http.clone(), endpoint)));
            }
            models.providers.insert(built_in.name.to_owned(), source.connect(&http)?.with_places(own));
        }
        for (name, own) in &settings.providers {
            if RESERVED.contains(&name.as_str()) || name.is_empty() || name.contains('/') {
                return Err(BadSettings::Name(name.clone()));
            }
            if !models.providers.contains_key(name) {
                let source = Source::of_own(name, own, &env)?;
                keys.extend(source.key.clone());
                models.providers.insert(name.clone(), source.connect(&http)?.with_places(Some(own)));
            }
        }
        for (name, command) in &settings.commands {
            if command.program.trim().is_empty() {
                return Err(BadSettings::NoProgram(name.clone()));
            }
            let model = Arc::new(Command::new(command.clone(), keys.clone(), &env));
            let provider = Provider::unbounded("command", State::Ready(model));
            models.providers.insert(format!("command/{name}"), provider.with_places(None));
        }
        Ok(models)
    }

    /// Adds the embedded model.
    #[must_use]
    pub fn with_local(mut self, local: Arc<Local>) -> Models {
        self.providers.insert("local".to_owned(), Provider::unbounded("local", State::Local(local)));
        self
    }

    /// Adds a provider that is made elsewhere: scripted replies.
    #[must_use]
    pub fn with(mut self, provider: &'static str, model: Arc<dyn Model>) -> Models {
        self.providers.insert(provider.to_owned(), Provider::unbounded(provider, State::Ready(model)));
        self
    }

    /// Whether the model's provider can be used as things are, or what to do first.
    pub fn check(&self, model: &ModelRef) -> Result<(), CallError> {
        self.find(model).map(|_| ())
    }

    /// Looks whether Ollama runs with a model to talk to, where it would play. Costs nothing where a vendor has a key,
    /// and next to nothing where Ollama does not run.
    pub async fn look_for_ollama(&self) {
        if let Some(neighbour) = self.neighbour.as_ref().filter(|_| !self.has_vendor()) {
            neighbour.look().await;
        }
    }

    /// The model of Ollama that was found there.
    pub fn of_ollama(&self) -> Option<ModelRef> {
        self.neighbour.as_ref()?.found()
    }

    /// Whether Ollama was found with nothing that one can talk to.
    pub fn is_ollama_empty(&self) -> bool {
        self.neighbour.as_ref().is_some_and(|neighbour| neighbour.has_nothing())
    }

    /// The model that plays a built-in agent: its vendor's, or where no vendor has a key at all, that of an Ollama
    /// which was found, or else the embedded one. Where there is a key for another vendor, a missing one is rather
    /// told than replaced by a small model.
    pub fn model_of(&self, built_in: BuiltIn) -> ModelRef {
        if self.has_vendor() {
            return built_in.model_ref();
        }
        let embedded = || match self.providers.get("local").map(|provider| &provider.state) {
            Some(State::Local(local)) => Some(local.usual()),
            _ => None,
        };
        self.of_ollama().or_else(embedded).unwrap_or_else(|| built_in.model_ref())
    }

    /// Whether any vendor can be asked.
    fn has_vendor(&self) -> bool {
        let needs_key = |provider: &Provider| matches!(provider.state, State::Missing(_));
        let vendors = BUILT_IN.iter().filter(|vendor| vendor.needs_key());
        vendors.filter_map(|vendor| self.providers.get(vendor.name)).any(|provider| !needs_key(provider))
    }

    /// Whether a model is a small one, which is asked in a few plain sentences and shown no form. Only of the embedded
    /// ones that is known.
    pub fn is_small(&self, model: &ModelRef) -> bool {
        match self.provider(model) {
            Some(Provider { state: State::Local(local), .. }) => local.is_small(&model.model),
            Some(Provider { state: State::Ready(_) | State::Missing(_), .. }) | None => false,
        }
    }

    /// The names of providers on this machine or in a private network: what runs there costs nothing by itself.
    pub fn private(&self) -> impl Iterator<Item = &str> {
        self.providers().filter(|(_, provider)| provider.private.is_some()).map(|(name, _)| name)
    }

    /// Where such a provider is.
    pub(crate) fn private_address(&self, provider: &str) -> Option<&str> {
        self.providers.get(provider)?.private.as_deref()
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = (&str, &Provider)> {
        self.providers.iter().map(|(name, provider)| (name.as_str(), provider))
    }

    fn provider(&self, model: &ModelRef) -> Option<&Provider> {
        match &*model.provider {
            "command" => self.providers.get(&model.to_string()),
            name => self.providers.get(name),
        }
    }

    fn find(&self, model: &ModelRef) -> Result<Arc<dyn Model>, CallError> {
        match self.provider(model) {
            Some(Provider { state: State::Ready(model), .. }) => Ok(model.clone()),
            Some(Provider { state: State::Local(local), .. }) => local.check(&model.model).map(|()| local.clone() as _),
            Some(Provider { state: State::Missing(what), .. }) => Err(CallError::Unavailable(what.clone())),
            None => Err(CallError::Unavailable(format!(
                "there is no provider for `{model}`: the providers here are {}",
                self.providers.keys().cloned().collect::<Vec<_>>().join(", ")
            ))),
        }
    }
}

#[async_trait]
impl Model for Models {
    async fn admit(&self, call: &Call) -> Admission {
        // When it cannot be used, the answer will say why.
        let Ok(model) = self.find(&call.ask.request.model) else { return Admission::default() };
        let places = self.provider(&call.ask.request.model).and_then(|provider| provider.places.clone());
        let place = match places {
            Some(places) => places.acquire_owned().await.ok(),
            None => None,
        };
        Admission::new((place, model.admit(call).await))
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        self.find(&call.ask.request.model)?.answer(call).await
    }

    fn bound(&self, model: &ModelRef) -> Option<Bound> {
        // One that cannot be used is told at once, without a place.
        self.find(model).ok()?;
        let at_once = self.provider(model)?.at_once?;
        Some(Bound { provider: model.provider.clone(), at_once: u32::try_from(at_once).unwrap_or(u32::MAX) })
    }

    fn first_token(&self, model: &ModelRef, asked: Option<Duration>) -> Duration {
        let is_slow = self.provider(model).is_some_and(|provider| SLOW_KINDS.contains(&provider.kind));
        let asked = asked.or(is_slow.then_some(FIRST_TOKEN_OF_SLOW));
        self.find(model).map_or(asked.unwrap_or(FIRST_TOKEN), |found| found.first_token(model, asked))
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("providers", &self.providers.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::catalogue;

    #[test]
    fn what_is_missing_is_told_by_its_name() {
        let settings: Settings = toml::from_str(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key_env = \"LAB_KEY\"",
        )
        .unwrap();
        let models = Models::new(&settings, Limits::default(), |_| None).unwrap();
        for (model, told) in [
            ("openai/gpt-4o", "OPENAI_API_KEY"),
            ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
            ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
            ("openrouter/openai/gpt-4o", "OPENROUTER_API_KEY"),
            ("lab/qwen3-8b", "LAB_KEY"),
            ("attic/qwen3-8b", "anthropic, gemini, lab, ollama, openai, openrouter"),
            ("command/coder", "no provider for `command/coder`"),
        ] {
            let error = models.check(&model.parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains(told), "{model}: {error}");
        }
        assert!(models.check(&"ollama/llama3.2".parse().unwrap()).is_ok());
    }

    #[tokio::test]
    async fn a_provider_gets_so_many_calls_at_once_and_the_others_wait_in_order() {
        let settings: Settings = toml::from_str(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmax_concurrent = 2",
        )
        .unwrap();
        let models = Models::new(&settings, Limits::default(), |_| None).unwrap();
        let places = |model: &str| models.provider(&model.parse().unwrap()).unwrap().places.clone().unwrap();
        assert_eq!(places("ollama/any").available_permits(), MAX_CONCURRENT);
        let call = catalogue::call(&"lab/any".parse().unwrap());
        let (first, _second) = (models.admit(&call).await, models.admit(&call).await);
        let (mut third, mut fourth) = (models.admit(&call).boxed(), models.admit(&call).boxed());
        assert!((&mut third).now_or_never().is_none() && (&mut fourth).now_or_never().is_none());
        drop(first);
        assert!((&mut fourth).now_or_never().is_none(), "it came later");
        let third = third.now_or_never().unwrap();
        drop(third);
        assert!(fourth.now_or_never().is_some());
    }

    #[test]
    fn the_first_word_may_take_longer_on_one_s_own_machine() {
        let settings: Settings = toml::from_str(
            "[providers.box]\nkind = \"ollama\"\nbase_url = \"http://box:1\"\n\
             [commands.coder]\nprogram = \"claude\"\n[commands.slow]\nprogram = \"slow\"\ntimeout_seconds = 200",
        )
        .unwrap();
        let models = Models::new(&settings, Limits::default(), |_| None).unwrap();
        for (model, usual, asked) in [
            ("openai/gpt-4o", 60, 7),
            ("ollama/llama3.2", 120, 7),
            ("box/llama3.2", 120, 7),
            ("command/coder", 120, 7),
            ("command/slow", 200, 200),
            ("nobody/knows", 60, 7),
        ] {
            let model = model.parse().unwrap();
            assert_eq!(models.first_token(&model, None).as_secs(), usual, "{model}");
            assert_eq!(models.first_token(&model, Some(Duration::from_secs(7))).as_secs(), asked, "{model}");
        }
    }

    #[test]
    fn settings_that_cannot_work_are_refused_at_once() {
        for (toml, expected) in [
            ("[providers.lab]\nkind = \"openai\"", "no address"),
            ("[providers.lab]\nkind = \"openai\"\nbase_url = \"lab:8000\"", "cannot be used"),
            ("[providers.script]\nkind = \"openai\"\nbase_url = \"http://x\"", "choose another name"),
            ("[commands.coder]\nprogram = \" \"", "no program"),
        ] {
            let settings: Settings = toml::from_str(toml).unwrap();
            let error = Models::new(&settings, Limits::default(), |_| None).unwrap_err().to_string();
            assert!(error.contains(expected), "{toml}: {error}");
        }
        let bad_key = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-line\nbreak".to_owned());
        let error = Models::new(&Settings::default(), Limits::default(), bad_key).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sk-line"));
    }
}
