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
    let everyone = conversation.stage().cast().everyone();
    let players = everyone.map(|agent| (name(agent).to_owned(), agents::introduced(&agent.model)));
    tell_players(conversation, style, players.collect());
}

/// The same, with these players: what each is called, and what plays it.
pub(crate) fn tell_players(conversation: &Conversation, style: Style, players: Vec<(String, String)>) {
    if !stderr().is_terminal() {
        return;
    }
    let mut lines = vec![in_one_line(players)];
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

/// Who plays whom, in one line: those whom the same plays stand together.
fn in_one_line(players: Vec<(String, String)>) -> String {
    let mut by_what: Vec<(String, Vec<String>)> = Vec::new();
    for (name, what) in players {
        match by_what.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => by_what.push((what, vec![name])),
        }
    }
    let played = by_what.iter().map(|(what, names)| format!("{}: {what}", names.join(", ")));
    played.collect::<Vec<_>>().join(" · ")
}
