//! `polylogue voices`: what can speak here.

use std::{path::PathBuf, process::ExitCode};

use serde_json::json;

use crate::{
    args::{Common, Pullable, Voices},
    config::Config,
    failure::Failure,
    output, speech,
    view::Style,
    words,
};

pub(crate) async fn run(common: &Common, args: Voices) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    match args {
        Voices::List => list(common, &config).await,
        Voices::Pull { engine: None } => speech::pull_if_wanted(&config).await,
        Voices::Pull { engine: Some(Pullable::Kokoro) } => {
            speech::fetch(&speech::settings(&config)).await?;
            output::notice("The Kokoro voice is here.");
        }
        Voices::Say { text, voice, tone, out } => {
            say(common, &config, &words::given(text)?, &voice, tone.as_deref(), out).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(common: &Common, config: &Config) {
    let (speaker, style) = (speech::speaker_alone(config), Style::of_stdout());
    let standings = speech::settings(config).standings().await;
    if common.json {
        for profile in speaker.profiles().iter() {
            output::json(&json!({"voice": profile.name, "description": profile.description}));
        }
        return;
    }
    for standing in standings {
        let (Ok(said) | Err(said)) = &standing.state;
        output::line(style.row("", &standing.engine.to_string(), 18, said));
    }
    output::line("");
    for profile in speaker.profiles().iter() {
        output::line(style.row("", &profile.name, 18, &profile.description));
    }
}

async fn say(
    common: &Common,
    config: &Config,
    text: &str,
    voice: &str,
    tone: Option<&str>,
    out: PathBuf,
) -> Result<(), Failure> {
    speech::pull_if_wanted(config).await;
    let speaker = speech::speaker_alone(config);
    let profile = speaker.profiles().get(voice).map_err(|error| Failure::request(error.to_string()))?.clone();
    let clip = speaker.say(text, &profile, tone, &out).await.map_err(|error| Failure::internal(error.to_string()))?;
    if common.json {
        output::json(&clip);
    } else {
        let engine = clip.engine.as_deref().unwrap_or_default();
        let seconds = clip.duration_ms as f64 / 1000.0;
        output::line(format!("{} · {seconds:.1} s · {voice} by {engine}", out.display()));
    }
    Ok(())
}
