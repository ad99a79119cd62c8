//! JSON lines on standard output: the journal's events, last the result.

use std::path::PathBuf;

use super::View;
use crate::output;
use polylogue_core::{Conversation, Record, id::AskId, projection::Outcome};

#[derive(Default)]
pub(crate) struct Json {
    /// Where the files of the session are, if it leaves some.
    pub(crate) output: Option<PathBuf>,
}

impl View for Json {
    fn open(&mut self, _: &Conversation) {}

    fn record(&mut self, record: &Record, _: &Conversation) {
        output::json(record);
    }

    fn delta(&mut self, _: &AskId, _: &str, _: &Conversation) {}

    fn close(&mut self, conversation: &Conversation) {
        let mut outcome = serde_json::to_value(Outcome::of(conversation)).expect("a result has string keys");
        if let Some(output) = &self.output {
            outcome["outputPath"] = output.to_string_lossy().into();
        }
        output::json(&outcome);
    }
}
