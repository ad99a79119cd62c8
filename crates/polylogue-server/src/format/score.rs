//! `/v1/scores`: the scores that can be played here, whether one can be played, and to play one.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use polylogue_core::{
    Setup,
    format::{
        Format,
        score::{Bound, Problem, Score, Seat, Settings, read_text},
    },
    setup::Limits,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    error::{ErrorBody, Refusal},
    house::{FormatRequest, Request},
    json::Body,
    route::sessions::Begun,
    schema::described,
};

/// Something to try a score with, where nothing is said.
const ANYTHING: &str = "A question.";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(check)).routes(routes!(play))
}

/// What is needed to play a score.
#[derive(Clone, Debug)]
pub struct ScoreRequest {
    pub name: String,
    /// The score itself, where it was sent along.
    pub text: Option<String>,
    pub message: String,
    /// Who has the seats, by role.
    pub seats: BTreeMap<String, Vec<String>>,
    pub settings: BTreeMap<String, Value>,
    /// Whether it is only tried, and not played.
    pub is_tried: bool,
}

impl FormatRequest for ScoreRequest {
    const FORMAT: &'static str = Settings::NAME;
}

described!(sent: Scores, Checked);
described!(taken: Play, Check);

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Scores {
    scores: Vec<Offered>,
    /// One to begin with, where one of one's own is to be called `NAME`
    blank: String,
    /// Whether one that comes with the request is played
    allow_sent: bool,
}

/// A score that can be played.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfferedScore")]
struct Offered {
    name: String,
    /// Whether it is the house's own, and not one that comes along
    is_own: bool,
    score: Score,
    /// As it is written
    text: String,
}

/// One agent or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ScoreSeats")]
enum Names {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PlayRequest")]
struct Play {
    /// What it is about
    #[schemars(length(min = 1, max = 20_000))]
    message: String,
    /// Who has the seats, by role; the score's own where a role is left out
    #[serde(default)]
    seats: BTreeMap<String, Names>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
    /// The score itself, as YAML or JSON, where the operator allows it
    #[serde(default)]
    score: Option<Value>,
}

/// A score that is looked at: one that is here by its name, or one that is sent along.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CheckScoreRequest")]
struct Check {
    #[serde(default)]
    name: Option<String>,
    /// The score itself, as YAML or JSON
    #[serde(default)]
    score: Option<Value>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    seats: BTreeMap<String, Names>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
}

/// What a score is worth.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CheckedScore")]
struct Checked {
    /// Everything that is wrong with it; none when it can be played
    problems: Vec<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<Score>,
    /// Who would have the seats
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seats: Vec<Seat>,
    /// The most that it can come to with them
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
    /// Which limits are below that
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short: Vec<String>,
}

/// The scores that can be played here
#[utoipa::path(get, path = "/v1/scores", tag = "scores", operation_id = "listScores", responses(
    (status = 200, body = Scores), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn list(State(app): State<App>) -> Result<Json<Scores>, Refusal> {
    let offer = app.house.offer(Settings::NAME).await.map(serde_json::from_value).transpose();
    Ok(Json(offer.map_err(|_| Refusal::internal("a score cannot be shown"))?.unwrap_or_default()))
}

/// Whether a score can be played, and the most that it can come to; nothing is played
#[utoipa::path(post, path = "/v1/scores/check", tag = "scores", operation_id = "checkScore",
    request_body = Check, responses(
    (status = 200, body = Checked), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn check(State(app): State<App>, Body(check): Body<Check>) -> Result<Json<Checked>, Refusal> {
    let Check { name, score, message, seats, settings } = check;
    let text = score.as_ref().map(text_of).transpose()?;
    // A score that is large takes a while to look at.
    let sent = text.clone();
    let read = tokio::task::spawn_blocking(move || sent.as_deref().map(read_text));
    let read = read.await.map_err(|_| Refusal::internal("the score could not be looked at"))?;
    let name = match (read, name) {
        (Some(Err(problems)), _) => return Ok(Json(Checked { problems, ..Checked::default() })),
        (Some(Ok(score)), _) => score.name.to_string(),
        (None, Some(name)) => name,
        (None, None) => return Err(Refusal::request("nothing is looked at: send `name` or `score`")),
    };
    let message = message.filter(|message| !message.trim().is_empty()).unwrap_or_else(|| ANYTHING.to_owned());
    let request = ScoreRequest { name, text, message, seats: by_role(seats), settings, is_tried: true };
    let setup = app.house.setup(Request::new(request)).await;
    let bounded = match setup {
        Ok(setup) => tokio::task::spawn_blocking(move || bounded(&setup)).await,
        Err(refusal) => match refusal.of_the_request() {
            Some(problem) => return Ok(Json(unplayable(problem.to_owned()))),
            None => return Err(refusal),
        },
    };
    Ok(Json(bounded.map_err(|_| Refusal::internal("the score could not be looked at"))?))
}

fn bounded(setup: &Setup) -> Checked {
    let Some(settings) = setup.format.settings::<Settings>() else { return Checked::default() };
    let bound = match setup.check().and_then(|()| Bound::of(settings, &setup.cast)) {
        Ok(bound) => bound,
        Err(problem) => return unplayable(problem.to_string()),
    };
    let (score, seats, short) = ((*settings.score).clone(), settings.seats.clone(), short(&bound, &setup.limits));
    Checked { problems: Vec::new(), score: Some(score), seats, bound: Some(bound), short }
}

fn unplayable(message: String) -> Checked {
    Checked { problems: vec![Problem { line: None, phase: None, message }], ..Checked::default() }
}

fn short(bound: &Bound, limits: &Limits) -> Vec<String> {
    let mut short = Vec::new();
    if bound.tokens > limits.max_tokens {
        short.push(format!("{} tokens", limits.max_tokens));
    }
    if bound.cost.is_some_and(|cost| cost > limits.max_usd) {
        short.push(limits.max_usd.to_string());
    }
    short
}

/// Play a score
#[utoipa::path(post, path = "/v1/scores/{name}", tag = "scores", operation_id = "playScore",
    params(("name" = String, Path)),
    request_body = Play, responses(
    (status = 202, description = "It plays: `/v1/sessions/{id}/events` shows it live", body = Begun),
    (status = "4XX", description = "`INVALID_CONFIG` names everything that is wrong with a score that was sent",
        body = ErrorBody),
    (status = "5XX", body = ErrorBody),
))]
async fn play(
    State(app): State<App>,
    Path(name): Path<String>,
    Body(play): Body<Play>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let Play { message, seats, settings, score } = play;
    let text = score.as_ref().map(text_of).transpose()?;
    let request = ScoreRequest { name, text, message, seats: by_role(seats), settings, is_tried: false };
    let setup = app.house.setup(Request::new(request)).await?;
    let id = app.hub.start(setup).await?;
    app.metrics.sessions_started.fetch_add(1, Ordering::Relaxed);
    Ok((StatusCode::ACCEPTED, Json(Begun::of(id))))
}

fn by_role(seats: BTreeMap<String, Names>) -> BTreeMap<String, Vec<String>> {
    let names = |names: Names| match names {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    };
    seats.into_iter().map(|(role, of)| (role, names(of))).collect()
}

/// A score as text: as it was written, or as the JSON that it came in.
fn text_of(score: &Value) -> Result<String, Refusal> {
    match score {
        Value::String(text) => Ok(text.clone()),
        Value::Object(_) => Ok(score.to_string()),
        _ => Err(Refusal::request("`score` is a text or an object")),
    }
}
