//! The conversation on a terminal: the lines on standard output, what is going on on standard error.

use polylogue_core::{
    Conversation, Event, Record,
    id::AskId,
    projection::{Costs, Outcome},
    text::reply,
};

use super::{StatusLine, Style, View, clips_in_words, costs_in_words, opening, state};
use crate::{output, printable::tail};

pub(crate) struct Terminal {
    style: Style,
    status: StatusLine,
    asked: Option<AskId>,
    /// What the one who is asked waits for, while no model works on it.
    waits_for: Option<String>,
    arriving: String,
    shown_lines: usize,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        Terminal {
            style: Style::of_stdout(),
            status: StatusLine::new(),
            asked: None,
            waits_for: None,
            arriving: String::new(),
            shown_lines: 0,
        }
    }

    /// Something that is no line of the conversation.
    pub(crate) fn aside(&self, text: &str) {
        output::line(format!("{}\n", self.style.remark(&format!("[{text}]"))));
    }

    fn show_status(&self, conversation: &Conversation) {
        let costs = costs_in_words(&Costs::of(conversation));
        let clips = clips_in_words(conversation);
        let Some(ask) = &self.asked else {
            return self.status.show(&[format!("{} · {costs}", clips.as_deref().unwrap_or("…"))]);
        };
        let doing = match &self.waits_for {
            Some(what) => format!("is waiting for {what}"),
            None if self.arriving.is_empty() => "is thinking".to_owned(),
            None => "is writing".to_owned(),
        };
        let name = self.style.bold(ask.agent.as_str());
        let clips = clips.map(|clips| format!(" · {clips}")).unwrap_or_default();
        let doing = format!("{name} {doing} · {}{clips} · {costs}", conversation.counter(ask));
        let tail = tail(&self.arriving, self.style.width().saturating_sub(6));
        let tail = (!tail.is_empty()).then(|| self.style.dim(&tail));
        self.status.show(&[doing].into_iter().chain(tail).collect::<Vec<_>>());
    }
}

impl View for Terminal {
    fn tell(&mut self, conversation: &Conversation) {
        opening::tell(conversation, self.style, |agent| agent.name.as_str());
    }

    fn open(&mut self, conversation: &Conversation) {
        let stage = conversation.stage();
        // What was said before is not said again.
        let has_past = stage.head().0 > 1;
        self.shown_lines = if has_past { stage.transcript().lines().len() } else { 0 };
        self.status.start();
    }

    fn record(&mut self, record: &Record, conversation: &Conversation) {
        match &record.event {
            Event::Asked { ask, .. } => (self.asked, self.waits_for) = (Some(ask.clone()), None),
            Event::Answered { .. } | Event::AskFailed { .. } | Event::AskCut { .. } => {
                self.arriving.clear();
                self.asked = None;
            }
            _ => {}
        }
        if let Event::AskFailed { ask, failure, .. } = &record.event {
            self.aside(&format!("{} could not answer: {}", ask.agent, failure.message));
        }
        if let Event::AskCut { ask, partial, .. } = &record.event
            && let Some(text) = reply::preview(partial).filter(|text| !text.trim().is_empty())
        {
            self.aside(&format!("{} was saying: {} —", ask.agent, text.trim_end()));
        }
        let lines = conversation.stage().transcript().lines();
        for line in &lines[self.shown_lines.min(lines.len())..] {
            output::line(self.style.line(line, conversation));
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

    fn stopping(&mut self) {
        self.status.stopping();
    }

    fn close(&mut self, conversation: &Conversation) {
        self.status.clear();
        let stage = conversation.stage();
        let costs = costs_in_words(&Costs::of(conversation));
        let state = state(conversation, Outcome::of(conversation).status);
        let session = self.style.session(stage.setup().id);
        output::line(self.style.remark(&format!("{state} · {costs} · session {session}")));
    }
}
