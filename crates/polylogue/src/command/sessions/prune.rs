//! `polylogue sessions prune`: what is over and too old goes, as `[retention]` has it done by a server.

use std::{process::ExitCode, time::Duration};

use serde_json::json;

use super::{delete::told, list};
use crate::{args::Common, engine::Engine, failure::Failure, output, view::Style};

pub(super) async fn run(
    common: &Common,
    engine: &Engine,
    age: Option<Duration>,
    dry_run: bool,
) -> Result<ExitCode, Failure> {
    let age = age.ok_or_else(|| {
        Failure::request("say what is too old: --older-than 30d, or `days` under [retention] in the configuration")
    })?;
    let stale = engine.hub.stale(age).await?;
    if stale.is_empty() && !common.json {
        output::line("There is nothing to remove.");
    }
    let style = Style::of_stdout();
    for summary in &stale {
        match (dry_run, common.json) {
            (true, true) => output::json(&json!({"sessionId": summary.id, "deleted": false, "problem": null})),
            (true, false) => list::print_row(summary, style),
            (false, _) => {
                let was_removed = engine.hub.prune(summary).await?;
                told(common, summary, (!was_removed).then_some("somebody has gone on with it"));
            }
        }
    }
    if dry_run && !common.json && !stale.is_empty() {
        output::line(style.remark(&format!("{} would be removed; nothing was.", stale.len())));
    }
    Ok(ExitCode::SUCCESS)
}
