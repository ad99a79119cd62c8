//! What a person is told before a session runs: who plays whom, and what there is to know of those models.

use std::io::{IsTerminal, stderr};

use polylogue_core::{
    Conversation,
    setup::{Agent, ModelRef},
};

use super::Style;
use crate::{agents, output};

/// Tells it on standard error, where that is a terminal. Whoever takes part is called by this name.
pub(crate) fn tell<'a>(conversation: &'a Conversation, style: Style, name: impl Fn(&'a Agent) -> &'a str) {
    if !stderr().is_terminal() {
        return;
    }
    let mut lines = vec![players(conversation, name)];
    let mut told: Vec<&ModelRef> = Vec::new();
    for agent in conversation.stage().cast().everyone() {
        if !told.contains(&&agent.model) {
            told.push(&agent.model);
            lines.extend(agents::notes(&agent.model, agent.price));
        }
    }
    lines.push(format!("session {} · Ctrl-C stops", style.session(conversation.stage().setup().id)));
    lines.iter().for_each(|line| output::notice(style.remark(line)));
    output::notice("");
}

/// Who plays whom, in one line.
fn players<'a>(conversation: &'a Conversation, name: impl Fn(&'a Agent) -> &'a str) -> String {
    let mut by_model: Vec<(&ModelRef, Vec<&str>)> = Vec::new();
    for agent in conversation.stage().cast().everyone() {
        let name = name(agent);
        match by_model.iter_mut().find(|(model, _)| **model == agent.model) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => by_model.push((&agent.model, vec![name])),
        }
    }
    let played = by_model.iter().map(|(model, names)| format!("{}: {}", names.join(", "), agents::introduced(model)));
    played.collect::<Vec<_>>().join(" · ")
}
