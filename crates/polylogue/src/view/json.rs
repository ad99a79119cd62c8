//! JSON lines on standard output: the journal's events, last the result.

use polylogue_core::{Conversation, Record, id::AskId, projection::Outcome};
use serde::Serialize;

use super::View;

pub(super) struct Json;

impl View for Json {
    fn open(&mut self, _: &Conversation) {}

    fn record(&mut self, record: &Record, _: &Conversation) {
        print(record);
    }

    fn delta(&mut self, _: &AskId, _: &str, _: &Conversation) {}

    fn close(&mut self, conversation: &Conversation) {
        print(&Outcome::of(conversation));
    }
}

fn print(value: &impl Serialize) {
    println!("{}", serde_json::to_string(value).expect("records and results have string keys"));
}
