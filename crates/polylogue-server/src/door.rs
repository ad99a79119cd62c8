//! What every request passes: its id, the log, the security headers, the token, and where it comes from.

use std::{
    net::IpAddr,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU64, Ordering},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use tracing::Instrument;

use crate::{
    app::App,
    error::{Code, Refusal},
    settings::Settings,
    token::LetIn,
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the request an id, logs and counts it, and puts the headers on its answer that belong on every one.
pub(crate) async fn watch(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    let span = tracing::info_span!("request", %id);
    let mut response = next.run(request).instrument(span).await;
    let (status, elapsed) = (response.status(), begun.elapsed());
    // The path of an unknown address is anybody's: it would make the metrics grow without bound.
    app.metrics.answered(&method, route.as_deref().unwrap_or("none"), status, elapsed);
    tracing::info!(%id, %method, path, status = status.as_u16(), elapsed_ms = elapsed.as_millis() as u64, "answered");
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let policy = if path.starts_with("/docs") { PAGE_POLICY } else { API_POLICY };
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

const SECURITY: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];
const API_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";
/// The page of the API's description brings its own scripts and styles, some of them inline.
const PAGE_POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
                           img-src 'self' data:; frame-ancestors 'none'";

/// The caller's own id if it is a sound one, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_sound = |id: &&str| {
        (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    given.filter(is_sound).map(str::to_owned).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        format!("{now:x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed))
    })
}

/// Answers for a handler that panics. The log says where, and it is counted.
pub(crate) async fn unbroken(request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answer.unwrap_or_else(|_| Refusal::internal("a handler broke, which is a bug").into_response())
}

/// The cookie that a token becomes.
pub(crate) const COOKIE: &str = "polylogue_token";

/// Who asks, by the token that comes along; where no tokens are set, everybody is the operator.
pub(crate) fn who(app: &App, headers: &HeaderMap) -> Result<LetIn, Refusal> {
    if !app.settings.has_tokens() {
        return Ok(None);
    }
    let needed = "a bearer token is needed: send `authorization: Bearer TOKEN`, or sign in at /v1/login";
    let_in(headers, &app.settings).ok_or_else(|| Refusal::new(Code::Unauthorized, needed))
}

fn let_in(headers: &HeaderMap, settings: &Settings) -> Option<LetIn> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bearer = given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    if let Some((_, token)) = bearer {
        return settings.let_in(token.trim());
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    let (_, cookie) = cookies.find(|(name, _)| *name == COOKIE)?;
    settings.let_in_by_cookie(cookie)
}

/// Keeps other people's pages out: a browser says whose page it asks for, and which name it asked.
pub(crate) async fn origin(State(app): State<App>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    // A name that somebody points at this machine must not make a page of theirs a page of ours.
    if !app.settings.has_tokens() && !is_this_machine(host) {
        return forbidden("without tokens the server answers only to the name of this machine").into_response();
    }
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let is_own = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority == Some(host) || app.settings.cors_origins.iter().any(|allowed| allowed == origin)
    };
    if !is_reading && origin.is_some_and(|origin| !is_own(origin)) {
        return forbidden("pages of other origins are not allowed to do that: see [server] cors_origins")
            .into_response();
    }
    next.run(request).await
}

fn forbidden(message: &str) -> Refusal {
    Refusal::new(Code::Unauthorized, message).with_status(StatusCode::FORBIDDEN)
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.is_empty() || name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
