//! Records what a model answers as a strict script.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::setup::ModelRef;
use polylogue_runtime::port::{Admission, Bound, Call, CallError, Model, Reply};
use serde_json::Value;

use super::file::{Entry, File, ScriptedReply, Span};

/// Passes every call on to a model, and writes request and reply to a file.
pub struct Recorder {
    model: Arc<dyn Model>,
    path: PathBuf,
    file: Mutex<File>,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Begins a new recording; a file of that name is replaced.
    pub fn new(model: Arc<dyn Model>, path: PathBuf) -> std::io::Result<Recorder> {
        let file = File { strict: true, ..File::default() };
        file.write(&path)?;
        Ok(Recorder { model, path, file: Mutex::new(file) })
    }

    fn note(&self, call: &Call, reply: &Reply) -> std::io::Result<()> {
        let id = &call.ask.id;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.replies.push(Entry {
            agent: Some(id.agent.clone()),
            purpose: Some(id.purpose),
            turn: Some(id.turn),
            attempt: Some(id.attempt),
            contains: None,
            request: Some(call.ask.request.to_string()),
            delay: Span::default(),
            pace: Span::default(),
            fail: None,
            reply: ScriptedReply(Value::String(reply.text.to_string())),
            usage: reply.usage,
            full: reply.is_full,
        });
        file.write(&self.path)
    }
}

#[async_trait]
impl Model for Recorder {
    async fn admit(&self, call: &Call) -> Admission {
        self.model.admit(call).await
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let reply = self.model.answer(call).await?;
        self.note(call, &reply)
            .map_err(|error| CallError::Unavailable(format!("the recording cannot be written: {error}")))?;
        Ok(reply)
    }

    fn bound(&self, model: &ModelRef) -> Option<Bound> {
        self.model.bound(model)
    }

    fn first_token(&self, model: &ModelRef, asked: Option<Duration>) -> Duration {
        self.model.first_token(model, asked)
    }
}
