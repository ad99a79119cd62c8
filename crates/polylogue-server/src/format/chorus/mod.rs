//! `POST /v1/chat`: a message to a chorus, and the stream of what follows.

mod stream;

use std::sync::{Arc, atomic::Ordering};

use axum::{
    extract::{Path, Query, State, rejection::QueryRejection},
    http::HeaderMap,
    response::Response,
};
use polylogue_core::{
    Setup,
    format::{Format, chorus},
    id::{PersonId, Seq, SessionId},
    setup::Change,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use self::stream::Until;
use crate::{
    app::App,
    caller::{Caller, setup},
    error::{Code, ErrorBody, Refusal},
    house::{FormatRequest, Request},
    json::Body,
    route::sessions::{After, find, query},
    schema::{described, stand_ins},
    stream::place,
};

described!(taken: Chat);

/// What the routes answer with that core writes.
pub(crate) mod body {
    use polylogue_core::format::chorus;

    super::stand_ins!(
        ChorusStreamEvent = crate::stream::StreamEvent<chorus::ChorusEvent, crate::format::chorus::stream::Where>,
        Manifest = chorus::Manifest,
    );
}

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(begin)).routes(routes!(follow))
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

impl FormatRequest for ChorusRequest {
    const FORMAT: &'static str = chorus::Settings::NAME;
}

/// An agent for a slot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlotRequest {
    #[schemars(range(min = 1, max = 6))]
    pub slot_id: u8,
    /// An agent of the configuration, a built-in one, or a model by its name.
    #[schemars(length(min = 1, max = 64), example = "gpt-4o")]
    pub agent_id: String,
    /// Who it is in this slot, instead of who the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 20_000))]
    pub persona: Option<String>,
    /// What the others call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40))]
    pub name: Option<String>,
    /// The voice profile that it speaks with, instead of its own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub voice: Option<String>,
}

/// A message to a chorus.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Chat {
    #[schemars(length(min = 1, max = 20_000), example = "What is a home?")]
    message: String,
    /// One to six; left out, the house seats its own.
    #[schemars(length(min = 1, max = 6))]
    slots: Option<Vec<SlotRequest>>,
    /// A session to go on with; its slots stay who they are.
    #[schemars(with = "Option<SessionId>")]
    session_id: Option<String>,
    /// The seed of every draw, to get the same again.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    seed: Option<u64>,
    /// Whether lines become clips; as the house does, or the session that goes on, if left out.
    speech: Option<bool>,
    /// Whether words are sent as they are written, in events `delta` and `waiting` without an id
    #[serde(default)]
    live: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Live {
    /// The same as `live` in the body
    #[serde(default)]
    live: bool,
}

/// Say something to a chorus, and hear what follows
#[utoipa::path(
    post, path = "/v1/chat", tag = "chorus", operation_id = "chat", request_body = Chat,
    params(Live, ("Last-Event-ID" = Option<u64>, Header,
        description = "With `sessionId`: nothing is said, the stream goes on after this event")),
    responses(
        (status = 200, description = "The events `turn.start`, `slot.start`, `slot.done`, `slot.audio`, `slot.error`, \
            `turn.done`, `turn.audio` and, last, `done`. Closing the connection does not stop the work.",
            content_type = "text/event-stream", body = body::ChorusStreamEvent),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
async fn begin(
    State(app): State<App>,
    caller: Caller,
    live: Result<Query<Live>, QueryRejection>,
    headers: HeaderMap,
    Body(mut chat): Body<Chat>,
) -> Result<Response, Refusal> {
    chat.live |= query(live)?.live;
    let Some(id) = &chat.session_id else { return start(&app, &caller, chat).await };
    let id = id.parse().map_err(|_| Refusal::request("`sessionId` is not a session id"))?;
    let setup = a_chorus(&app, &caller, id).await?;
    if headers.contains_key("last-event-id") {
        return Ok(stream::chorus(&app, id, place(&headers, None)?, Until::Done, chat.live));
    }
    if chat.slots.is_some() {
        return Err(Refusal::request("a session that goes on keeps its slots: leave `slots` out, or begin a new one"));
    }
    let person = person(&setup)?;
    let change = Change { speech: chat.speech, ..Change::default() };
    let before = app.hub.reopen(id, person, chat.message.trim().into(), change).await?;
    Ok(stream::chorus(&app, id, before, Until::Done, chat.live))
}

async fn start(app: &App, caller: &Caller, chat: Chat) -> Result<Response, Refusal> {
    let is_live = chat.live;
    let request = ChorusRequest { message: chat.message, slots: chat.slots, seed: chat.seed, speech: chat.speech };
    let setup = setup(app, caller, Request::new(request)).await?;
    let id = app.hub.start(setup).await?;
    app.metrics.sessions_started.fetch_add(1, Ordering::Relaxed);
    Ok(stream::chorus(app, id, Seq::START, Until::Done, is_live))
}

/// Hear a chorus again, or go on hearing it
#[utoipa::path(
    get, path = "/v1/chat/{id}", tag = "chorus", operation_id = "followChat",
    params(("id" = String, Path, format = "uuid", description = "The session"), After,
        ("Last-Event-ID" = Option<u64>, Header, description = "Only what comes after this event")),
    responses(
        (status = 200, description = "The same events with the same ids as the first time, to the session's last",
            content_type = "text/event-stream", body = body::ChorusStreamEvent),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
async fn follow(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    from: Result<Query<After>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let id = find(&id)?;
    let After { from, live } = query(from)?;
    let after = place(&headers, from)?;
    a_chorus(&app, &caller, id).await?;
    Ok(stream::chorus(&app, id, after, Until::Last, live))
}

/// The setup of a chorus. A session of another format is none.
async fn a_chorus(app: &App, caller: &Caller, id: SessionId) -> Result<Arc<Setup>, Refusal> {
    let setup = caller.setup_of(app, id).await?;
    match setup.format.is::<chorus::Settings>() {
        true => Ok(setup),
        false => Err(Refusal::new(Code::Conflict, "the session is not a chorus")),
    }
}

fn person(setup: &Setup) -> Result<PersonId, Refusal> {
    let person = setup.cast.people().first().cloned();
    person.ok_or_else(|| Refusal::new(Code::Conflict, "nobody can speak to this session"))
}
