//! `polylogue store`: the store as a whole.

use std::process::ExitCode;

use polylogue_store::{Copied, copy, without_password};
use serde_json::json;

use crate::{
    args::{Common, Store},
    config::Config,
    engine::open_store,
    failure::Failure,
    output,
};

/// How many sessions are copied before the next word about it.
const WORD_EVERY: usize = 100;

pub(crate) async fn run(common: &Common, args: Store) -> Result<ExitCode, Failure> {
    let Store::Copy { from, to } = args;
    let config = Config::read(common.config.as_deref())?;
    if from == to {
        return Err(Failure::request("both are the same store"));
    }
    // A store that is only read is not made.
    if let Some(path) = from.strip_prefix("sqlite:")
        && !std::path::Path::new(path).exists()
    {
        return Err(Failure::not_found(format!("there is no store `{from}`")));
    }
    let (source, target) = (open_store(&from, &config).await?, open_store(&to, &config).await?);
    let mut told = |done: usize, of: usize| {
        if !common.json && done.is_multiple_of(WORD_EVERY) && done < of {
            output::notice(format!("{done} of {of} sessions"));
        }
    };
    let Copied { sessions, records, unchanged } = copy(&*source, &*target, &mut told).await?;
    if common.json {
        output::json(&json!({"success": true, "sessions": sessions, "records": records, "unchanged": unchanged}));
    } else {
        let to = without_password(&to);
        output::line(format!(
            "copied {sessions} sessions with {records} records to {to}; {unchanged} were there already"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
