//! A discussion on a terminal: as every conversation, and who had a turn and said nothing.

use polylogue_core::{Conversation, Record, format::discussion::Decision, id::AskId};

use crate::view::{Terminal, View};

pub(super) struct Turns(Terminal);

impl Turns {
    pub(super) fn new() -> Turns {
        Turns(Terminal::new())
    }
}

impl View for Turns {
    fn tell(&mut self, conversation: &Conversation) {
        self.0.tell(conversation);
    }

    fn open(&mut self, conversation: &Conversation) {
        self.0.open(conversation);
    }

    fn record(&mut self, record: &Record, conversation: &Conversation) {
        // A call that failed is told of by itself.
        if let Some(Decision::TurnTaken { turn, failure: Some(failure), .. }) = record.event.decided()
            && failure.kind.is_none()
        {
            self.0.aside(&format!("{} could not answer: {}", turn.participant.name(), failure.message));
        }
        if let Some(Decision::TurnTaken { closes: Some(closer), .. }) = record.event.decided() {
            self.0.aside(&format!("the rounds are over: {closer} states the decision"));
        }
        self.0.record(record, conversation);
    }

    fn void(&mut self, ask: &AskId) {
        self.0.void(ask);
    }

    fn delta(&mut self, ask: &AskId, text: &str, conversation: &Conversation) {
        self.0.delta(ask, text, conversation);
    }

    fn waiting(&mut self, ask: &AskId, what: Option<&str>, conversation: &Conversation) {
        self.0.waiting(ask, what, conversation);
    }

    fn stopping(&mut self) {
        self.0.stopping();
    }

    fn close(&mut self, conversation: &Conversation) {
        self.0.close(conversation);
    }
}
