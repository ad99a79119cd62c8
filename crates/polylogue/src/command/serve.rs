//! `polylogue serve`: the page and the API on one port.

use std::{io::IsTerminal, net::SocketAddr, process::ExitCode, sync::Arc};

use polylogue_runtime::HubSettings;
use polylogue_server::{App, Settings, serve};
use tokio::net::TcpListener;

use crate::{
    args::{Common, Serve},
    config::Config,
    engine::Engine,
    failure::Failure,
    house::ThisHouse,
    output,
    signals::Signals,
    speech,
};

pub(crate) async fn run(common: Common, args: Serve) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let listen = args.listen.as_deref().unwrap_or(&config.server.listen);
    let listen: SocketAddr = listen
        .parse()
        .map_err(|_| Failure::config(format!("`{listen}` is no address to listen on: write 127.0.0.1:7654")))?;
    let settings = settings(&config);
    settings.check(listen).map_err(|error| Failure::config(error.to_string()))?;
    // A person who looks on sees how far it is. A service fetches nothing by itself.
    if common.speech_wish() != Some(false) && std::io::stderr().is_terminal() {
        speech::pull_if_wanted(&config).await;
    }
    let hub = HubSettings { max_live: config.server.max_sessions, ..HubSettings::default() };
    let engine = Engine::open_with(&common, &config, hub)?;
    let mut signals = Signals::new()?;
    let listener = TcpListener::bind(listen).await;
    let listener = listener.map_err(|error| Failure::config(format!("{listen} cannot be listened on: {error}")))?;
    let address = listener.local_addr().map_err(|error| Failure::internal(error.to_string()))?;
    output::notice(format!(
        "Polylogue listens on http://{address} · open it in a browser; the API is described at http://{address}/docs/"
    ));
    let (hub, store) = (engine.hub.clone(), engine.store.clone());
    let house = Arc::new(ThisHouse { common, config, engine });
    serve(App::new(hub, store, house, settings), listener, signals.next()).await?;
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
