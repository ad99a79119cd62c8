//! Who can take part here, how they can sound, what can think, and what to begin with.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    app::App,
    error::ErrorBody,
    house::{AgentInfo, CharacterInfo, ModelInfo, Ready, VoiceInfo},
    schema::described,
};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Agents {
    agents: Vec<AgentInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Voices {
    voices: Vec<VoiceInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Models {
    models: Vec<ModelInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Characters {
    characters: Vec<CharacterInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Examples {
    /// By the name of the format: what its own route takes
    examples: Map<String, Value>,
}

described!(sent: Agents, Voices, Models, Characters, Examples, Ready);

/// Who can take part
#[utoipa::path(get, path = "/v1/agents", tag = "catalog", operation_id = "listAgents", responses(
    (status = 200, body = Agents), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn agents(State(app): State<App>) -> Json<Agents> {
    Json(Agents { agents: app.house.agents() })
}

/// The voice profiles
#[utoipa::path(get, path = "/v1/voices", tag = "catalog", operation_id = "listVoices", responses(
    (status = 200, body = Voices), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn voices(State(app): State<App>) -> Json<Voices> {
    Json(Voices { voices: app.house.voices() })
}

/// What can think
#[utoipa::path(get, path = "/v1/models", tag = "catalog", operation_id = "listModels", responses(
    (status = 200, body = Models), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn models(State(app): State<App>) -> Json<Models> {
    Json(Models { models: app.house.models() })
}

/// The characters that are written down here
#[utoipa::path(get, path = "/v1/characters", tag = "catalog", operation_id = "listCharacters", responses(
    (status = 200, body = Characters), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn characters(State(app): State<App>) -> Json<Characters> {
    Json(Characters { characters: app.house.characters().await })
}

/// What can be begun to see how it goes, one for a format
#[utoipa::path(get, path = "/v1/examples", tag = "catalog", operation_id = "listExamples", responses(
    (status = 200, body = Examples), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn examples(State(app): State<App>) -> Json<Examples> {
    Json(Examples { examples: app.house.examples() })
}

/// What thinks and speaks here, and what to do about the rest
#[utoipa::path(get, path = "/v1/ready", tag = "catalog", operation_id = "showReady", responses(
    (status = 200, body = Ready), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn ready(State(app): State<App>) -> Json<Ready> {
    Json(app.house.ready().await)
}
