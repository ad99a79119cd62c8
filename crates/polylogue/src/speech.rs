//! Speech as this process has it: engines from configuration and environment, and the voice that is fetched the
//! first time it is wanted.

use std::sync::Arc;

use polylogue_artifacts::Folder;
use polylogue_providers::{
    Prices, Secret,
    speech::{Account, EngineName, Profiles, Speaker, SpeechSettings, kokoro},
};
use polylogue_runtime::port::Artifacts;

use crate::{cache, config::Config, failure::Failure, output, view::Style};

/// What the configuration and the environment say about engines.
pub(crate) fn settings(config: &Config) -> SpeechSettings {
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let key = |name: &str| env(name).and_then(|key| Secret::new(&key));
    SpeechSettings {
        engine: config.speech.engine,
        cache: cache::folder(),
        elevenlabs: Account {
            key: key("ELEVENLABS_API_KEY"),
            base_url: env("ELEVENLABS_BASE_URL"),
            model: config.speech.elevenlabs_model.clone(),
        },
        openai: Account {
            key: key("OPENAI_API_KEY"),
            base_url: env("OPENAI_BASE_URL"),
            model: config.speech.openai_model.clone(),
        },
    }
}

pub(crate) fn speaker(config: &Config, artifacts: Arc<dyn Artifacts>) -> Speaker {
    let profiles = Profiles::with(config.voices.clone());
    let prices = Prices::new(config.prices.clone());
    Speaker::new(artifacts, &config.artifacts.dir, profiles, settings(config).engines()).with_prices(prices)
}

/// The same outside any session: nothing that it says is kept among the artifacts.
pub(crate) fn speaker_alone(config: &Config) -> Speaker {
    speaker(config, Arc::new(Folder::new(&config.artifacts.dir)))
}

/// Whether the neural voice would be used and is not there yet.
pub(crate) fn is_to_be_pulled(config: &Config) -> bool {
    let settings = settings(config);
    let is_next = settings.engines().first().is_some_and(|engine| engine.name() == EngineName::Kokoro);
    is_next && !kokoro::is_pulled(&settings.cache)
}

/// Fetches the neural voice where it would be used and is not there yet.
pub(crate) async fn pull_if_wanted(config: &Config) {
    if is_to_be_pulled(config) {
        pull(&settings(config)).await;
    }
}

/// Fetches the neural voice. Without it a session still runs, so a failure is told and no more.
pub(crate) async fn pull(settings: &SpeechSettings) {
    let tell = |text: &str| output::notice(Style::of_stderr().in_words(text, "  "));
    tell("Fetching the Kokoro voice (140 MB, once; --no-speech goes without)…");
    if let Err(failure) = fetch(settings).await {
        tell(&format!("{}: lines are spoken by espeak-ng where it is installed.", failure.message()));
    }
}

/// Fetches the neural voice, or says why that cannot be.
pub(crate) async fn fetch(settings: &SpeechSettings) -> Result<(), Failure> {
    cache::show(async |watch| kokoro::pull(&settings.cache, watch).await).await
}
