//! What the server asks of whoever set it up: who can take part here, and how a session is made of a request.

use std::collections::BTreeMap;

use async_trait::async_trait;
use polylogue_core::{
    Setup,
    format::collaboration::{Mode, Said},
    id::SessionId,
    room::RoomCall,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::Refusal;

/// Knows the agents, voices and models of this process.
#[async_trait]
pub trait House: Send + Sync {
    /// The setup of a new chorus.
    async fn chorus(&self, request: ChorusRequest) -> Result<Setup, Refusal>;

    /// The setup of a new discussion.
    async fn discussion(&self, request: DiscussionRequest) -> Result<Setup, Refusal>;

    /// The setup of a scene.
    async fn scene(&self, request: SceneRequest) -> Result<Setup, Refusal>;

    /// The setup of a new collaboration, or of a single call. Whoever is not known here is the caller's mistake.
    async fn collaboration(&self, request: CollaborationRequest) -> Result<Setup, Refusal>;

    /// A new id for a session.
    fn new_session_id(&self) -> Result<SessionId, Refusal>;

    fn agents(&self) -> Vec<AgentInfo>;
    fn voices(&self) -> Vec<VoiceInfo>;
    fn models(&self) -> Vec<ModelInfo>;
}

/// What is needed to begin a chorus.
#[derive(Clone, Debug)]
pub struct ChorusRequest {
    pub message: String,
    /// Who sits where; `None` when the caller leaves that to the house.
    pub slots: Option<Vec<SlotRequest>>,
    pub seed: Option<u64>,
    pub speech: Option<bool>,
}

/// What is needed to play a scene.
#[derive(Clone, Debug)]
pub struct SceneRequest {
    /// The scene file, as it came.
    pub file: Value,
    /// Characters in Markdown that came along, by their names.
    pub agents: BTreeMap<String, String>,
}

/// What is needed to begin a collaboration, or a single call.
#[derive(Clone, Debug)]
pub struct CollaborationRequest {
    pub goal: String,
    pub mode: Mode,
    /// Who takes part; `None` when the caller leaves that to the house. In a single call, whom the agent may hand
    /// over to.
    pub between: Option<Vec<String>>,
    /// Who speaks first; `None` when the caller leaves that to the house.
    pub speaker: Option<String>,
    pub max_rounds: Option<u32>,
    pub background: Vec<Said>,
    pub room: Option<RoomCall>,
}

/// An agent for a slot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlotRequest {
    #[schema(minimum = 1, maximum = 6)]
    pub slot_id: u8,
    /// An agent of the configuration, a built-in one, or a model by its name.
    #[schema(min_length = 1, max_length = 64, example = "gpt-4o")]
    pub agent_id: String,
}

/// What is needed to begin a discussion.
#[derive(Clone, Debug)]
pub struct DiscussionRequest {
    pub title: String,
    pub topic: Option<String>,
    /// In the order in which they speak.
    pub participants: Vec<ParticipantRequest>,
    pub max_rounds: Option<u32>,
}

/// Somebody who is to take part: an agent, or with the role `user` a person.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParticipantRequest {
    /// `manager`, `leader`, `user` or `specialist`
    #[schema(example = "manager")]
    pub role: String,
    /// An agent of the configuration, a built-in one, or a model by its name
    #[schema(max_length = 64, example = "gpt")]
    pub agent: Option<String>,
    /// What the agent is called in the discussion, where that is not its own name
    #[schema(max_length = 64)]
    pub name: Option<String>,
    /// The person who has this place; left out, whoever comes
    #[schema(max_length = 64)]
    pub user_id: Option<String>,
    #[serde(alias = "ai_model_config")]
    pub ai_model_config: Option<ModelConfigRequest>,
}

/// How an agent's model is to answer here, where that is not as usual.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelConfigRequest {
    pub model: Option<String>,
    /// What ends a reply [default: `[`, an empty line, and `Speaker:`]
    #[schema(max_items = 16)]
    pub stop: Option<Vec<String>>,
    #[schema(minimum = 0, maximum = 2)]
    pub temperature: Option<f64>,
    #[schema(minimum = 1)]
    pub max_tokens: Option<u32>,
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
