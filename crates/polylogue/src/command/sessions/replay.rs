//! `polylogue sessions replay`: a recorded session as it went. No model is called.

use std::{process::ExitCode, time::Duration};

use polylogue_core::{Conversation, id::SessionId};
use tokio::time::sleep;

use crate::{args::Common, config::Config, engine::Engine, failure::Failure, view};

/// The longest pause that a replay makes, whatever the session did.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

pub(super) async fn run(
    common: &Common,
    config: &Config,
    engine: &Engine,
    id: SessionId,
    speed: Option<f64>,
) -> Result<ExitCode, Failure> {
    if speed.is_some_and(|speed| !speed.is_finite() || speed <= 0.0) {
        return Err(Failure::request("the speed of a replay is a number above 0, for example 4"));
    }
    let records = engine.hub.records(id).await?;
    let mut conversation = Conversation::replay(&records[..1])?;
    let mut view = view::of(common, &conversation.stage().setup().format, &config.scene.out);
    view.open(&conversation);
    let mut last = records[0].at;
    for record in &records {
        if let Some(speed) = speed {
            let pause = Duration::from_millis(record.at.since(last)).div_f64(speed).min(LONGEST_PAUSE);
            sleep(pause).await;
        }
        last = record.at;
        if record.seq > conversation.stage().head() {
            conversation.apply(record);
        }
        view.record(record, &conversation);
    }
    view.close(&conversation);
    Ok(ExitCode::SUCCESS)
}
