//! `/v1/rooms`: places where a person speaks to agents by name, and everybody hears what follows.

mod message;

use std::sync::atomic::Ordering;

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode},
    response::{Response, sse::Event as Frame},
};
use futures_util::{StreamExt, stream::unfold};
use polylogue_core::{
    format::{
        Format,
        collaboration::{self, Mode, Quote, RoomEvent, RoomSession},
    },
    id::SessionId,
    room::{CallId, RoomCall, RoomId},
};
use polylogue_runtime::{
    RoomHeard,
    port::{RoomListPlace, RoomSummary},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use self::message::{RoomMessage, Wanted};
use crate::{
    app::App,
    caller::{Caller, setup},
    error::{ErrorBody, Refusal},
    house::{FormatRequest, Request},
    json::Body,
    route::{list::Page, sessions::query},
    schema::{described, stand_ins},
    stream::{passing, place, respond},
};

described!(sent: Called, RoomList, RoomStanding);
described!(taken: RoomMessage);

/// What the routes answer with that core writes.
mod body {
    use polylogue_core::format::collaboration::RoomEvent;

    super::stand_ins!(RoomStreamEvent = crate::stream::StreamEvent<RoomEvent, super::Where>);
}

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show)).routes(routes!(say)).routes(routes!(events))
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
    pub background: Vec<Quote>,
    pub room: Option<RoomCall>,
}

impl FormatRequest for CollaborationRequest {
    const FORMAT: &'static str = collaboration::Settings::NAME;
}

/// What a message has begun.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[schemars(with = "SessionId")]
    session_id: String,
    /// In every event that follows from the message
    #[schemars(with = "CallId")]
    call_id: String,
    /// Where all are asked at once: the session of each
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<SessionId>>")]
    sessions: Option<Vec<String>>,
}

/// Say something in a room: to an agent, to all of them, or for several to work on together
#[utoipa::path(
    post, path = "/v1/rooms/{room}/messages", tag = "rooms", operation_id = "sayInRoom", request_body = RoomMessage,
    params(("room" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$",
        description = "1 to 64 letters, digits, `-` and `_`; a room is there once it is spoken in")),
    responses(
        (status = 202, description = "It is recorded, and those that it is for are being asked", body = Called),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
async fn say(
    State(app): State<App>,
    caller: Caller,
    Path(room): Path<String>,
    Body(message): Body<RoomMessage>,
) -> Result<(StatusCode, Json<Called>), Refusal> {
    let room = caller.room(&room)?;
    let wanted = Wanted::of(&message, &app.house.agents())?;
    let call_id = CallId::from_random(*app.house.new_session_id()?.as_bytes());
    let background = app.hub.recently_said(&room).await?;
    let mut setups = Vec::with_capacity(wanted.speakers.len());
    for (nth, speaker) in wanted.speakers.iter().enumerate() {
        let (target, is_repeat) = (wanted.target.clone(), nth > 0);
        let request = CollaborationRequest {
            goal: wanted.text.clone(),
            mode: wanted.mode,
            between: wanted.between.clone(),
            speaker: speaker.clone(),
            max_rounds: wanted.max_rounds,
            background: background.clone(),
            room: Some(RoomCall { room: room.clone(), call_id, target, is_repeat }),
        };
        let setup = setup(&app, &caller, Request::new(request)).await?;
        setup.check().map_err(|problem| Refusal::request(problem.to_string()))?;
        setups.push(setup);
    }
    let ids = app.hub.start_all(setups).await?;
    app.metrics.sessions_started.fetch_add(ids.len() as u64, Ordering::Relaxed);
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let session_id = ids.first().cloned().ok_or_else(|| Refusal::internal("nobody was called"))?;
    let sessions = wanted.is_to_several().then_some(ids);
    Ok((StatusCode::ACCEPTED, Json(Called { session_id, call_id: call_id.to_string(), sessions })))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Since {
    /// Only what comes after the event with this id; `Last-Event-ID` goes before it
    from: Option<u64>,
    /// Only so many of the events that there are, and what follows
    #[param(minimum = 0, maximum = 1000)]
    history: Option<usize>,
    /// Whether words are sent as they are written, in events `delta` and `waiting` without an id
    #[serde(default)]
    live: bool,
}

/// How many events somebody may ask for at once instead of all.
const MAX_HISTORY: usize = 1_000;

/// What is said in a room, from the beginning and as it goes on
#[utoipa::path(
    get, path = "/v1/rooms/{room}/events", tag = "rooms", operation_id = "followRoom",
    params(("room" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$"), Since,
        ("Last-Event-ID" = Option<u64>, Header, description = "Only what comes after this event")),
    responses(
        (status = 200, description = "`human_message`, `agent_call` and `agent_response`, each with `type`, `sender`, \
            `target`, `thread`, `text`, `call_id` and `ts`, and in a collaboration with `session_id`, `round` and \
            `max_rounds`. All who listen hear the same events with the same ids in the same order; the ids go up, \
            not always by one. The stream does not end.",
            content_type = "text/event-stream", body = body::RoomStreamEvent),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
async fn events(
    State(app): State<App>,
    caller: Caller,
    Path(room): Path<String>,
    since: Result<Query<Since>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let room = caller.room(&room)?;
    let since = query(since)?;
    let mut heard = place(&headers, since.from)?.0;
    if let Some(events) = since.history.filter(|_| heard == 0) {
        if events > MAX_HISTORY {
            return Err(Refusal::request(format!("`history` must be from 0 to {MAX_HISTORY}")));
        }
        heard = app.hub.before_last(&room, events).await?;
    }
    Ok(listen(&app, room, heard, since.live))
}

/// A room in the list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedRoom {
    #[schemars(with = "RoomId")]
    room: String,
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    #[schemars(extend("format" = "date-time"))]
    last_at: String,
}

impl ListedRoom {
    fn of(room: String, summary: &RoomSummary) -> ListedRoom {
        ListedRoom { room, started_at: summary.started_at.to_string(), last_at: summary.last_at.to_string() }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct RoomList {
    rooms: Vec<ListedRoom>,
    /// What `before` takes for the page after this one; `null` where this is the last
    next: Option<String>,
}

/// The rooms that something was said in, the newest first
#[utoipa::path(get, path = "/v1/rooms", tag = "rooms", operation_id = "listRooms", params(Page), responses(
    (status = 200, body = RoomList), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<RoomList>, Refusal> {
    let (mut before, limit) = query(page)?.checked::<RoomListPlace>()?;
    let (mut rooms, mut last) = (Vec::new(), None);
    // Those of others are passed over. One more than are wanted tells whether there are more.
    loop {
        let found = app.rooms.rooms(before.as_ref(), limit + 1).await?;
        let is_last = found.len() <= limit;
        before = found.last().map(RoomSummary::place);
        for summary in found {
            let Some(name) = caller.name_of(&summary.room) else { continue };
            if rooms.len() == limit {
                return Ok(Json(RoomList { rooms, next: last }));
            }
            last = Some(summary.place().to_string());
            rooms.push(ListedRoom::of(name, &summary));
        }
        if is_last {
            return Ok(Json(RoomList { rooms, next: None }));
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RoomStanding {
    #[schemars(with = "RoomId")]
    room: String,
    /// What has been said up to now has no higher id than this
    last_event_id: u64,
    /// What goes on there, the oldest first; `POST /v1/sessions/{id}/stop` ends it
    sessions: Vec<RoomSession>,
    /// Who can be spoken to
    agents: Vec<String>,
}

/// A room as it stands: what goes on there, and who can be spoken to
#[utoipa::path(get, path = "/v1/rooms/{room}", tag = "rooms", operation_id = "showRoom",
    params(("room" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$")), responses(
    (status = 200, body = RoomStanding), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
async fn show(State(app): State<App>, caller: Caller, Path(name): Path<String>) -> Result<Json<RoomStanding>, Refusal> {
    let room = caller.room(&name)?;
    let agents = app.house.agents().into_iter().filter(|agent| agent.available).map(|agent| agent.name);
    Ok(Json(RoomStanding {
        last_event_id: RoomEvent::last_number(app.rooms.room_head(&room).await?),
        sessions: app.hub.sessions_in(&room).await?,
        agents: agents.collect(),
        room: name,
    }))
}

/// Which session of a room something passes in.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Room")]
struct Where {
    #[schemars(with = "SessionId")]
    session_id: String,
    #[schemars(with = "CallId")]
    call_id: String,
}

/// The events of a room after the one with this number, for as long as somebody listens.
fn listen(app: &App, room: RoomId, heard: u64, is_live: bool) -> Response {
    let frames = unfold(app.hub.listen(room, heard), move |mut listener| async move {
        let heard = match is_live {
            true => listener.next_live().await,
            false => listener.next().await.map(|(number, event)| RoomHeard::Event(number, event)),
        };
        let frame = match heard {
            Ok(RoomHeard::Event(number, event)) => {
                let frame = Frame::default().id(number.to_string()).json_data(&event);
                Some(frame.expect("events have string keys"))
            }
            Ok(RoomHeard::Passing { session, call, what }) => {
                passing(what, Where { session_id: session.to_string(), call_id: call.to_string() })
            }
            Err(error) => {
                tracing::error!(%error, "a room's event stream breaks off");
                return None;
            }
        };
        Some((frame, listener))
    });
    respond(app, frames.filter_map(async |frame| frame))
}
