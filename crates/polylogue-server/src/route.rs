//! The routes that all formats share, one file for each thing that is asked about.

mod audio;
mod catalog;
mod health;
pub(crate) mod sessions;

use axum::{Router, routing::get};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{Http, HttpAuthScheme, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use utoipa_swagger_ui::SwaggerUi;

use crate::{app::App, format};

/// What needs a token, where tokens are set.
pub(crate) fn guarded() -> Router<App> {
    documented().split_for_parts().0.route("/v1/audio/{*audio_path}", get(audio::clip))
}

/// What anybody may ask: whether the server is well.
pub(crate) fn open() -> Router<App> {
    well().split_for_parts().0
}

/// The description of the API, as JSON and as a page.
pub(crate) fn docs() -> Router {
    let mut api = Description::openapi();
    api.merge(documented().split_for_parts().1);
    api.merge(well().split_for_parts().1);
    SwaggerUi::new("/docs").url("/openapi.json", api).into()
}

fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(format::routes())
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::events))
        .routes(routes!(sessions::stop))
        .routes(routes!(sessions::fork))
        .routes(routes!(sessions::resume))
        .routes(routes!(sessions::transcript))
        .routes(routes!(catalog::agents))
        .routes(routes!(catalog::voices))
        .routes(routes!(catalog::models))
        .routes(routes!(health::metrics))
}

fn well() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(health::alive)).routes(routes!(health::ready))
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Polylogue", description = "Conversations between several AI agents and a person."),
    paths(audio::clip),
    modifiers(&Tokens),
    security((), ("token" = []))
)]
struct Description;

struct Tokens;

impl Modify for Tokens {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    }
}
