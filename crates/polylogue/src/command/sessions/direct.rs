//! `polylogue sessions direct`: a person directs a session while it goes on, whichever process runs it.

use std::process::ExitCode;

use polylogue_core::{id::SessionId, setup::Note};
use serde_json::json;

use crate::{args::Common, engine::Engine, failure::Failure, format, output};

pub(super) async fn run(
    common: &Common,
    engine: &Engine,
    id: SessionId,
    note: Option<Note>,
    event: Option<&str>,
) -> Result<ExitCode, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    let known = format::named(conversation.stage().setup().format.name());
    let decision = known.and_then(|format| format.direction(note, event));
    let decision =
        decision.ok_or_else(|| Failure::request(format!("session {id} cannot be directed: only scenes can")))?;
    let directed = engine.hub.propose(conversation, decision).await;
    // Where nobody runs it, this process has recorded it, and has nothing more to do with it.
    let waited = engine.hub.wait(id).await;
    engine.hub.leave().await;
    directed?;
    waited?;
    match common.json {
        true => output::json(&json!({"type": "directed", "sessionId": id})),
        false => output::line("Directed."),
    }
    Ok(ExitCode::SUCCESS)
}
