//! What to do next, told at the end of a session to a person at a terminal: where the files are, and the commands
//! that go on from here.

use std::{
    io::{IsTerminal, stdout},
    path::PathBuf,
};

use polylogue_core::{Conversation, Ending, line::ClipState};

use crate::{args::Common, config::Config, format, output, printable::width, view::Style};

/// Where the clips and manifests of sessions are, below the artifacts.
const SESSIONS: &str = "tts/sessions";

pub(crate) struct Guide {
    is_wanted: bool,
    /// What a command has to repeat to find the same store and the same agents.
    flags: String,
    artifacts: PathBuf,
}

impl Guide {
    pub(crate) fn new(common: &Common, config: &Config) -> Guide {
        let flag = |name: &str, value: Option<String>| value.map(|value| format!(" {name} {}", quoted(&value)));
        let path = common.config.as_ref().map(|path| path.display().to_string());
        let flags = [flag("--config", path), flag("--store", common.store.clone())];
        Guide {
            is_wanted: stdout().is_terminal() && !common.json,
            flags: flags.into_iter().flatten().collect(),
            artifacts: config.artifacts.dir.clone(),
        }
    }

    /// Tells it after the last line of a session.
    pub(crate) fn tell(&self, conversation: &Conversation) {
        if !self.is_wanted {
            return;
        }
        let style = Style::of_stdout();
        let folder = self.artifacts.join(SESSIONS).join(conversation.stage().setup().id.to_string());
        if folder.is_dir() {
            output::line(style.dim(&format!("files: {}", folder.display())));
        }
        let commands: Vec<String> =
            commands(conversation).iter().map(|command| format!("polylogue {command}{}", self.flags)).collect();
        let in_one_line = format!("next: {}", commands.join(" · "));
        // A command that is broken across lines cannot be copied.
        let text = if width(&in_one_line) <= style.width() { in_one_line } else { commands.join("\n") };
        output::line(style.dim(&text));
    }
}

/// Two or three commands that go on from how the session stands.
fn commands(conversation: &Conversation) -> Vec<String> {
    let stage = conversation.stage();
    let format = format::named(stage.setup().format.name());
    let mut commands: Vec<String> = format.map(|format| format.next(conversation)).unwrap_or_default();
    let ending = stage.ended().map(|reason| reason.ending());
    if let (Some(Ending::UsedUp), Some(bound)) = (ending, conversation.bound()) {
        commands.push(format!("sessions resume last --max-rounds {}", bound.saturating_mul(2)));
    }
    match ending {
        Some(Ending::BrokenOff) => commands.push("sessions resume last".to_owned()),
        Some(Ending::Limit) => commands.push("sessions show last".to_owned()),
        Some(Ending::Complete | Ending::UsedUp | Ending::Unknown) => commands.push("sessions replay last".to_owned()),
        None => {}
    }
    if stage.transcript().lines().iter().any(|line| matches!(line.clip, ClipState::Made(_))) {
        commands.push("sessions export last --as wav".to_owned());
    }
    commands
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
