//! `/api/discussions`: orderly discussions for other programs. A message runs the agents up to the person's next
//! turn, and answers with the state.

mod stream;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use polylogue_core::{
    Event, Reason, Record, Setup,
    event::Origin,
    format::{
        self, Format,
        discussion::{self, Closing, Decision, DiscussionState, DiscussionStatus, Participant, Settings},
    },
    id::{PersonId, Seq, SessionId},
    setup::Change,
};
use polylogue_runtime::{
    HubError, Opened,
    port::{JournalError, Search, Summary},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    caller::{Caller, setup},
    error::{Code, ErrorBody, Refusal},
    house::{FormatRequest, Request},
    json::Body,
    route::{
        list::{Page, page},
        sessions::{find, query},
    },
    schema::{described, stand_ins},
    stream::place,
};

described!(sent: List);
described!(taken: Create, Say, Patch);

/// What the routes answer with that core writes.
mod body {
    super::stand_ins!(
        DiscussionState = polylogue_core::format::discussion::DiscussionState,
        DiscussionEvent = super::stream::DiscussionEvent,
    );
}

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, say, change))
}

/// What is needed to begin a discussion.
#[derive(Clone, Debug)]
pub struct DiscussionRequest {
    pub title: String,
    pub topic: Option<String>,
    /// In the order in which they speak.
    pub participants: Vec<ParticipantRequest>,
    pub max_rounds: Option<u32>,
    pub closing: Closing,
}

/// Somebody who is to take part: an agent, or with the role `user` a person.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParticipantRequest {
    /// `manager`, `leader`, `user` or `specialist`
    #[schemars(with = "discussion::Role")]
    pub role: String,
    /// An agent of the configuration, a built-in one, or a model by its name
    #[schemars(length(max = 64), example = &"gpt")]
    pub agent: Option<String>,
    /// What the agent is called in the discussion, where that is not its own name
    #[schemars(length(max = 64))]
    pub name: Option<String>,
    /// The person who has this place; left out, anybody who comes
    #[schemars(length(max = 64))]
    pub user_id: Option<String>,
    #[serde(alias = "ai_model_config")]
    pub ai_model_config: Option<ModelConfigRequest>,
}

/// How an agent's model is to answer here, where that is not as usual.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelConfigRequest {
    pub model: Option<String>,
    /// What ends a reply [default: `[`, an empty line, and `Speaker:`]
    #[schemars(length(max = 16))]
    pub stop: Option<Vec<String>>,
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
}

impl FormatRequest for DiscussionRequest {
    const FORMAT: &'static str = discussion::Settings::NAME;
}

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// How long a discussion that somebody begins at this moment takes to be begun.
const BEGINNING: Duration = Duration::from_secs(5);

/// A new discussion.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "DiscussionRequest")]
struct Create {
    #[schemars(length(min = 1, max = 200), example = "The roof")]
    title: String,
    /// What it is about, in more words; every agent is told
    #[serde(alias = "goal")]
    #[schemars(length(max = 20_000))]
    topic: Option<String>,
    /// In the order in which they speak
    #[schemars(length(min = 1, max = 32))]
    participants: Vec<ParticipantRequest>,
    #[schemars(range(min = 1, max = 1000))]
    max_rounds: Option<u32>,
    /// `decision`: after the rounds the leader, else the manager, else the last agent states what was decided
    closing: Option<Closing>,
}

/// Begin a discussion
///
/// Agents that come before the first person begin to speak at once; the answer does not wait for them.
#[utoipa::path(post, path = "/api/discussions", tag = "discussions", operation_id = "createDiscussion",
    request_body = Create,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body: the same discussion")),
    responses((status = 201, body = body::DiscussionState),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody))
)]
async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Body(create): Body<Create>,
) -> Result<(StatusCode, Json<DiscussionState>), Refusal> {
    let key = key(&headers)?;
    let Create { title, topic, participants, max_rounds, closing } = create;
    let closing = closing.unwrap_or_default();
    let request = DiscussionRequest { title, topic, participants, max_rounds, closing };
    let mut setup = setup(&app, &caller, Request::new(request)).await?;
    if let (Some(key), Some(settings)) = (key, setup.format.settings_mut::<Settings>()) {
        settings.key = Some(key.clone());
        setup.id = SessionId::of_key(&caller.own(&key));
        if let Ok(records) = app.hub.records(setup.id).await {
            return begun_before(&records, &setup);
        }
    }
    let id = match app.hub.start(setup.clone()).await {
        // Somebody else was faster with the same key, or is about to be: the first record tells.
        Err(HubError::Running | HubError::Elsewhere | HubError::Journal(JournalError::Fenced { .. })) => {
            let mut begins = app.hub.subscribe(setup.id, Seq::START);
            let problem = "the same key is being used at this moment: try again";
            let begun = timeout(BEGINNING, begins.next()).await;
            begun.map_err(|_| Refusal::new(Code::Conflict, problem))??;
            return begun_before(&app.hub.records(setup.id).await?, &setup);
        }
        other => other?,
    };
    app.metrics.sessions_started.fetch_add(1, Ordering::Relaxed);
    Ok((StatusCode::CREATED, Json(state(&app, id).await?)))
}

/// The discussion that the same key has led to before.
fn begun_before(records: &[Record], asked: &Setup) -> Result<(StatusCode, Json<DiscussionState>), Refusal> {
    let is_same = matches!(&records[0].event, Event::Started { setup, .. } if setup.format == asked.format);
    if !is_same {
        let problem = "the key was used for another discussion: a new one needs a new key";
        return Err(Refusal::new(Code::Conflict, problem));
    }
    Ok((StatusCode::CREATED, Json(DiscussionState::of(records).map_err(|_| none())?)))
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedDiscussion")]
struct Listed {
    #[schemars(with = "SessionId")]
    id: String,
    title: String,
    #[schemars(with = "DiscussionStatus")]
    status: &'static str,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    #[schemars(extend("format" = "date-time"))]
    updated_at: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DiscussionList")]
struct List {
    #[schemars(extend("const" = "success"))]
    status: &'static str,
    discussions: Vec<Listed>,
    /// What `before` takes for the page after this one; `null` where this is the last
    next: Option<String>,
}

/// The discussions, the newest first
#[utoipa::path(get, path = "/api/discussions", tag = "discussions", operation_id = "listDiscussions",
    params(Page), responses(
    (status = 200, body = List), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    wanted: Result<Query<Page>, QueryRejection>,
) -> Result<Json<List>, Refusal> {
    let (before, limit) = query(wanted)?.checked()?;
    let (format, tenant) = (Some(Settings::NAME.to_owned()), caller.sees_only().cloned());
    let search = Search { format, tenant, before, limit, ..Search::default() };
    let (sessions, next) = page(&app, search).await?;
    Ok(Json(List { status: "success", discussions: sessions.into_iter().map(Listed::from).collect(), next }))
}

impl From<Summary> for Listed {
    fn from(summary: Summary) -> Listed {
        let status = match summary.reason {
            None => DiscussionStatus::Active,
            Some(Reason::COMPLETED) => DiscussionStatus::Completed,
            Some(_) => DiscussionStatus::Paused,
        };
        Listed {
            id: summary.id.to_string(),
            title: summary.title,
            status: status.as_str(),
            created_at: summary.started_at.to_string(),
            updated_at: summary.last_at.to_string(),
        }
    }
}

/// A discussion as it stands
#[utoipa::path(get, path = "/api/discussions/{id}", tag = "discussions", operation_id = "showDiscussion",
    params(("id" = String, Path, format = "uuid")), responses(
    (status = 200, body = body::DiscussionState),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<DiscussionState>, Refusal> {
    Ok(Json(state(&app, find(&id)?).await?))
}

/// A person's message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "DiscussionMessage")]
struct Say {
    #[schemars(length(min = 1, max = 20_000))]
    message: String,
    /// Who speaks; may be left out where only one person takes part
    #[schemars(length(max = 64))]
    user_id: Option<String>,
    #[schemars(length(max = 64))]
    organization_id: Option<String>,
}

/// Say something, and hear what the agents say to it
///
/// Runs the agents up to the next turn of a person. Closing the connection does not stop them.
#[utoipa::path(post, path = "/api/discussions/{id}", tag = "discussions", operation_id = "sayInDiscussion",
    request_body = Say,
    params(("id" = String, Path, format = "uuid"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and message: said once"),
        ("Accept" = Option<String>, Header, description = "`text/event-stream`: turn by turn"),
        ("Last-Event-ID" = Option<u64>, Header, description = "With a key and a stream: only what comes after")),
    responses(
        (status = 200, description = "The state as `GET` answers it; or the events `entry`, and last `done` with the state",
            content((body::DiscussionState = "application/json"),
                (body::DiscussionEvent = "text/event-stream"))),
        (status = 409, description = "It is not this person's turn, or the discussion is paused or complete",
            body = ErrorBody),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
async fn say(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Body(said): Body<Say>,
) -> Result<Response, Refusal> {
    let (id, key) = (find(&id)?, key(&headers)?);
    let is_long = |id: &Option<String>| id.as_ref().is_some_and(|id| id.chars().count() > PersonId::MAX_CHARS);
    if is_long(&said.user_id) || is_long(&said.organization_id) {
        return Err(Refusal::request(format!("an id has at most {} characters", PersonId::MAX_CHARS)));
    }
    let heard = place(&headers, None)?;
    let Opened { records, conversation } = a_discussion(&app, id).await?;
    let before = before(&records, key.as_ref());
    let who = speaker(conversation.stage().cast().people(), said.user_id.as_deref())?;
    let organization_id = said.organization_id.map(Arc::from);
    let user_id = said.user_id.filter(|user_id| user_id != who.as_str()).map(Arc::from);
    let origin = Origin { key, user_id, organization_id };
    app.hub.say_from(conversation, who, said.message.trim().into(), origin).await?;
    if accepts_stream(&headers) {
        return Ok(stream::discussion(&app, id, before, heard));
    }
    app.hub.rest(id).await?;
    Ok(Json(state_after(&app, id, records).await?).into_response())
}

/// What is to be different.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "DiscussionPatch")]
struct Patch {
    /// `paused` or `active`
    #[schemars(extend("enum" = ["paused", "active", null]))]
    status: Option<String>,
    /// All of them, in the order in which they speak; only before anybody has spoken
    #[schemars(length(min = 1, max = 32))]
    participants: Option<Vec<ParticipantRequest>>,
}

/// Pause a discussion, go on with it, or change who takes part
#[utoipa::path(patch, path = "/api/discussions/{id}", tag = "discussions", operation_id = "changeDiscussion",
    params(("id" = String, Path, format = "uuid")),
    request_body = Patch,
    responses((status = 200, body = body::DiscussionState),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody))
)]
async fn change(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(patch): Body<Patch>,
) -> Result<Json<DiscussionState>, Refusal> {
    let id = find(&id)?;
    let wanted = patch.status.as_deref().map(|status| match status {
        "paused" => Ok(DiscussionStatus::Paused),
        "active" => Ok(DiscussionStatus::Active),
        _ => Err(Refusal::request("`status` can be set to `paused` or `active`")),
    });
    let wanted = wanted.transpose();
    let opened = a_discussion(&app, id).await?;
    let wanted = wanted?;
    if wanted.is_none() && patch.participants.is_none() {
        return Err(Refusal::request("nothing is to be changed: name `status` or `participants`"));
    }
    let records = opened.records.clone();
    let mut opened = Some(opened);
    if let Some(participants) = patch.participants {
        reseat(&app, opened.take().expect("it was read"), participants).await?;
    }
    match wanted {
        Some(DiscussionStatus::Paused) => pause(&app, id).await?,
        Some(DiscussionStatus::Active) => {
            let opened = match opened {
                Some(opened) => opened,
                None => app.hub.open(id).await?,
            };
            resume(&app, opened).await?;
        }
        Some(DiscussionStatus::Completed) | None => {}
    }
    Ok(Json(state_after(&app, id, records).await?))
}

async fn reseat(app: &App, opened: Opened, participants: Vec<ParticipantRequest>) -> Result<(), Refusal> {
    let settings = opened.conversation.stage().setup().format.settings::<Settings>().ok_or_else(none)?;
    let (title, max_rounds, closing) = (settings.title.to_string(), Some(settings.max_rounds), settings.closing);
    let request = DiscussionRequest { title, topic: None, participants, max_rounds, closing };
    let mut setup = app.house.setup(Request::new(request)).await?;
    let settings = setup.format.settings_mut::<Settings>();
    let settings = settings.ok_or_else(|| Refusal::internal("the house made no discussion"))?;
    let participants = std::mem::take(&mut settings.participants);
    let decision = format::Decision::new(Decision::Reseated { participants, cast: setup.cast });
    Ok(app.hub.propose(opened.conversation, decision).await?)
}

async fn pause(app: &App, id: SessionId) -> Result<(), Refusal> {
    match app.hub.stop(id).await? {
        Reason::COMPLETED => Err(Refusal::new(Code::Conflict, "the discussion is complete")),
        _ => Ok(()),
    }
}

async fn resume(app: &App, opened: Opened) -> Result<(), Refusal> {
    if opened.conversation.stage().ended().is_none() {
        return Ok(());
    }
    match app.hub.resume(opened.conversation, Change::default()).await {
        // Somebody else did it in this moment.
        Ok(()) | Err(HubError::Running | HubError::Journal(JournalError::Fenced { .. })) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn state(app: &App, id: SessionId) -> Result<DiscussionState, Refusal> {
    DiscussionState::of(&app.hub.records(id).await?).map_err(|_| none())
}

/// The discussion as it stands, of which these records were read before.
async fn state_after(app: &App, id: SessionId, mut records: Vec<Record>) -> Result<DiscussionState, Refusal> {
    let head = records.last().map_or(Seq::START, |record| record.seq);
    records.extend(app.hub.records_after(id, head).await?);
    DiscussionState::of(&records).map_err(|_| none())
}

/// A discussion as it was read. A session of another format is none.
async fn a_discussion(app: &App, id: SessionId) -> Result<Opened, Refusal> {
    let opened = app.hub.open(id).await?;
    let is_one = opened.conversation.stage().setup().format.is::<Settings>();
    if is_one { Ok(opened) } else { Err(none()) }
}

fn none() -> Refusal {
    Refusal::not_found("there is no such discussion")
}

/// The place before what was said with this key, or else the end.
fn before(records: &[Record], key: Option<&Arc<str>>) -> Seq {
    let is_it = |event: &Event| matches!(event, Event::HumanSpoke { origin, .. } if origin.key.as_ref() == key);
    let said = records.iter().find(|record| key.is_some() && is_it(&record.event));
    Seq(said.map_or(records.len() as u64, |record| record.seq.0 - 1))
}

/// Whose words these are: those of the person who is called so, or of the place that anybody may take.
fn speaker(people: &[PersonId], user_id: Option<&str>) -> Result<PersonId, Refusal> {
    let Some(user_id) = user_id else {
        return match people {
            [only] => Ok(only.clone()),
            [] => Err(Refusal::new(Code::Conflict, "no person takes part in this discussion")),
            _ => Err(Refusal::request("several people take part: say who speaks with `userId`")),
        };
    };
    let named = |name: &str| people.iter().find(|person| person.as_str() == name).cloned();
    named(user_id)
        .or_else(|| named(Participant::ANYBODY))
        .ok_or_else(|| Refusal::request(format!("`{user_id}` does not take part in this discussion")))
}

fn key(headers: &HeaderMap) -> Result<Option<Arc<str>>, Refusal> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = key.to_str().ok().map(str::trim).filter(|key| (1..=Settings::MAX_KEY_CHARS).contains(&key.len()));
    key.map(|key| Some(key.into()))
        .ok_or_else(|| Refusal::request("`Idempotency-Key` must be 1 to 200 plain characters"))
}

fn accepts_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    accepted
        .flat_map(|accept| accept.split(','))
        .any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream")))
}
