//! `GET /v1/nodes`: the processes that share the store and are alive.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    app::App,
    error::{ErrorBody, Refusal},
    schema::described,
};

described!(sent: Nodes);

/// A process that runs sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Node")]
struct Node {
    /// New each time the process is started
    id: String,
    /// Whether it is the one that answers this request
    is_this: bool,
    /// How many sessions it owns
    sessions: u64,
    /// How many more it would take; 0 for a command line, which takes none
    room: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NodeList")]
pub(super) struct Nodes {
    nodes: Vec<Node>,
}

/// The processes that share the store
#[utoipa::path(
    get, path = "/v1/nodes", tag = "health", operation_id = "listNodes",
    responses((status = 200, body = Nodes), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody))
)]
pub(super) async fn list(State(app): State<App>) -> Result<Json<Nodes>, Refusal> {
    let this = app.hub.node();
    let node = |living: polylogue_runtime::port::Living| Node {
        id: living.node.to_string(),
        is_this: living.node == this,
        sessions: living.sessions,
        room: living.room,
    };
    Ok(Json(Nodes { nodes: app.hub.nodes().await?.into_iter().map(node).collect() }))
}
