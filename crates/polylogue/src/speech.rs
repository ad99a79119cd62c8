//! Speech as this process has it: engines from configuration and environment, and the voice that is fetched the
//! first time it is wanted.

use std::{io::IsTerminal, path::PathBuf, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use polylogue_providers::{
    Secret,
    download::Progress,
    speech::{Account, EngineName, Profiles, Speaker, SpeechSettings, kokoro},
};

use crate::{config::Config, failure::Failure};

/// What the configuration and the environment say about engines.
pub(crate) fn settings(config: &Config) -> SpeechSettings {
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let key = |name: &str| env(name).and_then(|key| Secret::new(&key));
    SpeechSettings {
        engine: config.speech.engine,
        cache: cache_folder(),
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

pub(crate) fn speaker(config: &Config) -> Speaker {
    let profiles = Profiles::with(config.voices.clone());
    Speaker::new(config.artifacts.dir.clone(), profiles, settings(config).engines())
}

/// Where what was fetched is kept for all sessions of this user.
fn cache_folder() -> PathBuf {
    let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || env("HOME").or_else(|| env("USERPROFILE")).unwrap_or_default();
    env("XDG_CACHE_HOME").unwrap_or_else(|| home().join(".cache")).join("polylogue")
}

/// Fetches the neural voice where it would be used and is not there yet. Without it a session still runs, so a
/// failure is told and no more.
pub(crate) async fn pull_if_wanted(config: &Config) {
    let settings = settings(config);
    let is_next = settings.engines().first().is_some_and(|engine| engine.name() == EngineName::Kokoro);
    if !is_next || kokoro::is_pulled(&settings.cache) {
        return;
    }
    eprintln!("Fetching the Kokoro voice (140 MB, once; --no-speech goes without)…");
    if let Err(failure) = pull(config).await {
        eprintln!("{}: lines are spoken by espeak-ng where it is installed.", failure.message());
    }
}

/// Fetches the neural voice, with a progress bar on a terminal.
pub(crate) async fn pull(config: &Config) -> Result<(), Failure> {
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("{spinner} {msg} {bytes} of {total_bytes}");
    bar.set_style(style.expect("the template is well formed"));
    bar.enable_steady_tick(Duration::from_millis(150));
    let shown = bar.clone();
    let watch = Arc::new(move |progress: Progress| {
        shown.set_message(progress.what);
        shown.set_length(progress.total_bytes.unwrap_or(progress.done_bytes));
        shown.set_position(progress.done_bytes);
    });
    let fetched = kokoro::pull(&settings(config).cache, &(watch as _)).await;
    bar.finish_and_clear();
    fetched.map_err(|error| Failure::internal(error.to_string()))
}
