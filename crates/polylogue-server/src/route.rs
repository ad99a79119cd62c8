//! The routes that all formats share, one file for each thing that is asked about.

mod audio;
mod behind;
mod catalog;
mod health;
pub(crate) mod list;
mod login;
mod nodes;
mod say;
pub(crate) mod sessions;

use axum::{Router, routing::get};
use serde_json::Value;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{Http, HttpAuthScheme, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use utoipa_swagger_ui::SwaggerUi;

use crate::{app::App, format, schema};

/// What needs a token, where tokens are set.
pub(crate) fn guarded() -> Router<App> {
    documented().split_for_parts().0.route("/v1/audio/{*audio_path}", get(audio::clip))
}

/// What only the operator may ask.
pub(crate) fn operators() -> Router<App> {
    operating().split_for_parts().0
}

/// What anybody may ask: whether the server is well, and to be let in.
pub(crate) fn open() -> Router<App> {
    well().merge(letting_in().split_for_parts().0)
}

/// Whether the server is well.
pub(crate) fn well() -> Router<App> {
    health().split_for_parts().0
}

/// The description of the API, as JSON and as a page.
pub(crate) fn docs() -> Router {
    SwaggerUi::new("/docs").external_url_unchecked("/openapi.json", description()).into()
}

/// What `/openapi.json` answers with.
pub fn description() -> Value {
    let mut api = Description::openapi();
    api.merge(documented().split_for_parts().1);
    api.merge(operating().split_for_parts().1);
    api.merge(health().split_for_parts().1);
    api.merge(letting_in().split_for_parts().1);
    schema::whole(&api)
}

fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(format::routes())
        .routes(routes!(list::list))
        .routes(routes!(sessions::show, sessions::delete))
        .routes(routes!(sessions::events))
        .routes(routes!(behind::behind))
        .routes(routes!(say::say))
        .routes(routes!(sessions::stop))
        .routes(routes!(sessions::fork))
        .routes(routes!(sessions::resume))
        .routes(routes!(sessions::transcript))
        .routes(routes!(sessions::result))
        .routes(routes!(catalog::agents))
        .routes(routes!(catalog::voices))
        .routes(routes!(catalog::models))
        .routes(routes!(catalog::characters))
        .routes(routes!(catalog::examples))
        .routes(routes!(catalog::ready))
}

fn operating() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(nodes::list)).routes(routes!(health::metrics))
}

fn health() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(health::alive)).routes(routes!(health::ready))
}

fn letting_in() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(login::login)).routes(routes!(login::logout))
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
