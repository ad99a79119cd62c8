//! `polylogue sessions show`: a session as it is recorded, and the request behind a line.

use std::process::ExitCode;

use polylogue_core::{
    Conversation,
    id::{LineId, Seq, SessionId},
    line::Line,
    projection::{AgentCosts, Costs, Status, request_at, request_behind},
    text::reply::Shape,
};
use serde_json::json;

use crate::{
    args::Common,
    engine::Engine,
    failure::Failure,
    format, output,
    view::{Style, calls, costs_in_words, state},
};

pub(super) async fn session(common: &Common, engine: &Engine, id: SessionId) -> Result<ExitCode, Failure> {
    let opened = engine.hub.open(id).await?;
    let conversation = &opened.conversation;
    if common.json {
        output::json(&engine.hub.outcome(conversation).await?);
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    let stage = conversation.stage();
    let setup = stage.setup();
    output::line(format!("{} {}", style.bold(setup.format.name()), setup.id));
    if let Some((from, at)) = stage.forked_from() {
        output::line(style.dim(&format!("forked from {from} at record {at}")));
    }
    output::line(style.dim(&format!("started {}", stage.started_at())));
    output::line("");
    for line in stage.transcript().lines() {
        print_line(line, conversation, style);
    }
    print_costs(conversation, engine.hub.outcome(conversation).await?.status, style);
    for what in stage.unread() {
        output::line(format!("written by a newer Polylogue, and not readable here: {what}"));
    }
    let format = format::named(setup.format.name());
    let rows = format.map(|format| format.costs(&opened, style)).unwrap_or_default();
    if !rows.is_empty() {
        output::line("");
        rows.iter().for_each(output::line);
    }
    Ok(ExitCode::SUCCESS)
}

/// From how many columns on the costs are a table.
const WIDE: usize = 90;

/// A line with its number, which `--ask` takes, and its record, which `fork --at` takes.
fn print_line(line: &Line, conversation: &Conversation, style: Style) {
    let numbers = format!("line {}, record {}", line.id, line.seq);
    let format = format::named(conversation.stage().setup().format.name());
    if let Some(set) = format.and_then(|format| format.line(style, line, conversation)) {
        output::line(style.dim(&numbers));
        return output::line(set);
    }
    let to = line.to.as_ref().map(|to| format!(" → {to}")).unwrap_or_default();
    let name = style.name(&line.speaker, &format!("{}{to}", line.speaker), conversation);
    output::line(format!("{name}  {}", style.dim(&numbers)));
    output::line(format!("{}\n", style.wrap(&line.text, "  ")));
}

fn print_costs(conversation: &Conversation, status: Status, style: Style) {
    let costs = Costs::of(conversation);
    costs.by_agent.iter().for_each(|(agent, cost)| print_cost(agent.as_str(), cost, style));
    if !costs.by_phase.is_empty() {
        output::line("");
        costs.by_phase.iter().for_each(|(phase, cost)| print_cost(phase, cost, style));
    }
    output::line(style.bold(&format!("{} · {}", state(conversation, status), costs_in_words(&costs))));
}

/// What an agent or a phase came to.
fn print_cost(name: &str, cost: &AgentCosts, style: Style) {
    let usd = cost.estimated_usd.map_or("price unknown".to_owned(), |usd| usd.to_string());
    if style.is_rich() && style.width() < WIDE {
        let tokens = format!("{} in ({} cached), {} out", cost.input_tokens, cost.cached_tokens, cost.output_tokens);
        return output::line(format!("{name}: {}, {tokens}, {usd}", calls(cost.calls)));
    }
    output::line(format!(
        "{name:<16} {:>10}  {:>9} in  {:>9} cached  {:>9} out  {usd}",
        calls(cost.calls),
        cost.input_tokens,
        cost.cached_tokens,
        cost.output_tokens
    ));
}

/// What a request is shown for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behind {
    Line(LineId),
    Record(Seq),
}

pub(super) async fn request(
    common: &Common,
    engine: &Engine,
    id: SessionId,
    behind: Behind,
) -> Result<ExitCode, Failure> {
    let records = engine.hub.records(id).await?;
    let insight = match behind {
        Behind::Line(line) => request_behind(&records, line),
        Behind::Record(seq) => request_at(&records, seq),
    };
    let insight = insight.map_err(|error| Failure::request(error.to_string()))?;
    let request = &insight.ask.request;
    if common.json {
        let object = json!({
            "ask": insight.ask.id,
            "model": request.model,
            "isExact": insight.is_exact,
            "system": request.system,
            "thread": request.thread.messages(),
            "prompt": request.prompt,
            "schema": request.shape.as_deref().map(Shape::schema),
            "sampling": request.sampling,
            "reply": insight.reply,
        });
        output::json(&object);
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    let sent = match insight.is_exact {
        true => "exactly as it was sent",
        false => "rebuilt with today's templates: the request that was sent was worded otherwise",
    };
    output::line(style.dim(&format!("{} on {} · {sent}", insight.ask.id, request.model)));
    output::text(request);
    output::line(format!("--- reply\n{}", insight.reply));
    Ok(ExitCode::SUCCESS)
}
