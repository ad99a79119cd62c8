//! Who can take part here, how they can sound, and what can think.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    house::{AgentInfo, ModelInfo, VoiceInfo},
};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Agents {
    agents: Vec<AgentInfo>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Voices {
    voices: Vec<VoiceInfo>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Models {
    models: Vec<ModelInfo>,
}

/// Who can take part
#[utoipa::path(get, path = "/v1/agents", tag = "catalog", responses((status = 200, body = Agents)))]
pub(super) async fn agents(State(app): State<App>) -> Json<Agents> {
    Json(Agents { agents: app.house.agents() })
}

/// The voice profiles
#[utoipa::path(get, path = "/v1/voices", tag = "catalog", responses((status = 200, body = Voices)))]
pub(super) async fn voices(State(app): State<App>) -> Json<Voices> {
    Json(Voices { voices: app.house.voices() })
}

/// What can think
#[utoipa::path(get, path = "/v1/models", tag = "catalog", responses((status = 200, body = Models)))]
pub(super) async fn models(State(app): State<App>) -> Json<Models> {
    Json(Models { models: app.house.models() })
}
