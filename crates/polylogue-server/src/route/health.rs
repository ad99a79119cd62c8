//! Whether the server is alive, whether it can work, and what it counts.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use crate::{
    app::App,
    error::{Code, ErrorBody, Refusal},
    schema::described,
};

/// How long the store may take to be called ready.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Health {
    status: &'static str,
}

described!(sent: Health);

/// Whether the process answers at all
#[utoipa::path(get, path = "/healthz", tag = "health", operation_id = "isAlive", responses(
    (status = 200, body = Health), (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether it can take work: the store can be written, and it is not about to end
#[utoipa::path(get, path = "/readyz", tag = "health", operation_id = "isReady", responses(
    (status = 200, body = Health), (status = 503, body = ErrorBody),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn ready(State(app): State<App>) -> Result<Json<Health>, Refusal> {
    let unready = |why: String| {
        tracing::warn!(why, "not ready");
        Refusal::new(Code::Internal, format!("not ready: {why}")).with_status(StatusCode::SERVICE_UNAVAILABLE)
    };
    if app.closing.is_cancelled() {
        return Err(unready("the server is ending".to_owned()));
    }
    match timeout(PATIENCE, app.hub.can_write()).await {
        Ok(Ok(())) => Ok(Json(Health { status: "ready" })),
        Ok(Err(error)) => Err(unready(error.to_string())),
        Err(_) => Err(unready("the store cannot be written at the moment".to_owned())),
    }
}

/// Counts for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "health", operation_id = "readMetrics", responses(
    (status = 200, content_type = "text/plain", body = String),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let page = app.metrics.page(app.hub.running(), app.house.log_lines_dropped());
    ([(header::CONTENT_TYPE, kind)], page + &app.house.numbers().await)
}
