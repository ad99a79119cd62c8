//! `polylogue sessions list`.

use std::process::ExitCode;

use polylogue_runtime::port::Summary;
use serde_json::json;

use crate::{args::Common, engine::Engine, failure::Failure, output, printable::fitted, view::Style};

/// From how many columns on a session is one row.
const WIDE: usize = 90;

/// How much of a title is shown.
const TITLE_CHARS: usize = 48;

pub(super) async fn run(common: &Common, engine: &Engine, limit: usize) -> Result<ExitCode, Failure> {
    let sessions = engine.journal.sessions(limit).await?;
    if common.json {
        sessions.iter().for_each(print_json);
    } else if sessions.is_empty() {
        output::line("No session yet. Try: polylogue collaborate \"Outline a weekend hiking trip.\"");
    } else {
        let style = Style::of_stdout();
        sessions.iter().for_each(|summary| print_row(summary, style));
        let alone = sessions.iter().filter(|summary| summary.is_left_alone()).count();
        if alone > 0 {
            output::line(style.dim(&format!(
                "\n{alone} left alone: those who went on with it were gone before anything came of it. \
                 `polylogue sessions resume ID` tries it again."
            )));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn print_row(summary: &Summary, style: Style) {
    let id = summary.id.to_string();
    let when = summary.last_at.to_string();
    let unended = if summary.is_left_alone() { "left alone" } else { summary.status().as_str() };
    let state = summary.reason.as_ref().map_or(unended, |reason| reason.as_str());
    if style.is_rich() && style.width() < WIDE {
        let head = format!("{}  {}", style.bold(&id[..8]), style.dim(&when[..16].replace('T', " ")));
        output::line(format!("{head}  {}  {state}", summary.format));
        return output::line(format!("  {}", fitted(&summary.title, style.width().saturating_sub(2))));
    }
    output::line(format!(
        "{}  {}  {:<13}  {:<15}  {}",
        style.bold(&id[..8]),
        style.dim(&when[..16].replace('T', " ")),
        summary.format,
        state,
        shortened(&summary.title)
    ));
}

pub(super) fn shortened(title: &str) -> String {
    let one_line = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", one_line[..end].trim_end()),
        None => one_line,
    }
}

fn print_json(summary: &Summary) {
    output::json(&json!({
        "sessionId": summary.id,
        "format": summary.format,
        "title": summary.title,
        "status": summary.status().as_str(),
        "isLeftAlone": summary.is_left_alone(),
        "reason": summary.reason,
        "startedAt": summary.started_at.to_string(),
        "lastAt": summary.last_at.to_string(),
        "head": summary.head,
    }));
}
