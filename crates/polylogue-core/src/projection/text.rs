//! The transcript as people read it.

use std::fmt::Write;

use super::SceneText;
use crate::{
    Conversation,
    format::collaboration::{Mode, Settings},
    line::{Line, LineKind},
    setup::{Agent, FormatSetup},
};

/// Plain text, as it would be printed.
pub fn plain_text(conversation: &Conversation) -> String {
    if let Some(scene) = SceneText::of(conversation) {
        return scene.to_string();
    }
    let mut text = heading(conversation, "");
    for line in conversation.stage().transcript().lines() {
        let block = match line.kind {
            LineKind::Router => format!("[{}]", directed(line)),
            LineKind::Event => format!("[EVENT: {}]", line.text),
            LineKind::System => format!("[SYSTEM: {}]", line.text),
            LineKind::React => format!("{} *{}*", line.speaker, line.text),
            LineKind::User
            | LineKind::Message
            | LineKind::Response
            | LineKind::Comment
            | LineKind::Reply
            | LineKind::Speak
            | LineKind::Interrupt => format!("{}: {}", addressed(line), line.text),
        };
        let _ = write!(text, "\n{block}\n");
    }
    text
}

pub fn markdown(conversation: &Conversation) -> String {
    if let Some(scene) = SceneText::of(conversation) {
        return scene.to_markdown();
    }
    let mut text = heading(conversation, "# ");
    for line in conversation.stage().transcript().lines() {
        let block = match line.kind {
            LineKind::Router => format!("> {}", directed(line).replace('\n', "\n> ")),
            LineKind::Event | LineKind::System => format!("> *{}*", line.text),
            LineKind::React => format!("**{}** *{}*", line.speaker, line.text),
            LineKind::User
            | LineKind::Message
            | LineKind::Response
            | LineKind::Comment
            | LineKind::Reply
            | LineKind::Speak
            | LineKind::Interrupt => format!("**{}:** {}", addressed(line), line.text),
        };
        let _ = write!(text, "\n{block}\n");
    }
    text
}

/// A speaker with whom the line is for.
fn addressed(line: &Line) -> String {
    match &line.to {
        Some(to) => format!("{} to {to}", line.speaker),
        None => line.speaker.to_string(),
    }
}

/// A router's line with whom it is for.
fn directed(line: &Line) -> String {
    match &line.to {
        Some(to) => format!("to {to}: {}", line.text),
        None => line.text.to_string(),
    }
}

fn heading(conversation: &Conversation, mark: &str) -> String {
    let stage = conversation.stage();
    let setup = stage.setup();
    let agents = stage.cast().agents().iter();
    let title = match &setup.format {
        // Others may have been handed over to; whoever was not is no part of it.
        FormatSetup::Collaboration(Settings { mode: Mode::Single, speaker, .. }) => {
            let called = agents.filter(|agent| agent.name == *speaker);
            format!("Call to {}", called.map(named).collect::<String>())
        }
        format => {
            let name = format.name();
            let between: Vec<String> = agents.map(named).collect();
            format!("{}{} between {}", name[..1].to_uppercase(), &name[1..], between.join(" and "))
        }
    };
    format!("{mark}{title}\n{}, session {}\n", stage.started_at(), setup.id)
}

fn named(agent: &Agent) -> String {
    format!("{} ({})", agent.name, agent.model)
}
