//! The page: its built files are in the binary. An address that is nobody else's and that a browser wants to see is
//! one of the page's own views.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{Embed, EmbeddedFile};

use crate::error::Refusal;

/// What `web/` is built to.
#[derive(Embed)]
#[folder = "../../web/dist"]
struct Files;

/// Nothing is loaded from elsewhere, nothing is sent elsewhere, and no text becomes a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; \
                      media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Names with a hash of their content in them never mean anything else.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// A file of the page, or the page at one of its views.
pub(crate) async fn page(request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return nothing();
    }
    let path = request.uri().path().trim_start_matches('/');
    match Files::get(path) {
        Some(file) if !path.is_empty() => send(path, file, request.headers()),
        _ if is_view(path, request.headers()) => match Files::get("index.html") {
            Some(file) => send("index.html", file, request.headers()),
            None => nothing(),
        },
        _ => nothing(),
    }
}

fn nothing() -> Response {
    Refusal::not_found("there is nothing here: /docs describes the API").into_response()
}

/// Whether somebody wants to look at this. Programs that mistype an address of the API are told so.
fn is_view(path: &str, headers: &HeaderMap) -> bool {
    let is_apis = ["v1", "api", "assets"].contains(&path.split('/').next().unwrap_or_default());
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    path.is_empty() || (!is_apis && accepted.into_iter().any(|accept| accept.contains("text/html")))
}

fn send(path: &str, file: EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag = tag(&file);
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::from(file.data).into_response(),
    };
    let caching = if path.starts_with("assets/") { FOR_EVER } else { "no-cache" };
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    set(header::CONTENT_TYPE, kind(path));
    set(header::CACHE_CONTROL, caching);
    set(header::ETAG, &tag);
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    response
}

/// A file's content in a few letters.
fn tag(file: &EmbeddedFile) -> String {
    let hash: String = file.metadata.sha256_hash()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hash}\"")
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
