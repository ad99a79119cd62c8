//! What speaking costs on this machine: seconds of work for a second of speech, and memory.

use std::time::Instant;

use polylogue_providers::speech::{EngineName, Manner, Profiles};
use serde_json::{Value, json};

use super::case::memory_mb;
use crate::{config::Config, failure::Failure, speech};

/// A line as agents say them.
const LINE: &str = "A home is where the light was left on for you, and where nobody asks why you came in so late. \
                    It is whatever you can close behind you, and open again in the morning.";

pub(super) async fn run(name: String, engine: EngineName) -> Result<Value, Failure> {
    let config = Config::default();
    let mut settings = speech::settings(&config);
    settings.engine = Some(engine);
    let profiles = Profiles::default();
    let profile = profiles.get("warm_reflective").map_err(|error| Failure::internal(error.to_string()))?;
    let Some(voice) = settings.engines().into_iter().find(|found| found.name() == engine) else {
        return Err(Failure::internal(format!("there is no engine {engine}")));
    };
    let manner = Manner::default();
    // The first line loads the model; what a session feels is the second.
    let loading = Instant::now();
    if let Err(error) = voice.say("Ready.", profile, &manner).await {
        return Ok(json!({"case": name, "engine": engine, "notHere": error.to_string()}));
    }
    let loaded = loading.elapsed();
    let began = Instant::now();
    let sound = voice.say(LINE, profile, &manner).await.map_err(|error| Failure::internal(error.to_string()))?;
    let time = began.elapsed();
    let seconds = sound.duration_ms() as f64 / 1e3;
    Ok(json!({
        "case": name,
        "engine": engine,
        "secondsOfSpeech": seconds,
        "realTimeFactor": (time.as_secs_f64() / seconds * 1e3).round() / 1e3,
        "msToFirstWord": (loaded.as_secs_f64() * 1e3).round(),
        "peakMb": memory_mb("VmHWM"),
    }))
}
