//! JSON lines on standard output: the journal's events, last the result.

use super::View;
use crate::{format::Left, output};
use polylogue_core::{Conversation, Record, id::AskId, projection::Outcome};

#[derive(Default)]
pub(crate) struct Json {
    /// Where to look for the files that the session leaves.
    pub(crate) left: Option<Left>,
}

impl View for Json {
    fn open(&mut self, _: &Conversation) {}

    fn record(&mut self, record: &Record, _: &Conversation) {
        output::json(record);
    }

    fn delta(&mut self, _: &AskId, _: &str, _: &Conversation) {}

    fn close(&mut self, conversation: &Conversation) {
        let mut outcome = serde_json::to_value(Outcome::of(conversation)).expect("a result has string keys");
        if let Some(output) = self.left.as_ref().and_then(|left| left(conversation)) {
            outcome["outputPath"] = output.to_string_lossy().into();
        }
        output::json(&outcome);
    }
}
