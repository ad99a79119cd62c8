//! What the server asks of the process that set it up: who can take part here, and how a session is made of a
//! request.

use std::{any::Any, collections::BTreeMap};

use async_trait::async_trait;
use polylogue_core::{
    Setup,
    id::{AgentId, SessionId},
    setup::Recast,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

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

    /// The characters that are written down here.
    async fn characters(&self) -> Vec<CharacterInfo> {
        Vec::new()
    }

    /// Something to begin with, by the name of its format.
    fn examples(&self) -> Map<String, Value> {
        Map::new()
    }

    /// What sessions of a format can begin from here, where that is written down.
    async fn offer(&self, _format: &str) -> Option<Value> {
        None
    }

    /// What thinks and speaks here.
    async fn ready(&self) -> Ready {
        Ready { models: Vec::new(), voices: Vec::new() }
    }

    /// Agents by their names, with the models that are to play them.
    fn recast(&self, models: BTreeMap<AgentId, String>) -> Result<Vec<Recast>, Refusal> {
        match models.is_empty() {
            true => Ok(Vec::new()),
            false => Err(Refusal::request("no other models can be chosen here")),
        }
    }

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

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    pub name: String,
    pub model: Option<String>,
    pub voice: Option<String>,
    /// Whether it can be used as things are.
    pub available: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VoiceInfo {
    pub name: String,
    pub description: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub name: String,
    pub available: bool,
}

/// A character as its author wrote it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CharacterInfo {
    pub name: String,
    pub description: Option<String>,
    pub markdown: String,
}

/// What thinks and speaks here, and what would have to be done about the rest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ready {
    pub models: Vec<Standing>,
    pub voices: Vec<Standing>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Standing")]
pub struct Standing {
    /// A provider of models, or an engine of speech.
    pub name: String,
    pub works: bool,
    /// What works, or what to do.
    pub says: String,
}
