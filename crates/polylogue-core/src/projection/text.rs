//! The transcript as people read it.

use std::{fmt::Write, sync::Arc};

use crate::{
    Conversation,
    id::AgentId,
    line::{Line, LineForm, Speaker},
    setup::Agent,
};

/// Plain text, as it would be printed.
pub fn plain_text(conversation: &Conversation) -> String {
    if let Some(text) = conversation.stage().setup().format.plain_text(conversation) {
        return text;
    }
    written(conversation, "", |line| match line.kind.form() {
        LineForm::Words => format!("{}: {}", addressed(conversation, line), line.text),
        LineForm::Act => format!("{} *{}*", speaker(conversation, line), line.text),
        LineForm::Direction => format!("[{}]", directed(line)),
        LineForm::Aside(heading) => format!("[{heading}: {}]", line.text),
    })
}

pub fn markdown(conversation: &Conversation) -> String {
    if let Some(text) = conversation.stage().setup().format.markdown(conversation) {
        return text;
    }
    written(conversation, "# ", |line| match line.kind.form() {
        LineForm::Words => format!("**{}:** {}", addressed(conversation, line), line.text),
        LineForm::Act => format!("**{}** *{}*", speaker(conversation, line), line.text),
        LineForm::Direction => format!("> {}", directed(line).replace('\n', "\n> ")),
        LineForm::Aside(_) => format!("> *{}*", line.text),
    })
}

fn written(conversation: &Conversation, mark: &str, block: impl Fn(&Line) -> String) -> String {
    let mut text = heading(conversation, mark);
    for line in conversation.stage().transcript().lines() {
        let _ = write!(text, "\n{}\n", block(line));
    }
    for what in conversation.stage().unread() {
        let _ = write!(text, "\n[Not readable here, written by a newer Polylogue: {what}]\n");
    }
    text
}

/// What the file with a session's result is called, among the files of the session.
pub const RESULT_FILE: &str = "result.md";

/// What was made in the session, where that is a text of its own and it is finished: the work itself, without what
/// was said on the way to it.
pub fn result(conversation: &Conversation) -> Option<Arc<str>> {
    conversation.stage().setup().format.result(conversation)
}

/// A speaker with whom the line is for.
fn addressed(conversation: &Conversation, line: &Line) -> String {
    let speaker = speaker(conversation, line);
    match &line.to {
        Some(to) => format!("{speaker} to {}", called(conversation, to)),
        None => speaker,
    }
}

fn speaker(conversation: &Conversation, line: &Line) -> String {
    match &line.speaker {
        Speaker::Agent(agent) => called(conversation, agent),
        speaker => speaker.to_string(),
    }
}

fn called(conversation: &Conversation, agent: &AgentId) -> String {
    let format = &conversation.stage().setup().format;
    format.called(agent).map_or_else(|| agent.to_string(), str::to_owned)
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
    let title = setup.format.heading(stage.cast()).unwrap_or_else(|| {
        let mut name = setup.format.name().to_owned();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let named = |agent: &Agent| format!("{} ({})", called(conversation, &agent.name), agent.model.shown());
        let between: Vec<String> = stage.cast().agents().iter().map(named).collect();
        format!("{name} between {}", between.join(" and "))
    });
    format!("{mark}{title}\n{}, session {}\n", stage.started_at(), setup.id)
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or("")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(super::grouped(number), text);
        }
    }
}
