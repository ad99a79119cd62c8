//! The finished work of a collaboration, as it is handed to the person: a file of its own.

use std::sync::Arc;

use super::Settings;
use crate::{
    Conversation, Record,
    id::SessionId,
    projection::{self, RESULT_FILE},
};

/// What a collaboration came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    pub session: SessionId,
    /// Markdown, where the agents used any.
    pub text: Arc<str>,
}

impl Finished {
    /// The work of a whole journal; `None` unless it is a collaboration that ended with one.
    pub fn of(records: &[Record]) -> Option<Finished> {
        let conversation = Conversation::replay(records).ok()?;
        let setup = conversation.stage().setup();
        setup.format.settings::<Settings>()?;
        let text = projection::result(&conversation)?;
        Some(Finished { session: setup.id, text })
    }

    /// As the file has it, which ends with a line end.
    pub fn file(&self) -> String {
        format!("{}\n", self.text.trim_end())
    }

    /// Where it lies, relative to the artifacts folder.
    pub fn path(session: SessionId) -> String {
        format!("tts/sessions/{session}/{RESULT_FILE}")
    }
}
