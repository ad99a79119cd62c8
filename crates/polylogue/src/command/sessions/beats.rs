//! `polylogue sessions replay --beat N` and `--step`: a scene beat by beat, with what its transcript does not show.

use std::{
    io::{BufRead, IsTerminal, stdin},
    process::ExitCode,
};

use polylogue_core::{
    format::scene::Relations,
    id::{AgentId, SessionId},
    projection::{Beat, OutcomeLine, PlayedScene},
};
use serde_json::{Value, json};

use crate::{
    args::Common,
    engine::Engine,
    failure::Failure,
    output,
    view::{Style, costs_of, in_style},
};

/// Shows one beat.
pub(super) async fn one(common: &Common, engine: &Engine, id: SessionId, beat: u32) -> Result<ExitCode, Failure> {
    let played = played(engine, id).await?;
    let last = played.beats.len().saturating_sub(1);
    let Some(beat) = played.beats.get(beat as usize) else {
        return Err(Failure::request(format!("there is no beat {beat}: the scene has beats 0 to {last}")));
    };
    show(common, beat, &played);
    Ok(ExitCode::SUCCESS)
}

/// Shows all beats: one for every Enter where a person is there to press it.
pub(super) async fn all(common: &Common, engine: &Engine, id: SessionId) -> Result<ExitCode, Failure> {
    let played = played(engine, id).await?;
    let waits = stdin().is_terminal() && !common.json;
    for (beat, is_last) in played.beats.iter().map(|beat| (beat, beat.number as usize + 1 == played.beats.len())) {
        show(common, beat, &played);
        if waits && !is_last && !is_going_on() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for Enter; anything that begins with q, and the end of the input, say that it is enough.
fn is_going_on() -> bool {
    eprint!("Enter: next beat · q: enough ");
    let mut answer = String::new();
    let read = stdin().lock().read_line(&mut answer);
    read.is_ok_and(|bytes| bytes > 0) && !answer.trim_start().starts_with(['q', 'Q'])
}

async fn played(engine: &Engine, id: SessionId) -> Result<PlayedScene, Failure> {
    let records = engine.hub.records(id).await?;
    PlayedScene::of(&records).ok_or_else(|| Failure::request(format!("session {id} is not a scene: it has no beats")))
}

fn show(common: &Common, beat: &Beat, played: &PlayedScene) {
    if common.json {
        output::json(&to_json(beat, played));
    } else {
        output::text(in_words(beat, played, Style::of_stdout()));
    }
}

fn in_words(beat: &Beat, played: &PlayedScene, style: Style) -> String {
    let name = |agent: &AgentId| played.name_of(agent).to_owned();
    let row = |what: &str, words: String| match words.is_empty() {
        true => String::new(),
        false => format!("{} {words}\n", style.dim(&format!("{what:<8}"))),
    };
    let mut text = format!("{}\n\n", style.bold(&format!("── beat {} ──", beat.number)));
    for note in &beat.notes {
        let to = note.to.as_ref().map_or("everybody".to_owned(), name);
        text += &row("note", format!("to {to} ({}): {}", note.kind.as_str(), note.text));
    }
    if !beat.notes.is_empty() {
        text.push('\n');
    }
    for line in beat.lines.iter().filter_map(|id| played.conversation.stage().transcript().get(*id)) {
        text += &in_style(style, line, &played.settings, &played.conversation);
        text.push('\n');
    }
    for silence in &beat.silent {
        let acts: Vec<String> = silence.nonverbal.iter().map(|act| format!(" *{act}*")).collect();
        text += &row("silent", format!("{}{}", name(&silence.who), acts.concat()));
    }
    for (who, why) in &beat.failed {
        text += &row("failed", format!("{}: {why}", name(who)));
    }
    let judged = beat.judgement.as_ref().map(|judgement| judgement.in_words(&played.settings));
    text += &row("judged", judged.unwrap_or_default());
    text += &row("unjudged", beat.unjudged.clone().unwrap_or_default());
    let moods: Vec<String> = beat.moods.iter().map(|(agent, mood)| format!("{} {mood}", name(agent))).collect();
    text += &row("moods", moods.join(", "));
    let pairs = beat
        .relations
        .pairs()
        .map(|(one, other, value)| format!("{} and {} {} ({value:+})", name(one), name(other), Relations::word(value)));
    text += &row("between", pairs.collect::<Vec<_>>().join(", "));
    text += &row("cost", costs_of(&beat.account));
    text.push('\n');
    text
}

fn to_json(beat: &Beat, played: &PlayedScene) -> Value {
    let transcript = played.conversation.stage().transcript();
    let lines: Vec<OutcomeLine> = beat.lines.iter().filter_map(|id| transcript.get(*id)).map(OutcomeLine::of).collect();
    let silent: Vec<Value> =
        beat.silent.iter().map(|one| json!({"character": one.who, "nonverbal": one.nonverbal})).collect();
    let failed: Vec<Value> = beat.failed.iter().map(|(who, why)| json!({"character": who, "error": why})).collect();
    let relationships: Vec<Value> =
        beat.relations.pairs().map(|(one, other, value)| json!({"between": [one, other], "value": value})).collect();
    json!({
        "type": "beat",
        "beat": beat.number,
        "notes": beat.notes,
        "lines": lines,
        "silent": silent,
        "failed": failed,
        "judgement": beat.judgement,
        "unjudged": beat.unjudged,
        "moods": beat.moods,
        "relationships": relationships,
        "costs": {"calls": beat.account.calls, "totalTokens": beat.account.usage.total(), "estimatedUSD": beat.account.cost},
    })
}
