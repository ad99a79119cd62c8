//! The conversation on a terminal: the lines on standard output, what is going on on standard error.

use std::{
    io::{IsTerminal, stderr, stdout},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::{AnsiColors, OwoColorize};
use polylogue_core::{
    Conversation, Event, Record, Step,
    id::AskId,
    ledger::Account,
    line::{Line, LineForm, Speaker},
    projection::{Costs, Outcome, Status, grouped},
    text::reply,
};

use super::View;
use crate::output;

/// The longest lines that are comfortable to read.
const MAX_WIDTH: usize = 96;

/// How things are set: in colour and wrapped for a person, plain for a file or another program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    is_rich: bool,
    width: usize,
}

impl Style {
    pub(crate) fn of_stdout() -> Style {
        let is_rich = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Style { is_rich, width: textwrap::termwidth().min(MAX_WIDTH) }
    }

    pub(crate) fn width(self) -> usize {
        self.width
    }

    pub(crate) fn dim(self, text: &str) -> String {
        if self.is_rich { text.dimmed().to_string() } else { text.to_owned() }
    }

    pub(crate) fn is_rich(self) -> bool {
        self.is_rich
    }

    pub(crate) fn italic(self, text: &str) -> String {
        if self.is_rich { text.italic().to_string() } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        if self.is_rich { text.bold().to_string() } else { text.to_owned() }
    }

    /// A speaker's name in the speaker's colour.
    pub(crate) fn name(self, speaker: &Speaker, shown: &str, conversation: &Conversation) -> String {
        const HUES: [AnsiColors; 6] = [
            AnsiColors::Cyan,
            AnsiColors::Yellow,
            AnsiColors::Magenta,
            AnsiColors::Green,
            AnsiColors::Blue,
            AnsiColors::Red,
        ];
        if !self.is_rich {
            return shown.to_owned();
        }
        match speaker {
            Speaker::Agent(agent) => {
                let agents = conversation.stage().cast().agents();
                let place = agents.iter().position(|other| other.name == *agent).unwrap_or_default();
                shown.color(HUES[place % HUES.len()]).bold().to_string()
            }
            Speaker::Person(_) => shown.bold().to_string(),
            Speaker::Router | Speaker::Moderator => shown.dimmed().to_string(),
        }
    }

    /// A line of the conversation, with an empty line after it.
    pub(crate) fn line(self, line: &Line, conversation: &Conversation) -> String {
        match line.kind.form() {
            LineForm::Words | LineForm::Act => {
                let shown = format!("{}:", line.speaker);
                let name = self.name(&line.speaker, &shown, conversation);
                if !self.is_rich {
                    return format!("{name} {}\n", line.text);
                }
                format!("{name}\n{}\n", self.wrap(&line.text, "  "))
            }
            LineForm::Direction | LineForm::Aside(_) => {
                let text = match &line.to {
                    Some(to) => format!("→ {to}: {}", line.text),
                    None => line.text.to_string(),
                };
                if !self.is_rich {
                    return format!("[{text}]\n");
                }
                format!("{}\n", self.dim(&self.wrap(&text, "  ")))
            }
        }
    }

    pub(crate) fn wrap(self, text: &str, indent: &str) -> String {
        let options = textwrap::Options::new(self.width).initial_indent(indent).subsequent_indent(indent);
        textwrap::fill(text, options)
    }
}

pub(crate) struct Terminal {
    style: Style,
    /// What is going on, on standard error; hidden unless that is a terminal.
    status: ProgressBar,
    asked: Option<AskId>,
    /// What the one who is asked waits for, while no model works on it.
    waits_for: Option<String>,
    arriving: String,
    shown_lines: usize,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        let target = if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let status = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {msg}\n  {prefix}").expect("the template is well formed");
        status.set_style(style.tick_chars("·•●• "));
        Terminal {
            style: Style::of_stdout(),
            status,
            asked: None,
            waits_for: None,
            arriving: String::new(),
            shown_lines: 0,
        }
    }

    fn print(&self, text: &str) {
        self.status.suspend(|| output::line(text));
    }

    /// Something that is no line of the conversation.
    pub(crate) fn aside(&self, text: &str) {
        self.print(&self.style.dim(&format!("[{text}]\n")));
    }

    fn show_status(&self, conversation: &Conversation) {
        let Some(ask) = &self.asked else { return };
        let doing = match &self.waits_for {
            Some(what) => format!("is waiting for {what}"),
            None if self.arriving.is_empty() => "is thinking".to_owned(),
            None => "is writing".to_owned(),
        };
        let text = format!(
            "{} {doing} · {} · {}",
            self.style.bold(ask.agent.as_str()),
            conversation.counter(ask),
            costs_in_words(&Costs::of(conversation))
        );
        let one_line: String = self.arriving.split_whitespace().collect::<Vec<_>>().join(" ");
        let skip = one_line.chars().count().saturating_sub(self.style.width.saturating_sub(6));
        let tail: String = one_line.chars().skip(skip).collect();
        self.status.set_prefix(self.style.dim(&tail));
        self.status.set_message(text);
    }
}

impl View for Terminal {
    fn open(&mut self, conversation: &Conversation) {
        let stage = conversation.stage();
        // What was said before is not said again.
        let has_past = stage.head().0 > 1;
        self.shown_lines = if has_past { stage.transcript().lines().len() } else { 0 };
        self.status.enable_steady_tick(Duration::from_millis(150));
        let cast: Vec<String> =
            stage.cast().agents().iter().map(|agent| format!("{} ({})", agent.name, agent.model)).collect();
        let hint = format!("{}\nsession {} · Ctrl-C stops", cast.join(" and "), stage.setup().id);
        self.status.suspend(|| {
            if stderr().is_terminal() {
                output::notice(format!("{}\n", self.style.dim(&hint)));
            }
        });
    }

    fn record(&mut self, record: &Record, conversation: &Conversation) {
        match &record.event {
            Event::Asked { ask, .. } => (self.asked, self.waits_for) = (Some(ask.clone()), None),
            Event::Answered { .. } | Event::AskFailed { .. } | Event::AskCut { .. } => self.arriving.clear(),
            _ => {}
        }
        if let Event::AskFailed { ask, failure, .. } = &record.event {
            self.aside(&format!("{} could not answer: {}", ask.agent, failure.message));
        }
        if let Event::AskCut { ask, partial, .. } = &record.event
            && let Some(text) = reply::preview(partial).filter(|text| !text.trim().is_empty())
        {
            self.aside(&format!("{} was saying: {text} —", ask.agent));
        }
        let lines = conversation.stage().transcript().lines();
        for line in &lines[self.shown_lines.min(lines.len())..] {
            self.print(&self.style.line(line, conversation));
        }
        self.shown_lines = lines.len();
        self.show_status(conversation);
    }

    fn void(&mut self, ask: &AskId) {
        if self.asked.as_ref() == Some(ask) {
            self.arriving.clear();
        }
    }

    fn delta(&mut self, ask: &AskId, text: &str, conversation: &Conversation) {
        if self.asked.as_ref() == Some(ask) {
            self.arriving.push_str(text);
            self.show_status(conversation);
        }
    }

    fn waiting(&mut self, ask: &AskId, what: Option<&str>, conversation: &Conversation) {
        if self.asked.as_ref() == Some(ask) {
            self.waits_for = what.map(str::to_owned);
            self.arriving.clear();
            self.show_status(conversation);
        }
    }

    fn close(&mut self, conversation: &Conversation) {
        self.status.finish_and_clear();
        let stage = conversation.stage();
        let costs = costs_in_words(&Costs::of(conversation));
        output::line(self.style.dim(&format!(
            "{} · {costs} · session {}",
            state(conversation, Outcome::of(conversation).status),
            stage.setup().id
        )));
    }
}

/// How the session stands, in words.
pub(crate) fn state(conversation: &Conversation, status: Status) -> String {
    let awaited = || {
        conversation.next().into_iter().find_map(|step| match step {
            Step::AwaitHuman(person) => Some(person),
            Step::Ask(_) | Step::Speak(_) | Step::End(_) => None,
        })
    };
    match (conversation.stage().ended(), status) {
        (Some(reason), _) => format!("ended: {reason}"),
        (None, Status::Waiting) => match awaited() {
            Some(person) => format!("waiting for {person}"),
            None => "waiting".to_owned(),
        },
        (None, Status::Left) => {
            let id = conversation.stage().setup().id.to_string();
            format!("left: its process is gone · polylogue sessions resume {}", &id[..8])
        }
        (None, Status::Running | Status::Ended) => "running".to_owned(),
    }
}

/// What some calls cost.
pub(crate) fn costs_of(account: &Account) -> String {
    let costs = account.cost.map_or("price unknown".to_owned(), |usd| usd.to_string());
    format!("{} calls · {} tokens · {costs}", account.calls, grouped(account.usage.total()))
}

pub(crate) fn costs_in_words(costs: &Costs) -> String {
    let tokens = grouped(costs.total_tokens);
    match costs.estimated_usd {
        Some(usd) => format!("{tokens} tokens · {usd}"),
        None => format!("{tokens} tokens · price unknown"),
    }
}
