//! `polylogue serve`: the page and the API on one port.

use std::{
    io::{IsTerminal, stderr},
    net::SocketAddr,
    process::ExitCode,
    sync::Arc,
};

use polylogue_providers::speech::SpeechSettings;
use polylogue_runtime::HubSettings;
use polylogue_server::{App, Settings, serve};

use crate::{
    agents,
    args::{Common, Serve},
    command::doctor,
    config::Config,
    descriptors::Descriptors,
    engine::Engine,
    failure::Failure,
    house::ThisHouse,
    opened::Opened,
    output,
    signals::Signals,
    speech,
    view::Style,
};

pub(crate) async fn run(common: Common, args: Serve) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let listen = args.listen.as_deref().unwrap_or(&config.server.listen);
    let listen: SocketAddr = listen
        .parse()
        .map_err(|_| Failure::config(format!("`{listen}` is no address to listen on: write 127.0.0.1:7654")))?;
    let mut settings = settings(&config)?;
    settings.check(listen).map_err(|error| Failure::config(error.to_string()))?;
    let kept_for = config.retention.age()?;
    let opened = Opened::of(&config, settings.has_tokens())?;
    let descriptors = Descriptors::shared_out();
    settings.max_connections = settings.max_connections.min(descriptors.connections);
    tracing::info!(connections = settings.max_connections, calls = descriptors.calls, "so many at once");
    let hub = HubSettings {
        max_live: config.server.max_sessions,
        max_calls: descriptors.calls,
        per_day_of: config.server.usd_per_day()?,
        ..HubSettings::default()
    };
    let engine = Engine::open_with(&common, &config, hub).await?;
    engine.look_around(&common, &config).await;
    let mut signals = Signals::new()?;
    let listener = polylogue_server::listen(listen)
        .map_err(|error| Failure::config(format!("{listen} cannot be listened on: {error}")))?;
    let address = listener.local_addr().map_err(|error| Failure::internal(error.to_string()))?;
    tell(&format!(
        "Polylogue listens on http://{address} · open it in a browser; the API is described at http://{address}/docs/"
    ));
    who_plays(&common, &config, &engine).iter().for_each(|said| tell(said));
    let to_fetch = if common.no_speech { None } else { who_speaks(&config).await };
    if let Some(age) = kept_for {
        engine.hub.keep_for(age);
    }
    let (hub, store, artifacts) = (engine.hub.clone(), engine.store.clone(), engine.artifacts.clone());
    let house = Arc::new(ThisHouse { common, config, engine, opened });
    let serving = serve(App::new(hub, store, artifacts, house, settings), listener, signals.next());
    let fetching = async {
        if let Some(voice) = &to_fetch {
            speech::pull(voice).await;
        }
    };
    tokio::pin!(serving);
    // A server that is told to end does not wait for what it fetches.
    tokio::select! {
        served = &mut serving => served?,
        () = fetching => serving.await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells the one who started it.
fn tell(said: &str) {
    output::notice(Style::of_stderr().in_words(said, "  "));
}

/// Which models play here, a line for each; and what to do about those that cannot.
fn who_plays(common: &Common, config: &Config, engine: &Engine) -> Vec<String> {
    let own = config.agents.keys().map(String::as_str);
    // Where somebody has agents of their own, the built-in ones need not work.
    let names: Vec<&str> = if config.agents.is_empty() { agents::names(config) } else { own.collect() };
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for name in names {
        let about = match agents::agent(name, common, config, engine) {
            Ok(agent) => format!(": {}", agents::introduced(&agent.model)),
            Err(failure) => format!(" cannot play yet: {}", failure.message()),
        };
        match said.iter_mut().find(|(other, _)| *other == about) {
            Some((_, names)) => names.push(name),
            None => said.push((about, vec![name])),
        }
    }
    said.into_iter().map(|(about, names)| format!("{}{about}", names.join(", "))).collect()
}

/// Tells what there is to know of the voice. Where somebody watches, the neural one is to be fetched beside the work,
/// from these settings; a server that nobody watches fetches nothing by itself.
async fn who_speaks(config: &Config) -> Option<SpeechSettings> {
    if !speech::is_to_be_pulled(config) {
        return None;
    }
    let settings = speech::settings(config);
    if stderr().is_terminal() {
        return Some(settings);
    }
    let what_to_do = "`polylogue voices pull kokoro` fetches a neural voice (140 MB)";
    let engines: Vec<String> = settings.engines().iter().map(|engine| engine.name().to_string()).collect();
    let standings = doctor::voices(config).await;
    let speaks = engines.iter().find(|name| standings.iter().any(|(other, state)| other == *name && state.is_ok()));
    tell(&match speaks {
        Some(engine) => format!("lines are spoken by {engine}; {what_to_do}"),
        None => format!("no line can be spoken yet: {what_to_do}"),
    });
    None
}

fn settings(config: &Config) -> Result<Settings, Failure> {
    let (tokens, cors_origins) = (config.server.operators(), config.server.cors_origins.clone());
    let named_tokens = config.server.named(|name| std::env::var(name).ok())?;
    Ok(Settings { tokens, named_tokens, cors_origins, ..Settings::default() })
}
