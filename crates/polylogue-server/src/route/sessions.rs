//! `/v1/sessions`: the recorded conversations.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use polylogue_core::{
    Conversation, Reason,
    id::{AgentId, Seq, SessionId},
    projection::{self, Outcome},
    setup::{Change, Note},
    text::printable::{printable, printable_json},
};
use polylogue_runtime::HubError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use crate::{
    app::App,
    caller::Caller,
    error::{Code, ErrorBody, Refusal},
    json::Body,
    schema::{described, stand_ins},
    stream,
};

described!(sent: Stopped, Begun);
described!(taken: Fork, Resume);

/// What the routes answer with that core writes.
mod body {
    super::stand_ins!(Outcome = polylogue_core::projection::Outcome,
        SessionStreamEvent = crate::stream::StreamEvent<polylogue_core::Record, crate::stream::Nowhere>,
    );
}

/// One of them: what was said, by whom, what it cost, why it ended
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "showSession",
    params(("id" = String, Path, format = "uuid")), responses(
    (status = 200, body = body::Outcome), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Outcome>, Refusal> {
    Ok(Json(app.hub.outcome(&conversation(&app, &id).await?).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// Only what comes after this sequence number; `Last-Event-ID` goes before it.
    pub(crate) from: Option<u64>,
    /// Whether words are sent as they are written, in events `delta` and `waiting` without an id
    #[serde(default)]
    pub(crate) live: bool,
}

/// Its journal, as it is and as it goes on
#[utoipa::path(get, path = "/v1/sessions/{id}/events", tag = "sessions", operation_id = "followSession",
    params(("id" = String, Path, format = "uuid"), After,
        ("Last-Event-ID" = Option<u64>, Header, description = "Only what comes after this record")),
    responses(
        (status = 200, description = "Records of the journal; ends after the session's last",
            content_type = "text/event-stream", body = body::SessionStreamEvent),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    from: Result<Query<After>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let id = find(&id)?;
    let After { from, live } = query(from)?;
    let after = stream::place(&headers, from)?;
    caller.setup_of(&app, id).await?;
    Ok(stream::journal(&app, id, after, live))
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stopped {
    #[schemars(with = "SessionId")]
    session_id: String,
    reason: Reason,
}

/// Stop it: what is under way is dropped, what had arrived is kept
#[utoipa::path(post, path = "/v1/sessions/{id}/stop", tag = "sessions", operation_id = "stopSession",
    params(("id" = String, Path, format = "uuid")), responses(
    (status = 200, body = Stopped), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn stop(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Stopped>, Refusal> {
    let session = find(&id)?;
    let reason = app.hub.stop(session).await?;
    Ok(Json(Stopped { session_id: session.to_string(), reason }))
}

/// Remove it, with its clips and files. What was forked from it stays
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "deleteSession",
    params(("id" = String, Path, format = "uuid")), responses(
    (status = 204, description = "It is gone"),
    (status = 409, description = "It runs, or its files are just being made: stop it first", body = ErrorBody),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn delete(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Refusal> {
    app.hub.delete(find(&id)?).await.map_err(|error| match error {
        HubError::Running | HubError::Elsewhere => {
            Refusal::new(Code::Conflict, "the session is running: stop it before it is deleted")
        }
        error => error.into(),
    })?;
    Ok(StatusCode::NO_CONTENT)
}

/// Where a new session goes its own way.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ForkRequest")]
pub(super) struct Fork {
    /// The last record that both share
    #[schemars(range(min = 1))]
    at: u64,
    /// Another number of rounds, where the format counts them
    max_rounds: Option<u32>,
    /// What the line at that record reads instead
    edit: Option<String>,
    /// What agents are told before their next turn
    #[serde(default)]
    notes: Vec<NoteRequest>,
    /// Who agents are from there on, by their names
    #[serde(default)]
    personas: BTreeMap<AgentId, String>,
    /// What plays agents from there on, by their names
    #[serde(default)]
    models: BTreeMap<AgentId, String>,
    /// Whether lines become clips
    speech: Option<bool>,
}

/// Something that an agent is told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NoteRequest {
    /// Whom it is for; left out, it is for all
    to: Option<AgentId>,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Begun {
    #[schemars(with = "SessionId")]
    session_id: String,
}

impl Begun {
    pub(crate) fn of(id: SessionId) -> Begun {
        Begun { session_id: id.to_string() }
    }
}

/// Go on from an earlier place as a new session
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", tag = "sessions", operation_id = "forkSession",
    params(("id" = String, Path, format = "uuid")),
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
    let personas = fork.personas.into_iter().map(|(agent, persona)| (agent, persona.into()));
    let change = Change {
        recast: app.house.recast(fork.models)?,
        max_rounds: fork.max_rounds,
        edit: fork.edit.map(Into::into),
        notes: fork.notes.into_iter().map(|NoteRequest { to, text }| Note { to, text: text.into() }).collect(),
        personas: personas.collect(),
        speech: fork.speech,
        ..Change::default()
    };
    app.hub.fork(id, Seq(fork.at), new_id, change).await?;
    app.metrics.sessions_started.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Ok((StatusCode::ACCEPTED, Json(Begun::of(new_id))))
}

/// What may be different from here on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ResumeRequest")]
pub(super) struct Resume {
    /// Another number of rounds or beats, where the format counts them
    max_rounds: Option<u32>,
    /// Whether lines become clips
    speech: Option<bool>,
}

/// Go on with one that was stopped, that met a bound, or whose process ended
#[utoipa::path(post, path = "/v1/sessions/{id}/resume", tag = "sessions", operation_id = "resumeSession",
    params(("id" = String, Path, format = "uuid")),
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
    app.hub.resume(id, Change { max_rounds: resume.max_rounds, speech: resume.speech, ..Change::default() }).await?;
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
#[utoipa::path(get, path = "/v1/sessions/{id}/transcript", tag = "sessions", operation_id = "readTranscript",
    params(("id" = String, Path, format = "uuid"), As),
    responses(
        (status = 200, description = "The transcript", content(
            (String = "text/plain"), (String = "text/markdown"), (String = "text/vtt"),
            (body::Outcome = "application/json"))),
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
        Form::Json => {
            let json = json!(app.hub.outcome(&conversation).await?).to_string();
            return Ok(([(header::CONTENT_TYPE, "application/json")], printable_json(json)).into_response());
        }
    };
    Ok(([(header::CONTENT_TYPE, kind)], printable(&text).into_owned()).into_response())
}

/// What was made in the session, as a file of its own
#[utoipa::path(get, path = "/v1/sessions/{id}/result", tag = "sessions", operation_id = "readResult",
    params(("id" = String, Path, format = "uuid")),
    responses(
        (status = 200, description = "The finished work, to be saved", content((String = "text/markdown"))),
        (status = "4XX", description = "`NOT_FOUND` where the session made none, or has not finished it",
            body = ErrorBody),
        (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn result(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Refusal> {
    let conversation = conversation(&app, &id).await?;
    let result = projection::result(&conversation);
    let result =
        result.ok_or_else(|| Refusal::not_found("the session has come to no result that it could hand out"))?;
    let first: String = conversation.stage().setup().id.to_string().chars().take(8).collect();
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"result-{first}.md\"")),
    ];
    Ok((headers, format!("{}\n", result.trim_end())).into_response())
}

/// When what is said in the clips, one after the other.
fn captions(conversation: &Conversation) -> String {
    projection::vtt(&projection::timeline(&projection::audible(conversation)))
}

async fn conversation(app: &App, id: &str) -> Result<Conversation, Refusal> {
    Ok(app.hub.conversation(find(id)?).await?)
}

/// The session of that address. What is no id at all names no session either.
pub(crate) fn find(id: &str) -> Result<SessionId, Refusal> {
    id.parse().map_err(|_| Refusal::not_found("there is no such session: its id is a UUID"))
}

pub(crate) fn query<T: DeserializeOwned>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    query.map(|Query(query)| query).map_err(|rejection| Refusal::request(rejection.body_text()))
}
