//! What to do next, told at the end of a session to a person at a terminal: where the files are, and the commands
//! that go on from here.

use std::io::{IsTerminal, stdout};

use polylogue_core::{
    Conversation, Ending, Reason,
    line::ClipState,
    projection::{self, Outcome, RESULT_FILE},
};

use crate::{
    args::Common,
    artifacts,
    config::{self, Config},
    format, output,
    printable::width,
    view::Style,
};

/// What a script that runs the program says of how a person calls it: `./start`, for one.
const CALLED_AS: &str = "POLYLOGUE_CALLED_AS";

/// How many commands are named.
const MOST: usize = 3;

pub(crate) struct Guide {
    is_wanted: bool,
    /// How the program is called here.
    program: String,
    /// What a command has to repeat to find the same store and the same agents.
    flags: String,
    /// What one has to repeat that only reads.
    reading_flags: String,
    artifacts: config::Artifacts,
}

impl Guide {
    pub(crate) fn new(common: &Common, config: &Config) -> Guide {
        let flag = |name: &str, value: Option<String>| value.map(|value| format!(" {name} {}", quoted(&value)));
        let path = common.config.as_ref().map(|path| path.display().to_string());
        let (own, usual) = (flag("--config", path), Config::default());
        let store = common.store.as_deref().map(polylogue_store::without_password);
        let store = flag("--store", store).unwrap_or_default();
        let is_usual = config.store.url == usual.store.url && config.artifacts == usual.artifacts;
        let reading = own.as_deref().filter(|_| !is_usual).unwrap_or_default();
        Guide {
            is_wanted: stdout().is_terminal() && !common.json,
            program: std::env::var(CALLED_AS).unwrap_or_else(|_| "polylogue".to_owned()),
            reading_flags: format!("{reading}{store}"),
            flags: format!("{}{store}", own.as_deref().unwrap_or_default()),
            artifacts: config.artifacts.clone(),
        }
    }

    /// Tells it after the last line of a session.
    pub(crate) fn tell(&self, conversation: &Conversation) {
        if !self.is_wanted {
            return;
        }
        let style = Style::of_stdout();
        let has_files = !Outcome::of(conversation).artifacts.is_empty();
        if let Some(place) = artifacts::place(&self.artifacts, conversation.stage().setup().id, has_files) {
            output::line(style.remark(&format!("files: {place}")));
            if projection::result(conversation).is_some() {
                output::line(style.remark(&format!("the result is {RESULT_FILE} there")));
            }
        }
        let complete = |command: &String| {
            let flags = if is_reading(command) { &self.reading_flags } else { &self.flags };
            format!("{} {command}{flags}", self.program)
        };
        let commands: Vec<String> = commands(conversation).iter().map(complete).collect();
        let in_one_line = format!("next: {}", commands.join(" · "));
        // A command that is broken across lines cannot be copied.
        let text = if width(&in_one_line) <= style.width() {
            in_one_line
        } else {
            format!("next:\n  {}", commands.join("\n  "))
        };
        output::line(style.dim(&text));
    }
}

/// At most three commands that go on from how the session stands, the likeliest first.
fn commands(conversation: &Conversation) -> Vec<String> {
    let stage = conversation.stage();
    let format = format::named(stage.setup().format.name());
    let own = format.map(|format| format.next(conversation)).unwrap_or_default();
    if format.is_some_and(|format| !format.is_conversation()) {
        return own;
    }
    let ending = stage.ended().map(|reason| reason.ending());
    let mut commands = Vec::new();
    match (ending, conversation.bound()) {
        (Some(Ending::UsedUp), Some(bound)) => {
            commands.push(format!("sessions resume last --max-rounds {}", bound.saturating_mul(2)));
        }
        (Some(Ending::BrokenOff), _) => {
            commands.push("sessions resume last".to_owned());
            // What one model cannot do, another may.
            if stage.ended() == Some(Reason::FAILED) {
                commands.push("sessions resume last --model MODEL".to_owned());
            }
        }
        (Some(_) | None, _) => {}
    }
    if stage.transcript().lines().iter().any(|line| matches!(line.clip, ClipState::Made(_))) {
        commands.push("sessions export last --as wav".to_owned());
    }
    commands.extend(own);
    if ending.is_some() {
        commands.push("sessions replay last".to_owned());
    }
    commands.truncate(MOST);
    commands
}

/// Whether a command asks no agent, so that it need not know where they are configured.
fn is_reading(command: &str) -> bool {
    ["sessions replay", "sessions export", "sessions show", "discuss show"].iter().any(|read| command.starts_with(read))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
