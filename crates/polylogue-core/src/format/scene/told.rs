//! A line of a scene as its characters, its moderator and its transcript have it: `Alice [TONE: angry] "No!"`.

use std::sync::Arc;

use super::settings::Settings;
use crate::{
    bracket::{Action, ActionKind},
    cut::cut_after,
    line::{Line, LineKind, Speaker},
};

/// How many exchanges are told to somebody who is asked anew each beat.
const WINDOW: usize = 10;

/// The last exchanges.
pub(super) fn recent(lines: &[Line], settings: &Settings) -> Vec<String> {
    lines[lines.len().saturating_sub(WINDOW)..].iter().map(|line| told(line, settings)).collect()
}

/// The line in one row.
pub(super) fn told(line: &Line, settings: &Settings) -> String {
    match (&line.speaker, action_of(line, settings)) {
        (Speaker::Agent(agent), Some(action)) => format!("{} {action}", settings.name_of(agent)),
        (_, _) if line.kind == LineKind::Event => format!("[EVENT: {}]", line.text),
        (_, _) => format!("[SYSTEM: {}]", line.text),
    }
}

/// What a character did with this line, as far as it came with it: a line that was cut ends with a dash.
pub(crate) fn action_of(line: &Line, settings: &Settings) -> Option<Action> {
    let kind = match line.kind {
        LineKind::Speak => ActionKind::Speak,
        LineKind::Interrupt => ActionKind::Interrupt,
        LineKind::React => ActionKind::React,
        LineKind::User
        | LineKind::Message
        | LineKind::Router
        | LineKind::Response
        | LineKind::Comment
        | LineKind::Reply
        | LineKind::Event
        | LineKind::System => return None,
    };
    Some(Action {
        kind,
        to: line.to.as_ref().map(|to| settings.name_of(to).into()),
        tone: line.delivery.tone.clone(),
        nonverbal: line.delivery.nonverbal.clone(),
        after: line.delivery.interrupts_after.clone(),
        text: if kind.is_verbal() { heard(line) } else { "".into() },
    })
}

/// The words of a line up to where somebody came in.
fn heard(line: &Line) -> Arc<str> {
    let Some(end) = line.cut_after.as_deref().and_then(|phrase| cut_after(&line.text, phrase)) else {
        return line.text.clone();
    };
    format!("{}—", line.text[..end].trim_end_matches(|c: char| !c.is_alphanumeric())).into()
}
