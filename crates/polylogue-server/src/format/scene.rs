//! `/v1/scenes`: a scene file is played, to be watched as a session.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use polylogue_core::format::{
    Format,
    scene::{self, PlayedScene, SceneReport},
};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    error::{Code, ErrorBody, Refusal},
    house::{FormatRequest, Request},
    json::Body,
    route::sessions::{Begun, find},
};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(begin)).routes(routes!(report))
}

/// What is needed to play a scene.
#[derive(Clone, Debug)]
pub struct SceneRequest {
    /// The scene file, as it came.
    pub file: Value,
    /// Characters in Markdown that came along, by their names.
    pub agents: BTreeMap<String, String>,
}

impl FormatRequest for SceneRequest {
    const FORMAT: &'static str = scene::Settings::NAME;
}

/// A scene file, and its characters where they are not the house's own. The process that plays it reads the
/// fields: they are listed here for those who write one.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "it only describes")]
struct SceneFile {
    #[schema(max_length = 100, example = "quick-apology")]
    name: String,
    /// Context and goals
    #[schema(max_length = 20_000, example = "Bob apologizes to Alice for being late. Alice accepts.")]
    prompt: String,
    /// Two to five, by the names of their files
    #[schema(min_items = 2, max_items = 5, example = json!(["alice", "bob"]))]
    characters: Vec<String>,
    /// Who plays the first beat alone
    initial_speaker: Option<String>,
    /// After how many beats it ends at the latest; 50 if left out
    #[schema(minimum = 1, maximum = 1000)]
    max_beats: Option<u32>,
    goal: Option<String>,
    setting: Option<String>,
    /// The language that the characters speak
    language: Option<String>,
    /// `thread` or `fresh`
    agent_mode: Option<String>,
    /// The moderator's model, or `{"model", "fallback"}`
    #[schema(value_type = Option<Object>)]
    moderator: Option<Value>,
    /// `auto`, `off`, or a list of `{"beat", "text"}`
    #[schema(value_type = Option<Object>)]
    events: Option<Value>,
    /// The story that it is part of: its characters remember the scenes before
    story: Option<String>,
    /// `on` or `off`
    #[schema(value_type = Option<Object>)]
    memory: Option<Value>,
    seed: Option<u64>,
    /// Whether lines become clips
    speech: Option<bool>,
    /// Characters in Markdown, by their names; those that are not here are the house's own
    agents: Option<BTreeMap<String, String>>,
}

/// Play a scene
#[utoipa::path(post, path = "/v1/scenes", tag = "scenes", request_body = SceneFile, responses(
    (status = 202, description = "It plays: `/v1/sessions/{id}/events` shows it live", body = Begun),
    (status = "4XX", description = "`INVALID_CONFIG` names everything that is wrong with the file, \
        `CHARACTER_LOAD_ERROR` the character that is not there", body = ErrorBody),
    (status = "5XX", body = ErrorBody),
))]
async fn begin(State(app): State<App>, Body(mut file): Body<Value>) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let agents = file.as_object_mut().and_then(|file| file.remove("agents"));
    let agents = match agents {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(agents) => serde_json::from_value(agents)
            .map_err(|_| Refusal::request("`agents` must be an object: the Markdown of a character under its name"))?,
    };
    let setup = app.house.setup(Request::new(SceneRequest { file, agents })).await?;
    let id = app.hub.start(setup).await?;
    app.metrics.sessions_started.fetch_add(1, Ordering::Relaxed);
    Ok((StatusCode::ACCEPTED, Json(Begun::of(id))))
}

/// How a scene goes, in figures: moods, relationships, progress and costs, beat by beat
#[utoipa::path(get, path = "/v1/sessions/{id}/scene", tag = "scenes", params(("id" = String, Path)), responses(
    (status = 200, description = "What `metadata.json` holds, while it plays too", body = Object),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn report(State(app): State<App>, Path(id): Path<String>) -> Result<Json<SceneReport>, Refusal> {
    let records = app.hub.records(find(&id)?).await?;
    let played = PlayedScene::of(&records);
    let played = played.ok_or_else(|| Refusal::new(Code::Conflict, "the session is not a scene"))?;
    Ok(Json(SceneReport::of(&played)))
}
