//! What a person or a program sees of a session while it runs: lines as they are said.

mod json;
mod keys;
pub(crate) mod opening;
mod status;
mod style;
mod terminal;
mod typing;
mod words;

use polylogue_core::{Conversation, Record, id::AskId};

/// Shows a session.
pub(crate) trait View: Send {
    /// Before a session that runs here is shown: who plays, and what there is to know of that.
    fn tell(&mut self, _conversation: &Conversation) {}

    /// Before the first record; the conversation may have a past.
    fn open(&mut self, conversation: &Conversation);

    /// A record, and the conversation after it.
    fn record(&mut self, record: &Record, conversation: &Conversation);

    /// What was shown of a reply that is still arriving is void.
    fn void(&mut self, _ask: &AskId) {}

    /// Words of a reply that is still arriving.
    fn delta(&mut self, ask: &AskId, text: &str, conversation: &Conversation);

    /// An ask waits for this before a model works on it, or waits no more.
    fn waiting(&mut self, _ask: &AskId, _what: Option<&str>, _conversation: &Conversation) {}

    /// A person who takes part is at this terminal. Where every key is read, the view shows what is typed.
    fn seat(&mut self, _has_keys: bool) {}

    /// What they have typed by now, while they are waited for.
    fn typed(&mut self, _draft: &str, _conversation: &Conversation) {}

    /// Somebody has said that it is to stop.
    fn stopping(&mut self) {}

    /// After the last record.
    fn close(&mut self, conversation: &Conversation);
}

pub(crate) use json::Json;
pub(crate) use keys::can_be_held;
pub(crate) use status::StatusLine;
pub(crate) use style::Style;
pub(crate) use terminal::Terminal;
pub(crate) use typing::{Typed, Typing};
pub(crate) use words::{calls, clips_in_words, costs_in_words, costs_of, state};
