//! What the server asks of the process that set it up: who can take part here, and how a session is made of a
//! request.

use std::any::Any;

use async_trait::async_trait;
use polylogue_core::{Setup, id::SessionId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Refusal;

/// Knows the agents, voices and models of this process.
#[async_trait]
pub trait House: Send + Sync {
    /// The setup of a new session.
    async fn setup(&self, request: Request) -> Result<Setup, Refusal>;

    /// A new id for a session.
    fn new_session_id(&self) -> Result<SessionId, Refusal>;

    fn agents(&self) -> Vec<AgentInfo>;
    fn voices(&self) -> Vec<VoiceInfo>;
    fn models(&self) -> Vec<ModelInfo>;

    /// Lines that the log could not take.
    fn log_lines_dropped(&self) -> u64 {
        0
    }
}

/// What is needed to begin a session of one format.
pub trait FormatRequest: Any + Send {
    /// The name of the format.
    const FORMAT: &'static str;
}

/// What is needed to begin a session of any format.
pub struct Request {
    format: &'static str,
    what: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Request").field(&self.format).finish()
    }
}

impl Request {
    pub fn new<R: FormatRequest>(request: R) -> Request {
        Request { format: R::FORMAT, what: Box::new(request) }
    }

    pub fn format(&self) -> &'static str {
        self.format
    }

    /// The request as its format knows it.
    pub fn open<R: FormatRequest>(self) -> Option<R> {
        self.what.downcast().ok().map(|request| *request)
    }
}

#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    pub name: String,
    pub model: Option<String>,
    pub voice: Option<String>,
    /// Whether it can be used as things are.
    pub available: bool,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VoiceInfo {
    pub name: String,
    pub description: String,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub name: String,
    pub available: bool,
}
