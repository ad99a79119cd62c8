//! `GET /v1/sessions/{id}/behind/{seq}`: the request that led to a record, and the reply as it came.

use axum::{
    Json,
    extract::{Path, State},
};
use polylogue_core::{
    Conversation, Event, Record,
    ask::Request,
    id::{AskId, Seq},
    ledger::Usage,
    money::Money,
    projection::{NoRequest, request_at},
    text::reply::Repair,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::sessions::find;
use crate::{
    app::App,
    error::{ErrorBody, Refusal},
    schema::described,
};

described!(sent: Behind);

/// What is behind a record.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Behind {
    seq: u64,
    ask: AskId,
    agent: String,
    model: String,
    purpose: String,
    /// Where it stands in what the format counts: `round 2 of 6`
    counter: String,
    request: Sent,
    /// Whether the request is the very one that was sent; it is not when the built-in templates have changed since
    is_exact: bool,
    /// The reply as it came, or as much of it as had come
    reply: Option<String>,
    usage: Option<Usage>,
    #[serde(rename = "estimatedUSD")]
    estimated_usd: Option<Money>,
    retries: u32,
    repairs: Vec<Repair>,
    seconds: Option<f64>,
    /// Why there is no answer
    failure: Option<String>,
}

/// A request as the model got it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SentRequest")]
struct Sent {
    messages: Vec<Message>,
    /// The JSON schema of the reply, where it has one
    schema: Option<Map<String, Value>>,
    max_output_tokens: u32,
    temperature: Option<f64>,
    stop: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SentMessage")]
struct Message {
    /// `system`, `user` or `assistant`
    role: String,
    text: String,
}

impl From<&Request> for Sent {
    fn from(request: &Request) -> Sent {
        let message = |role: &str, text: &str| Message { role: role.to_owned(), text: text.to_owned() };
        let past = request.thread.messages().iter().map(|said| {
            let role = match said.role {
                polylogue_core::ask::Role::User => "user",
                polylogue_core::ask::Role::Assistant => "assistant",
            };
            message(role, &said.text)
        });
        let head = [message("system", &request.system)];
        Sent {
            messages: head.into_iter().chain(past).chain([message("user", &request.prompt)]).collect(),
            schema: request.shape.as_ref().map(|shape| shape.schema()).and_then(|schema| schema.as_object().cloned()),
            max_output_tokens: request.max_output_tokens(),
            temperature: request.sampling.temperature,
            stop: request.sampling.stop.clone(),
        }
    }
}

/// What is behind a line: the exact request, the raw reply, and what it took
#[utoipa::path(get, path = "/v1/sessions/{id}/behind/{seq}", tag = "sessions", operation_id = "showWhatIsBehind",
    params(("id" = String, Path, format = "uuid"), ("seq" = u64, Path, description = "A record, normally that of a line")),
    responses((status = 200, body = Behind), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody))
)]
pub(super) async fn behind(
    State(app): State<App>,
    Path((id, seq)): Path<(String, String)>,
) -> Result<Json<Behind>, Refusal> {
    let id = find(&id)?;
    let seq: u64 = seq.parse().map_err(|_| Refusal::not_found("there is no such record: it has a number"))?;
    let records = app.hub.records(id).await?;
    let record = usize::try_from(seq).ok().and_then(|seq| records.get(seq.checked_sub(1)?));
    if record.is_some_and(|record| record.event.ask().is_none() && !matches!(record.event, Event::Decided(_))) {
        return Err(Refusal::not_found(format!("no model was asked for record {seq}")));
    }
    let insight = request_at(&records, Seq(seq)).map_err(|error| match error {
        NoRequest::NotAJournal(error) => Refusal::internal(error),
        error => Refusal::not_found(error.to_string()),
    })?;
    let ask = insight.ask.id;
    let is_its_own = |record: &&Record| matches!(&record.event, Event::Asked { ask: asked, .. } if *asked == ask);
    let asked = records[..seq as usize].iter().rfind(is_its_own);
    let asked = asked.ok_or_else(|| Refusal::internal("an ask that was found is not there"))?;
    let then = Conversation::replay(&records[..asked.seq.0 as usize]).map_err(Refusal::internal)?;
    let (price, counter) = (then.stage().price_of(&ask.agent), then.counter(&ask));
    let mut behind = Behind {
        seq,
        agent: ask.agent.to_string(),
        model: insight.ask.request.model.to_string(),
        purpose: ask.purpose.to_string(),
        counter,
        request: Sent::from(&insight.ask.request),
        is_exact: insight.is_exact,
        reply: None,
        usage: None,
        estimated_usd: None,
        retries: 0,
        repairs: Vec::new(),
        seconds: None,
        failure: None,
        ask,
    };
    for record in &records[asked.seq.0 as usize..] {
        match &record.event {
            Event::Answered { ask, text, usage, retries, repairs, .. } if *ask == behind.ask => {
                (behind.reply, behind.usage) = (Some(text.to_string()), Some(*usage));
                (behind.retries, behind.repairs) = (*retries, repairs.clone());
            }
            Event::AskFailed { ask, failure, usage, retries } if *ask == behind.ask => {
                (behind.failure, behind.usage) = (Some(failure.message.clone()), Some(*usage));
                behind.retries = *retries;
            }
            Event::AskCut { ask, partial, .. } if *ask == behind.ask => {
                behind.failure = Some("it was stopped before it had answered".to_owned());
                behind.reply = Some(partial.to_string()).filter(|partial| !partial.is_empty());
            }
            _ => continue,
        }
        behind.estimated_usd = behind.usage.and_then(|usage| Some(price?.of(&usage)));
        behind.seconds = Some(record.at.since(asked.at) as f64 / 1_000.0);
        break;
    }
    Ok(Json(behind))
}
