//! What a person or a program sees of a session while it runs: lines as they are said.

mod json;
mod lanes;
mod scene;
mod terminal;

use std::path::{Path, PathBuf};

use polylogue_core::{Conversation, Record, id::AskId, setup::FormatSetup};

use crate::{args::Common, scene::folder_of};

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
    if common.json { Box::new(json::Json::default()) } else { Box::new(terminal::Terminal::new()) }
}

/// The view of a chorus, where several speak at once.
pub(crate) fn chorus(common: &Common) -> Box<dyn View> {
    if common.json { Box::new(json::Json::default()) } else { Box::new(lanes::Lanes::new()) }
}

/// The view of a scene whose files go to this folder.
pub(crate) fn scene(common: &Common, folder: PathBuf) -> Box<dyn View> {
    match common.json {
        true => Box::new(json::Json { output: Some(folder) }),
        false => Box::new(scene::Scene::new(Some(folder))),
    }
}

/// The view of a session that goes on or is played again.
pub(crate) fn of(common: &Common, format: &FormatSetup, out: &Path) -> Box<dyn View> {
    match folder_of(out, format) {
        Some(folder) => self::scene(common, folder),
        None => new(common),
    }
}

pub(crate) use scene::in_style;
pub(crate) use terminal::{Style, costs_in_words, costs_of, state};
