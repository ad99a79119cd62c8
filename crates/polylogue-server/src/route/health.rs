//! Whether the server is alive, whether it can work, and what it counts.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ErrorBody, Refusal},
};

/// How long the store may take to be called ready.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    status: &'static str,
}

/// Whether the process answers at all
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = Health)))]
pub(super) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether it can take work: the store can be read, and it is not about to end
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, body = Health), (status = 503, body = ErrorBody),
))]
pub(super) async fn ready(State(app): State<App>) -> Result<Json<Health>, Refusal> {
    let is_ready = !app.closing.is_cancelled() && matches!(timeout(PATIENCE, app.journal.sessions(1)).await, Ok(Ok(_)));
    if is_ready {
        return Ok(Json(Health { status: "ready" }));
    }
    Err(Refusal::internal("the store cannot be read, or the server is ending")
        .with_status(StatusCode::SERVICE_UNAVAILABLE))
}

/// Counts for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, content_type = "text/plain", body = String),
))]
pub(super) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.metrics.page(app.hub.running()))
}
