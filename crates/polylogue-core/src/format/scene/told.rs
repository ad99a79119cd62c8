//! A line of a scene as its characters, its moderator and its transcript have it: `Alice [TONE: angry] "No!"`.

use std::sync::Arc;

use super::{
    bracket::{Action, ActionKind},
    settings::Settings,
    vocabulary::kind,
};
use crate::{
    id::Seq,
    line::{Line, Speaker},
    text::cut::cut_after,
};

/// As of the newest record that there is.
pub(super) const NOW: Seq = Seq(u64::MAX);

/// How many exchanges are told to somebody who is asked anew each beat.
const WINDOW: usize = 10;

/// The last exchanges, as they were at a record.
pub(super) fn recent(lines: &[Line], settings: &Settings, as_of: Seq) -> Vec<String> {
    lines[lines.len().saturating_sub(WINDOW)..].iter().map(|line| told(line, settings, as_of)).collect()
}

/// The line in one row, as it was at a record.
pub(super) fn told(line: &Line, settings: &Settings, as_of: Seq) -> String {
    match (&line.speaker, action_of(line, settings, as_of)) {
        (Speaker::Agent(agent), Some(action)) => format!("{} {action}", settings.name_of(agent)),
        (_, _) if line.kind == kind::EVENT => format!("[EVENT: {}]", line.text),
        (_, _) => format!("[SYSTEM: {}]", line.text),
    }
}

/// What a character did with this line, as far as it came with it: a line that was cut ends with a dash.
pub(super) fn action_of(line: &Line, settings: &Settings, as_of: Seq) -> Option<Action> {
    let kind = match line.kind {
        kind::SPEAK => ActionKind::Speak,
        kind::INTERRUPT => ActionKind::Interrupt,
        kind::REACT => ActionKind::React,
        _ => return None,
    };
    Some(Action {
        kind,
        to: line.to.as_ref().map(|to| settings.name_of(to).into()),
        tone: line.delivery.tone.clone(),
        nonverbal: line.delivery.nonverbal.clone(),
        after: line.delivery.interrupts_after.clone(),
        text: if kind.is_verbal() { heard(line, as_of) } else { "".into() },
    })
}

/// The words of a line up to where somebody had come in.
pub(super) fn heard(line: &Line, as_of: Seq) -> Arc<str> {
    let cut = line.cut_after.as_deref().filter(|_| line.cut_at <= Some(as_of));
    let Some(end) = cut.and_then(|phrase| cut_after(&line.text, phrase)) else {
        return line.text.clone();
    };
    format!("{}—", line.text[..end].trim_end_matches(|c: char| !c.is_alphanumeric())).into()
}
