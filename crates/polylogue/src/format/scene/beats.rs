//! A scene beat by beat, with what its transcript does not show.

use polylogue_core::{
    format::scene::{Beat, PlayedScene, Relations},
    id::AgentId,
    projection::OutcomeLine,
};
use serde_json::{Value, json};

use super::view::in_style;
use crate::{
    format::Step,
    view::{Style, costs_of},
};

/// The beats, each to be shown by itself.
pub(super) fn steps(played: &PlayedScene, style: Style) -> Vec<Step> {
    let step = |beat: &Beat| Step { text: in_words(beat, played, style), json: to_json(beat, played) };
    played.beats.iter().map(step).collect()
}

/// What each beat cost.
pub(super) fn costs(played: &PlayedScene, style: Style) -> Vec<String> {
    let row = |beat: &Beat| {
        let (name, cached) = (format!("beat {}", beat.number), format!("{} cached", beat.account.usage.cached));
        format!("{name:<16} {}  {}", costs_of(&beat.account), style.dim(&cached))
    };
    played.beats.iter().map(row).collect()
}

fn in_words(beat: &Beat, played: &PlayedScene, style: Style) -> String {
    let name = |agent: &AgentId| played.name_of(agent).to_owned();
    let row = |what: &str, words: String| match words.is_empty() {
        true => String::new(),
        // Wrapped as one text, so that the first line has room for what it is about.
        false => {
            let wrapped = style.in_words(&format!("{what:<8} {words}"), &" ".repeat(9));
            format!("{}{}\n", style.dim(&wrapped[..8]), &wrapped[8..])
        }
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
