//! `/v1/scenes`: a scene file is played, to be watched as a session.

mod story;

use std::{collections::BTreeMap, sync::atomic::Ordering};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use polylogue_core::{
    format::{
        Format,
        scene::{self, AgentMode, Floor, PlayedScene, SceneReport, Scheduled, TranscriptForm},
    },
    id::AgentId,
    setup::Note,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    caller::{Caller, setup},
    error::{Code, ErrorBody, Refusal},
    house::{FormatRequest, Request},
    json::Body,
    route::sessions::{Begun, find},
    schema::{described, stand_ins},
};

/// What the routes answer with that core writes.
mod body {
    super::stand_ins!(SceneReport = polylogue_core::format::scene::SceneReport);
}

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(begin)).routes(routes!(report)).routes(routes!(direct)).merge(story::routes())
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
/// fields: they are listed here for those who write one, and a test beside the reader holds this list to it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "it only describes")]
struct SceneFile {
    #[schemars(length(max = 100), example = "quick-apology")]
    name: String,
    /// Context and goals
    #[schemars(length(max = 20_000), example = "Bob apologizes to Alice for being late. Alice accepts.")]
    prompt: String,
    /// Two to five, by the names of their files, or as people who play them
    #[schemars(length(min = 2, max = 5), example = ["alice", "bob"])]
    characters: Vec<SceneCharacter>,
    /// For how many seconds a person is waited for when everybody else has had their turn; 120 if left out, and with 0
    /// or `none` however long it takes
    patience: Option<Patience>,
    /// Who plays the first beat alone
    initial_speaker: Option<String>,
    /// After how many beats it ends at the latest; 50 if left out
    #[schemars(range(min = 1, max = 1000))]
    max_beats: Option<u32>,
    /// Where the scene ends; what stands after `Scene goal:` in the prompt if left out
    goal: Option<String>,
    /// Whether the characters are told the goal; they are if left out
    goal_known: Option<Switch>,
    /// What only one character knows, by character
    briefs: Option<BTreeMap<String, String>>,
    /// How the characters speak
    #[schemars(length(max = 20_000), example = "dry, subtext, short lines")]
    style: Option<String>,
    floor: Option<Floor>,
    transcript: Option<TranscriptForm>,
    setting: Option<String>,
    /// The language that the characters speak
    language: Option<String>,
    agent_mode: Option<AgentMode>,
    moderator: Option<SceneModerator>,
    events: Option<SceneEvents>,
    /// The story that it is part of: its characters remember the scenes before
    story: Option<String>,
    memory: Option<Switch>,
    seed: Option<u64>,
    /// Whether lines become clips
    speech: Option<Switch>,
    /// Whether a further voice reads what happens and what can be seen
    narrator: Option<SceneNarrator>,
    /// Characters in Markdown, by their names; those that are not here are the house's own
    agents: Option<BTreeMap<String, String>>,
}

/// A character that a model plays, by the name of its file, or one that a person plays.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it only describes")]
enum SceneCharacter {
    Name(String),
    Person(PersonOnStage),
}

/// A person, and the character that they play: without `plays`, one of their own name.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "it only describes")]
struct PersonOnStage {
    person: String,
    plays: Option<String>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it only describes")]
enum Patience {
    Seconds(#[schemars(range(max = 604_800))] u32),
    Unbounded(Unbounded),
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "it only describes")]
enum Unbounded {
    None,
}

/// The moderator's model, or both its model and who stands in for it.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it only describes")]
enum SceneModerator {
    Model(String),
    Models { model: Option<String>, fallback: Option<String> },
}

/// Whether there is one, or the voice profile that it reads with.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it only describes")]
enum SceneNarrator {
    Given(bool),
    Voice(String),
}

/// From the moderator (`auto`), none (`off`), or these.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it only describes")]
enum SceneEvents {
    Source(EventSource),
    Given(bool),
    At(Vec<Scheduled>),
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "it only describes")]
enum EventSource {
    Auto,
    Off,
}

/// A switch, as a word or as true and false.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it only describes")]
enum Switch {
    Word(OnOff),
    Value(bool),
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "it only describes")]
enum OnOff {
    On,
    Off,
}

described!(taken: SceneFile);

/// Play a scene
#[utoipa::path(post, path = "/v1/scenes", tag = "scenes", operation_id = "playScene",
    request_body = SceneFile, responses(
    (status = 202, description = "It plays: `/v1/sessions/{id}/events` shows it live", body = Begun),
    (status = "4XX", description = "`INVALID_CONFIG` names everything that is wrong with the file, \
        `CHARACTER_LOAD_ERROR` the character that is not there", body = ErrorBody),
    (status = "5XX", body = ErrorBody),
))]
async fn begin(
    State(app): State<App>,
    caller: Caller,
    Body(mut file): Body<Value>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let agents = file.as_object_mut().and_then(|file| file.remove("agents"));
    let agents = match agents {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(agents) => serde_json::from_value(agents)
            .map_err(|_| Refusal::request("`agents` must be an object: the Markdown of a character under its name"))?,
    };
    // What another's characters remember is none of theirs.
    if let Some(story) = file.get("story").and_then(Value::as_str).map(|story| caller.own(story)) {
        file["story"] = story.into();
    }
    let setup = setup(&app, &caller, Request::new(SceneRequest { file, agents })).await?;
    let id = app.hub.start(setup).await?;
    app.metrics.sessions_started.fetch_add(1, Ordering::Relaxed);
    Ok((StatusCode::ACCEPTED, Json(Begun::of(id))))
}

/// How a scene goes, in figures: moods, relationships, progress and costs, beat by beat
#[utoipa::path(get, path = "/v1/sessions/{id}/scene", tag = "scenes", operation_id = "showScene",
    params(("id" = String, Path, format = "uuid")), responses(
    (status = 200, description = "What `metadata.json` holds, while it plays too", body = body::SceneReport),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn report(State(app): State<App>, Path(id): Path<String>) -> Result<Json<SceneReport>, Refusal> {
    let records = app.hub.records(find(&id)?).await?;
    let played = PlayedScene::of(&records);
    let played = played.ok_or_else(|| Refusal::new(Code::Conflict, "the session is not a scene"))?;
    Ok(Json(SceneReport::of(&played)))
}

described!(taken: Direct);

/// What a director wants.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "DirectRequest")]
struct Direct {
    /// A note to the characters, which the transcript does not show
    #[schemars(length(min = 1, max = 2000))]
    note: Option<String>,
    /// Whom the note is for alone; left out, it is for all
    to: Option<AgentId>,
    /// Something that happens in the world
    #[schemars(length(min = 1, max = 2000))]
    event: Option<String>,
}

/// Direct a scene that is being played
#[utoipa::path(post, path = "/v1/sessions/{id}/direct", tag = "scenes", operation_id = "directScene",
    params(("id" = String, Path, format = "uuid")),
    request_body = Direct, responses(
        (status = 202, description = "It is recorded, and heard from the next update on", body = Begun),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
async fn direct(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(direct): Body<Direct>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let id = find(&id)?;
    if direct.note.is_none() && direct.event.is_none() {
        return Err(Refusal::request("nothing is directed: name `note` or `event`"));
    }
    let Direct { note, to, event } = direct;
    let note = note.map(|text| Note { to, text: text.into() });
    app.hub.propose(id, scene::Decision::directed(note, event.as_deref())).await?;
    Ok((StatusCode::ACCEPTED, Json(Begun::of(id))))
}
