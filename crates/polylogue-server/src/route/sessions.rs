//! `/v1/sessions`: the recorded conversations.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use polylogue_core::{
    Conversation, Event, Reason, Setup,
    id::{Seq, SessionId},
    projection::{self, Outcome},
    setup::Change,
};
use polylogue_runtime::port::Summary;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use crate::{
    app::App,
    error::{ErrorBody, Refusal},
    json::Body,
    stream,
};

/// A session in the list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    session_id: String,
    format: String,
    title: String,
    /// `running`, `waiting` for a person, `left` by its process so that nobody runs it, or `ended`
    status: &'static str,
    /// Whether it ended those who went on with it, so that nobody does any more unless it is resumed by hand
    is_left_alone: bool,
    #[schema(value_type = Option<String>)]
    reason: Option<Reason>,
    started_at: String,
    last_at: String,
    /// How many records its journal has.
    head: u64,
}

impl From<Summary> for Listed {
    fn from(summary: Summary) -> Listed {
        let (status, is_left_alone) = (summary.status().as_str(), summary.is_left_alone());
        Listed {
            session_id: summary.id.to_string(),
            format: summary.format,
            title: summary.title,
            status,
            is_left_alone,
            reason: summary.reason,
            started_at: summary.started_at.to_string(),
            last_at: summary.last_at.to_string(),
            head: summary.head.0,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct List {
    sessions: Vec<Listed>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Limit {
    /// How many at most
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl Limit {
    pub(crate) fn checked(self) -> Result<usize, Refusal> {
        let limit = self.limit.unwrap_or(100);
        let is_good = (1..=1_000).contains(&limit);
        if is_good { Ok(limit) } else { Err(Refusal::request("`limit` must be from 1 to 1000")) }
    }
}

/// The recorded conversations, the newest first
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(Limit), responses(
    (status = 200, body = List), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn list(
    State(app): State<App>,
    limit: Result<Query<Limit>, QueryRejection>,
) -> Result<Json<List>, Refusal> {
    let sessions = app.journal.sessions(query(limit)?.checked()?).await?;
    Ok(Json(List { sessions: sessions.into_iter().map(Listed::from).collect() }))
}

/// One of them: what was said, by whom, what it cost, why it ended
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path)), responses(
    (status = 200, body = Object), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Outcome>, Refusal> {
    Ok(Json(app.hub.outcome(&conversation(&app, &id).await?).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// Only what comes after this sequence number; `Last-Event-ID` goes before it.
    pub(crate) from: Option<u64>,
}

/// Its journal, as it is and as it goes on
#[utoipa::path(get, path = "/v1/sessions/{id}/events", tag = "sessions",
    params(("id" = String, Path), After,
        ("Last-Event-ID" = Option<u64>, Header, description = "Only what comes after this record")),
    responses(
        (status = 200, description = "Records of the journal; ends after the session's last",
            content_type = "text/event-stream", body = serde_json::Value),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn events(
    State(app): State<App>,
    Path(id): Path<String>,
    from: Result<Query<After>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let id = find(&id)?;
    let after = stream::place(&headers, query(from)?.from)?;
    setup_of(&app, id).await?;
    Ok(stream::journal(&app, id, after))
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stopped {
    session_id: String,
    #[schema(value_type = String)]
    reason: Reason,
}

/// Stop it: what is under way is dropped, what had arrived is kept
#[utoipa::path(post, path = "/v1/sessions/{id}/stop", tag = "sessions", params(("id" = String, Path)), responses(
    (status = 200, body = Stopped), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn stop(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Stopped>, Refusal> {
    let session = find(&id)?;
    let reason = app.hub.stop(session).await?;
    Ok(Json(Stopped { session_id: session.to_string(), reason }))
}

/// Where a new session goes its own way.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Fork {
    /// The last record that both share
    #[schema(minimum = 1)]
    at: u64,
    /// Another number of rounds, where the format counts them
    max_rounds: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Begun {
    session_id: String,
}

impl Begun {
    pub(crate) fn of(id: SessionId) -> Begun {
        Begun { session_id: id.to_string() }
    }
}

/// Go on from an earlier place as a new session
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", tag = "sessions", params(("id" = String, Path)),
    request_body = Fork, responses(
        (status = 202, body = Begun), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn fork(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(fork): Body<Fork>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let (id, new_id) = (find(&id)?, app.house.new_session_id()?);
    let change = Change { max_rounds: fork.max_rounds, ..Change::default() };
    app.hub.fork(id, Seq(fork.at), new_id, change).await?;
    app.metrics.sessions_started.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Ok((StatusCode::ACCEPTED, Json(Begun::of(new_id))))
}

/// What may be different from here on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Resume {
    /// Another number of rounds or beats, where the format counts them
    max_rounds: Option<u32>,
}

/// Go on with one that was stopped, that met a bound, or whose process ended
#[utoipa::path(post, path = "/v1/sessions/{id}/resume", tag = "sessions", params(("id" = String, Path)),
    request_body = Resume, responses(
        (status = 202, body = Begun), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn resume(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(resume): Body<Resume>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let id = find(&id)?;
    app.hub.resume(id, Change { max_rounds: resume.max_rounds, ..Change::default() }).await?;
    Ok((StatusCode::ACCEPTED, Json(Begun::of(id))))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct As {
    /// The form [default: txt]
    #[serde(rename = "as", default)]
    #[param(inline)]
    form: Form,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    #[default]
    Txt,
    Md,
    Json,
    Vtt,
}

/// What was said, to be read
#[utoipa::path(get, path = "/v1/sessions/{id}/transcript", tag = "sessions", params(("id" = String, Path), As),
    responses(
        (status = 200, description = "The transcript", content(
            (String = "text/plain"), (String = "text/markdown"), (String = "text/vtt"), (Object = "application/json"))),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn transcript(
    State(app): State<App>,
    Path(id): Path<String>,
    form: Result<Query<As>, QueryRejection>,
) -> Result<Response, Refusal> {
    let conversation = conversation(&app, &id).await?;
    let (kind, text) = match query(form)?.form {
        Form::Txt => ("text/plain; charset=utf-8", projection::plain_text(&conversation)),
        Form::Md => ("text/markdown; charset=utf-8", projection::markdown(&conversation)),
        Form::Vtt => ("text/vtt; charset=utf-8", captions(&conversation)),
        Form::Json => ("application/json", json!(app.hub.outcome(&conversation).await?).to_string()),
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// When what is said in the clips, one after the other.
fn captions(conversation: &Conversation) -> String {
    let lines = projection::audible(conversation.stage().transcript());
    projection::vtt(&projection::timeline(&lines))
}

async fn conversation(app: &App, id: &str) -> Result<Conversation, Refusal> {
    Ok(app.hub.conversation(find(id)?).await?)
}

/// What a session was set up with. Only its first record is read.
pub(crate) async fn setup_of(app: &App, id: SessionId) -> Result<Arc<Setup>, Refusal> {
    let first = app.journal.read(id, Seq::START, 1).await?.pop();
    let first = first.ok_or_else(|| Refusal::not_found(format!("there is no session {id}")))?;
    match &first.event {
        Event::Started { setup, .. } => Ok(setup.clone()),
        _ => Err(Refusal::internal("a journal begins with something else than its start")),
    }
}

/// The session of that address. What is no id at all names no session either.
pub(crate) fn find(id: &str) -> Result<SessionId, Refusal> {
    id.parse().map_err(|_| Refusal::not_found("there is no such session: its id is a UUID"))
}

pub(crate) fn query<T: DeserializeOwned>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    query.map(|Query(query)| query).map_err(|rejection| Refusal::request(rejection.body_text()))
}
