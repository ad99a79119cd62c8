//! JSON lines on standard output: the journal's events, last the result.

use super::View;
use crate::output;
use polylogue_core::{Conversation, Record, id::AskId, projection::Outcome};

pub(super) struct Json;

impl View for Json {
    fn open(&mut self, _: &Conversation) {}

    fn record(&mut self, record: &Record, _: &Conversation) {
        output::json(record);
    }

    fn delta(&mut self, _: &AskId, _: &str, _: &Conversation) {}

    fn close(&mut self, conversation: &Conversation) {
        output::json(&Outcome::of(conversation));
    }
}
