//! What every handler works with, and the routes put together.

use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderValue, StatusCode},
    middleware,
};
use polylogue_runtime::{
    Hub,
    port::{Artifacts, Journal, Memories, Rooms, Store},
};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use crate::{
    caller, door,
    error::{Code, Refusal},
    house::House,
    metrics::Metrics,
    page, route,
    settings::Settings,
};

/// A server, before it listens.
#[derive(Clone)]
pub struct App {
    pub(crate) hub: Hub,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) rooms: Arc<dyn Rooms>,
    pub(crate) memories: Arc<dyn Memories>,
    pub(crate) artifacts: Arc<dyn Artifacts>,
    pub(crate) house: Arc<dyn House>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Arc<Metrics>,
    /// Ends the event streams, which would hold up the end of the process.
    pub(crate) closing: CancellationToken,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl App {
    pub fn new(
        hub: Hub,
        store: Arc<dyn Store>,
        artifacts: Arc<dyn Artifacts>,
        house: Arc<dyn House>,
        settings: Settings,
    ) -> App {
        App {
            hub,
            journal: store.clone(),
            rooms: store.clone(),
            memories: store,
            artifacts,
            house,
            settings: Arc::new(settings),
            metrics: Arc::default(),
            closing: CancellationToken::new(),
        }
    }

    /// Everything that can be asked for.
    pub(crate) fn router(&self) -> Router {
        let (open, guarded) = (route::open(), route::guarded());
        let operators = route::operators();
        let operators = operators.route_layer(middleware::from_fn_with_state(self.clone(), caller::operators));
        let guarded = guarded.merge(operators);
        let guarded = guarded.route_layer(middleware::from_fn_with_state(self.clone(), caller::admit));
        let mut router = guarded
            .merge(open)
            .fallback(page::page)
            .method_not_allowed_fallback(async || {
                Refusal::new(Code::InvalidRequest, "this address takes another method: /docs describes the API")
                    .with_status(StatusCode::METHOD_NOT_ALLOWED)
            })
            .with_state(self.clone())
            .merge(route::docs());
        if !self.settings.cors_origins.is_empty() {
            router = router.layer(self.cors());
        }
        self.behind_the_door(router)
    }

    /// What is answered where there is no room for a connection: whether the server is well, and else that.
    pub(crate) fn crowded(&self) -> Router {
        let no_room = async || {
            Refusal::new(Code::RateLimited, "the server has no room for more connections: try again in a moment")
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
        };
        self.behind_the_door(route::well().fallback(no_room).with_state(self.clone()))
    }

    fn behind_the_door(&self, router: Router) -> Router {
        router
            .layer(middleware::from_fn(door::unbroken))
            .layer(middleware::from_fn_with_state(self.clone(), door::origin))
            .layer(middleware::from_fn_with_state(self.clone(), door::watch))
    }

    fn cors(&self) -> CorsLayer {
        let origins: Vec<HeaderValue> =
            self.settings.cors_origins.iter().filter_map(|origin| origin.parse().ok()).collect();
        CorsLayer::new()
            .allow_origin(AllowOrigin::list(origins))
            .allow_methods(AllowMethods::mirror_request())
            .allow_headers(AllowHeaders::mirror_request())
    }
}
