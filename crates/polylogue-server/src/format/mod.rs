//! The formats over HTTP: each has a file or a folder with what begins a session of it, its routes and its streams.

pub mod chorus;
pub mod collaboration;
pub mod discussion;
pub mod interview;
pub mod scene;
pub mod score;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

/// The routes of every format, a line each.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(chorus::routes())
        .merge(collaboration::routes())
        .merge(discussion::routes())
        .merge(interview::routes())
        .merge(scene::routes())
        .merge(score::routes())
}
