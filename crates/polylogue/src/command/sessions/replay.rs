//! `polylogue sessions replay`: a recorded session as it went. No model is called.

use std::{
    io::{BufRead, IsTerminal, stderr, stdin},
    process::ExitCode,
    time::Duration,
};

use polylogue_core::{Conversation, id::SessionId};
use tokio::time::sleep;

use crate::{
    args::Common,
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::INTERRUPTED,
    format::{self, Step},
    output,
    signals::Signals,
    view::Style,
};

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
    let mut signals = Signals::new()?;
    let mut view = format::view(common, &conversation.stage().setup().format, config);
    if stderr().is_terminal() && !common.json {
        let style = Style::of_stdout();
        let when = records[0].at.to_string()[..16].replace('T', " ");
        let head = format!("session {} · as recorded on {when}", style.session(id));
        output::notice(format!("{}\n", style.remark(&head)));
    }
    view.open(&conversation);
    let mut last = records[0].at;
    for record in &records {
        if let Some(speed) = speed {
            let pause = Duration::from_millis(record.at.since(last)).div_f64(speed).min(LONGEST_PAUSE);
            tokio::select! {
                () = sleep(pause) => {}
                () = signals.next() => return Ok(ExitCode::from(INTERRUPTED)),
            }
        }
        last = record.at;
        if record.seq > conversation.stage().head() {
            conversation.apply(record);
        }
        view.record(record, &conversation);
        if output::is_closed() {
            break;
        }
    }
    view.close(&conversation);
    Ok(ExitCode::SUCCESS)
}

/// Shows one step of a session: a beat of a scene.
pub(super) async fn step(common: &Common, engine: &Engine, id: SessionId, number: usize) -> Result<ExitCode, Failure> {
    let steps = steps_of(engine, id).await?;
    let Some(step) = steps.get(number) else {
        let last = steps.len().saturating_sub(1);
        return Err(Failure::request(format!("there is no beat {number}: the scene has beats 0 to {last}")));
    };
    show(common, step);
    Ok(ExitCode::SUCCESS)
}

/// Shows all steps: one for every Enter where a person is there to press it.
pub(super) async fn steps(common: &Common, engine: &Engine, id: SessionId) -> Result<ExitCode, Failure> {
    let waits = stdin().is_terminal() && !common.json;
    let mut steps = steps_of(engine, id).await?.into_iter().peekable();
    while let Some(step) = steps.next() {
        show(common, &step);
        if waits && steps.peek().is_some() && !is_going_on() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for Enter; anything that begins with q, and the end of the input, say that it is enough.
fn is_going_on() -> bool {
    output::question("Enter: next beat · q: enough ");
    let mut answer = String::new();
    let read = stdin().lock().read_line(&mut answer);
    read.is_ok_and(|bytes| bytes > 0) && !answer.trim_start().starts_with(['q', 'Q'])
}

async fn steps_of(engine: &Engine, id: SessionId) -> Result<Vec<Step>, Failure> {
    let opened = engine.hub.open(id).await?;
    let format = format::named(opened.conversation.stage().setup().format.name());
    let steps = format.and_then(|format| format.steps(&opened, Style::of_stdout()));
    steps.ok_or_else(|| Failure::request(format!("session {id} is not a scene: it has no beats")))
}

fn show(common: &Common, step: &Step) {
    match common.json {
        true => output::json(&step.json),
        false => output::text(&step.text),
    }
}
