//! `/v1/stories`: what the scenes of a story have come to.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::{Path, State},
};
use polylogue_core::{format::scene::Story, id::SessionId};
use polylogue_runtime::{
    HubError,
    port::{Clock, SystemClock},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    caller::Caller,
    error::{ErrorBody, Refusal},
};

/// How many memories of a story are looked at, the newest.
const MOST: usize = 1_000;

/// What the routes answer with that core writes.
mod body {
    crate::schema::stand_ins!(Story = polylogue_core::format::scene::Story);
}

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Who remembers what, and who feels what for whom, over the scenes of a story
#[utoipa::path(get, path = "/v1/stories/{name}", tag = "scenes", operation_id = "showStory",
    params(("name" = String, Path, description = "As scene files name it")), responses(
    (status = 200, description = "The scenes that somebody remembers, the oldest first", body = body::Story),
    (status = "4XX", description = "`NOT_FOUND` where nobody remembers anything of it", body = ErrorBody),
    (status = "5XX", body = ErrorBody),
))]
async fn show(State(app): State<App>, caller: Caller, Path(name): Path<String>) -> Result<Json<Story>, Refusal> {
    let memories = app.memories.memories(None, Some(&caller.own(&name)), MOST).await?;
    if memories.is_empty() {
        return Err(Refusal::not_found("nobody remembers anything of a story of this name"));
    }
    let sessions: BTreeSet<SessionId> = memories.iter().map(|memory| memory.session).collect();
    let mut played = Vec::new();
    for session in sessions {
        match app.hub.conversation(session).await {
            Ok(conversation) => played.push(conversation),
            // It was deleted in this moment.
            Err(HubError::NoSuchSession(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Json(Story::of(&name, &played, &memories, SystemClock.now())))
}
