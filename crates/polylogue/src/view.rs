//! What a person or a program sees of a session while it runs: lines as they are said.

mod json;
mod lanes;
mod terminal;

use polylogue_core::{Conversation, Record, id::AskId};

use crate::args::Common;

/// Shows a session.
pub(crate) trait View: Send {
    /// Before the first record; the conversation may have a past.
    fn open(&mut self, conversation: &Conversation);

    /// A record, and the conversation after it.
    fn record(&mut self, record: &Record, conversation: &Conversation);

    /// Text of a reply that is still arriving.
    fn delta(&mut self, ask: &AskId, text: &str, conversation: &Conversation);

    /// After the last record.
    fn close(&mut self, conversation: &Conversation);
}

pub(crate) fn new(common: &Common) -> Box<dyn View> {
    if common.json { Box::new(json::Json) } else { Box::new(terminal::Terminal::new()) }
}

/// The view of a chorus, where several speak at once.
pub(crate) fn chorus(common: &Common) -> Box<dyn View> {
    if common.json { Box::new(json::Json) } else { Box::new(lanes::Lanes::new()) }
}

pub(crate) use terminal::{Style, costs_in_words, state};
