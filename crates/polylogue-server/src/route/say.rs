//! `POST /v1/sessions/{id}/say`: a person speaks, in whatever format.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use polylogue_core::{id::PersonId, setup::Change};
use schemars::JsonSchema;
use serde::Deserialize;

use super::sessions::{Begun, find};
use crate::{
    app::App,
    error::{Code, ErrorBody, Refusal},
    json::Body,
    schema::described,
};

described!(taken: Say);

/// A person's words.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SayRequest")]
pub(super) struct Say {
    #[schemars(length(min = 1, max = 20_000))]
    text: String,
    /// Who speaks; may be left out where only one person takes part
    #[schemars(length(max = 64))]
    who: Option<String>,
}

/// Speak: into a session that runs, on one's turn, or to one that goes on with it
#[utoipa::path(post, path = "/v1/sessions/{id}/say", tag = "sessions", operation_id = "sayInSession",
    params(("id" = String, Path, format = "uuid")),
    request_body = Say, responses(
        (status = 202, description = "It is recorded", body = Begun),
        (status = 409, description = "It is not this person's turn, or the session takes no words", body = ErrorBody),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn say(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(said): Body<Say>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let id = find(&id)?;
    let conversation = app.hub.conversation(id).await?;
    let who = speaker(conversation.stage().cast().people(), said.who.as_deref())?;
    let text = said.text.trim().into();
    match conversation.stage().ended() {
        None => app.hub.say(id, who, text).await?,
        // Where the format begins again with a person's words, these are they.
        Some(_) => {
            app.hub.reopen(conversation, who, text, Change::default()).await?;
        }
    }
    Ok((StatusCode::ACCEPTED, Json(Begun::of(id))))
}

fn speaker(people: &[PersonId], who: Option<&str>) -> Result<PersonId, Refusal> {
    match (who, people) {
        (_, []) => Err(Refusal::new(Code::Conflict, "nobody can speak to this session")),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(Refusal::request("several people take part: say who speaks with `who`")),
        (Some(who), _) => people
            .iter()
            .find(|person| person.as_str() == who)
            .cloned()
            .ok_or_else(|| Refusal::request(format!("`{who}` does not take part"))),
    }
}
