//! `GET /v1/sessions`: the recorded conversations, page by page, and what is looked for among them.

use std::str::FromStr;

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use polylogue_core::{Reason, id::SessionId, projection::Status, room::RoomId};
use polylogue_runtime::port::{NoPlace, Search, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::sessions::query;
use crate::{
    app::App,
    caller::Caller,
    error::{ErrorBody, Refusal},
    schema::described,
};

described!(sent: List);

/// A session in the list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedSession")]
struct Listed {
    #[schemars(with = "SessionId")]
    session_id: String,
    format: String,
    title: String,
    /// The agents that take part
    agents: Vec<String>,
    /// The people who do
    people: Vec<String>,
    /// Where it answers in a room
    #[schemars(with = "Option<RoomId>")]
    room: Option<String>,
    /// `running`, `waiting` for a person, `left` by its process so that nobody runs it, or `ended`
    #[schemars(with = "Status")]
    status: &'static str,
    /// Whether it ended those who went on with it, so that nobody does any more unless it is resumed by hand
    is_left_alone: bool,
    reason: Option<Reason>,
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    #[schemars(extend("format" = "date-time"))]
    last_at: String,
    /// How many records its journal has.
    head: u64,
}

impl Listed {
    fn of(summary: Summary, caller: &Caller) -> Listed {
        let (status, is_left_alone) = (summary.status().as_str(), summary.is_left_alone());
        Listed {
            session_id: summary.id.to_string(),
            format: summary.format,
            title: summary.title,
            agents: summary.cast.agents,
            people: summary.cast.people,
            room: summary.room.and_then(|room| caller.name_of(&room)),
            status,
            is_left_alone,
            reason: summary.reason,
            started_at: summary.started_at.to_string(),
            last_at: summary.last_at.to_string(),
            head: summary.head.0,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionList")]
pub(super) struct List {
    sessions: Vec<Listed>,
    /// What `before` takes for the page after this one; `null` where this is the last
    next: Option<String>,
}

/// A page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// How many at most
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Only what comes after the page that named this as its `next`
    before: Option<String>,
}

impl Page {
    /// The page's bounds: where it begins, and how many are on it.
    pub(crate) fn checked<P: FromStr<Err = NoPlace>>(self) -> Result<(Option<P>, usize), Refusal> {
        bounds(self.limit, self.before.as_deref())
    }
}

fn bounds<P: FromStr<Err = NoPlace>>(
    limit: Option<usize>,
    before: Option<&str>,
) -> Result<(Option<P>, usize), Refusal> {
    let limit = limit.unwrap_or(100);
    if !(1..=1_000).contains(&limit) {
        return Err(Refusal::request("`limit` must be from 1 to 1000"));
    }
    let before = before.map(str::parse).transpose();
    Ok((before.map_err(|error: NoPlace| Refusal::request(format!("`before`: {error}")))?, limit))
}

/// What is looked for, and which page of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Only of this format
    format: Option<String>,
    /// Only `running`, `waiting`, `left` or `ended` ones
    status: Option<String>,
    /// Only those that answer in this room
    room: Option<String>,
    /// Only those with this in their titles
    #[param(max_length = 200)]
    q: Option<String>,
    /// How many at most
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Only what comes after the page that named this as its `next`
    before: Option<String>,
}

const STATUSES: [Status; 4] = [Status::Running, Status::Waiting, Status::Left, Status::Ended];

impl Wanted {
    fn checked(self, caller: &Caller) -> Result<Search, Refusal> {
        let (before, limit) = bounds(self.limit, self.before.as_deref())?;
        let status = |name: String| STATUSES.into_iter().find(|status| status.as_str() == name);
        let status = self.status.filter(|name| !name.is_empty()).map(|name| {
            status(name).ok_or_else(|| Refusal::request("`status` is one of running, waiting, left and ended"))
        });
        if self.q.as_ref().is_some_and(|q| q.chars().count() > Summary::MAX_TITLE_CHARS) {
            return Err(Refusal::request(format!("`q` has at most {} characters", Summary::MAX_TITLE_CHARS)));
        }
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let room = filled(self.room).map(|room| caller.room(&room)).transpose()?;
        let (format, text) = (filled(self.format), filled(self.q));
        let tenant = caller.sees_only().cloned();
        Ok(Search { format, status: status.transpose()?, room, tenant, text, before, limit })
    }
}

/// The recorded conversations, the newest first
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", operation_id = "listSessions", params(Wanted), responses(
    (status = 200, body = List), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<List>, Refusal> {
    let (sessions, next) = page(&app, query(wanted)?.checked(&caller)?).await?;
    Ok(Json(List { sessions: sessions.into_iter().map(|summary| Listed::of(summary, &caller)).collect(), next }))
}

/// The sessions of a page, and where the page after it begins. One more is looked for, to know whether there is one.
pub(crate) async fn page(app: &App, search: Search) -> Result<(Vec<Summary>, Option<String>), Refusal> {
    let limit = search.limit;
    let mut sessions = app.journal.search(&Search { limit: limit + 1, ..search }).await?;
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| has_more).map(|last| last.place().to_string());
    Ok((sessions, next))
}
