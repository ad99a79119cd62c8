//! `polylogue sessions show`: a session as it is recorded, and the request behind a line.

use std::process::ExitCode;

use polylogue_core::{
    Conversation,
    id::{LineId, Seq, SessionId},
    line::Line,
    projection::{Costs, Outcome, PlayedScene, request_at, request_behind},
    reply::Shape,
    setup::FormatSetup,
};
use serde_json::json;

use crate::{
    args::Common,
    engine::Engine,
    failure::Failure,
    output,
    view::{Style, costs_in_words, costs_of, in_style, state},
};

pub(super) async fn session(common: &Common, engine: &Engine, id: SessionId) -> Result<ExitCode, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    if common.json {
        output::json(&Outcome::of(&conversation));
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
        print_line(line, &conversation, style);
    }
    print_costs(&conversation, style);
    if let FormatSetup::Scene(_) = setup.format {
        let records = engine.hub.records(id).await?;
        PlayedScene::of(&records).iter().for_each(|played| print_beats(played, style));
    }
    Ok(ExitCode::SUCCESS)
}

/// What each beat cost.
fn print_beats(played: &PlayedScene, style: Style) {
    output::line("");
    for beat in &played.beats {
        let cached = format!("{} cached", beat.account.usage.cached);
        output::line(format!(
            "{:<16} {}  {}",
            format!("beat {}", beat.number),
            costs_of(&beat.account),
            style.dim(&cached)
        ));
    }
}

/// A line with its number, which `--ask` takes, and its record, which `fork --at` takes.
fn print_line(line: &Line, conversation: &Conversation, style: Style) {
    let numbers = format!("line {}, record {}", line.id, line.seq);
    if let FormatSetup::Scene(settings) = &conversation.stage().setup().format {
        output::line(style.dim(&numbers));
        return output::line(in_style(style, line, settings, conversation));
    }
    let to = line.to.as_ref().map(|to| format!(" → {to}")).unwrap_or_default();
    let name = style.name(&line.speaker, &format!("{}{to}", line.speaker), conversation);
    output::line(format!("{name}  {}", style.dim(&numbers)));
    output::line(format!("{}\n", style.wrap(&line.text, "  ")));
}

fn print_costs(conversation: &Conversation, style: Style) {
    let costs = Costs::of(conversation);
    for (agent, cost) in &costs.by_agent {
        let usd = cost.estimated_usd.map_or("price unknown".to_owned(), |usd| usd.to_string());
        output::line(format!(
            "{:<16} {:>4} calls  {:>9} in  {:>9} cached  {:>9} out  {usd}",
            agent.as_str(),
            cost.calls,
            cost.input_tokens,
            cost.cached_tokens,
            cost.output_tokens
        ));
    }
    output::line(style.bold(&format!("{} · {}", state(conversation), costs_in_words(&costs))));
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
        output::line(object);
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
