//! `polylogue sessions delete`.

use std::{
    io::{self, BufRead, IsTerminal},
    process::ExitCode,
    time::Duration,
};

use polylogue_runtime::{
    HubError,
    port::{Search, Summary},
};
use serde_json::json;

use super::list;
use crate::{args::Common, engine::Engine, failure::Failure, output, view::Style};

/// Sessions that are looked through at a time.
const PAGE: usize = 1_000;

/// The sessions that a person means, each once.
pub(super) async fn named(engine: &Engine, ids: &[String]) -> Result<Vec<Summary>, Failure> {
    let mut wanted = Vec::new();
    for id in ids {
        let id = engine.find(id).await?;
        if !wanted.contains(&id) {
            wanted.push(id);
        }
    }
    let found = found(engine, |summary| wanted.contains(&summary.id)).await?;
    Ok(found)
}

/// The sessions that nothing was added to for so long. Those that run are none of them, however slowly.
pub(super) async fn older_than(engine: &Engine, age: Duration) -> Result<Vec<Summary>, Failure> {
    Ok(engine.hub.untouched_for(age).await?)
}

async fn found(engine: &Engine, is_wanted: impl Fn(&Summary) -> bool) -> Result<Vec<Summary>, Failure> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = engine.journal.search(&Search { before, limit: PAGE, ..Search::default() }).await?;
        let is_last = page.len() < PAGE;
        before = page.last().map(Summary::place);
        found.extend(page.into_iter().filter(&is_wanted));
        if is_last {
            return Ok(found);
        }
    }
}

pub(super) async fn run(
    common: &Common,
    engine: &Engine,
    which: Vec<Summary>,
    is_agreed: bool,
) -> Result<ExitCode, Failure> {
    let style = Style::of_stdout();
    if which.is_empty() && !common.json {
        output::line("There is nothing to delete.");
        return Ok(ExitCode::SUCCESS);
    }
    if !is_agreed && !common.json && io::stdin().is_terminal() && io::stdout().is_terminal() {
        which.iter().for_each(|summary| list::print_row(summary, style));
        if !is_confirmed(which.len()) {
            output::line("Nothing was deleted.");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let mut kept = 0;
    for summary in &which {
        match engine.hub.delete(summary.id).await {
            // Somebody else was faster.
            Ok(()) | Err(HubError::NoSuchSession(_)) => told(common, summary, None),
            Err(HubError::Running | HubError::Elsewhere) => {
                kept += 1;
                told(common, summary, Some("it is running: stop it first"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(if kept == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_confirmed(sessions: usize) -> bool {
    let (what, them) = if sessions == 1 { ("this session", "its") } else { ("these sessions", "their") };
    output::question(format!("Delete {what} with {them} clips and files? [y/N] "));
    let mut answer = String::new();
    let is_read = io::stdin().lock().read_line(&mut answer).is_ok();
    is_read && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

pub(super) fn told(common: &Common, summary: &Summary, problem: Option<&str>) {
    let id = summary.id.to_string();
    match (common.json, problem) {
        (true, _) => output::json(&json!({"sessionId": id, "deleted": problem.is_none(), "problem": problem})),
        (false, None) => output::line(format!("Deleted {}  {}", &id[..8], list::shortened(&summary.title))),
        (false, Some(problem)) => {
            output::line(format!("Kept    {}  {}: {problem}", &id[..8], list::shortened(&summary.title)));
        }
    }
}
