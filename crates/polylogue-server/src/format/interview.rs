//! `POST /v1/sessions/{id}/why`: the agent that said a line is asked about it, out of its session.

use std::sync::atomic::Ordering;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use polylogue_core::{
    format::{Format, interview},
    id::{Seq, SessionId},
};
use schemars::JsonSchema;
use serde::Deserialize;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    caller::{Caller, setup},
    error::{ErrorBody, Refusal},
    house::{FormatRequest, Request},
    json::Body,
    route::sessions::{Begun, find},
    schema::described,
};

described!(taken: Why);

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(why))
}

/// What is needed to ask about a line.
#[derive(Clone, Debug)]
pub struct InterviewRequest {
    /// The session that the line was said in.
    pub about: SessionId,
    /// The record of the line.
    pub seq: Seq,
    pub question: Option<String>,
}

impl FormatRequest for InterviewRequest {
    const FORMAT: &'static str = interview::Settings::NAME;
}

/// A question about a line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "WhyRequest")]
struct Why {
    /// The record of the line
    #[schemars(range(min = 1))]
    seq: u64,
    /// What is asked; left out, why it was said
    #[schemars(length(max = 2000))]
    question: Option<String>,
}

/// Ask the agent that said a line why; the session stays as it was recorded
#[utoipa::path(post, path = "/v1/sessions/{id}/why", tag = "sessions", operation_id = "askWhy",
    params(("id" = String, Path, format = "uuid")),
    request_body = Why, responses(
        (status = 202, description = "It is asked: the answer is a session of its own", body = Begun),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
async fn why(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Body(why): Body<Why>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let question = why.question.map(|question| question.trim().to_owned()).filter(|question| !question.is_empty());
    if question.as_ref().is_some_and(|question| question.chars().count() > 2000) {
        return Err(Refusal::request("`question` has at most 2000 characters"));
    }
    let request = InterviewRequest { about: find(&id)?, seq: Seq(why.seq), question };
    let setup = setup(&app, &caller, Request::new(request)).await?;
    let id = app.hub.start(setup).await?;
    app.metrics.sessions_started.fetch_add(1, Ordering::Relaxed);
    Ok((StatusCode::ACCEPTED, Json(Begun::of(id))))
}
