//! `GET /v1/audio/…`: clips, manifests and results, whole or in part, and nothing else that lies where they do.

use std::borrow::Cow;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use polylogue_runtime::port::{ArtifactError, ArtifactPath};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    app::App,
    caller::Caller,
    error::{ErrorBody, Refusal},
    format::chorus::body::Manifest,
    schema::described,
};

/// Bytes, as they are in the file.
struct Bytes;

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "binary" })
    }
}

described!(sent: Bytes);

/// A clip, whole or in part
#[utoipa::path(get, path = "/v1/audio/{audioPath}", tag = "chorus", operation_id = "readFile",
    params(("audioPath" = String, Path, description = "As an event or a result names it"),
        ("Range" = Option<String>, Header, example = "bytes=0-1023")),
    responses(
        (status = 200, description = "The whole file", content((Bytes = "audio/wav"), (Manifest = "application/json"), (String = "text/markdown"))),
        (status = 206, description = "A part of it", content((Bytes = "audio/wav"), (Bytes = "application/json"))),
        (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
    )
)]
pub(super) async fn clip(
    State(app): State<App>,
    caller: Caller,
    Path(path): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (path, kind) = named(&path).ok_or(ArtifactError::Missing)?;
    caller.must_hear(&app, &path).await?;
    let file = app.artifacts.open(&path).await?;
    let length = file.size();
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let (status, start, end) = match range.and_then(|range| part(range, length)) {
        None => (StatusCode::OK, 0, length),
        Some(Some((start, end))) => (StatusCode::PARTIAL_CONTENT, start, end),
        Some(None) => {
            let refusal = Refusal::request(format!("the file has {length} bytes: the range lies outside"))
                .with_status(StatusCode::RANGE_NOT_SATISFIABLE);
            return Ok(([(header::CONTENT_RANGE, format!("bytes */{length}"))], refusal).into_response());
        }
    };
    let body = match method {
        Method::HEAD => Body::empty(),
        _ => Body::from_stream(file.read(start..end).await?),
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, (end - start).into());
    if status == StatusCode::PARTIAL_CONTENT {
        let range = HeaderValue::from_str(&format!("bytes {start}-{}/{length}", end - 1));
        headers.insert(header::CONTENT_RANGE, range.map_err(Refusal::internal)?);
    }
    Ok(response)
}

/// The path of a file, if it can be one and is of a kind that sessions make.
fn named(path: &str) -> Option<(ArtifactPath, &'static str)> {
    let kind = match path.rsplit_once('.')?.1 {
        "wav" => "audio/wav",
        "json" => "application/json",
        "md" => "text/markdown; charset=utf-8",
        _ => return None,
    };
    Some((ArtifactPath::parse(path)?, kind))
}

/// The part that a `Range` asks for, as its start and the place after its end. `None` when it is no range that
/// is understood, and the whole is sent; `Some(None)` when there is no such part.
fn part(range: &str, length: u64) -> Option<Option<(u64, u64)>> {
    let (from, to) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = (from.trim(), to.trim());
    let bounds = match (from.is_empty(), to.is_empty()) {
        (true, true) => return None,
        (true, false) => (length.saturating_sub(to.parse().ok()?), length),
        (false, true) => (from.parse().ok()?, length),
        (false, false) => {
            let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
            if to < from {
                return None;
            }
            (from, to.saturating_add(1).min(length))
        }
    };
    Some(Some(bounds).filter(|(start, end)| start < end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_file() {
        for (range, bounds) in [
            ("bytes=0-3", Some(Some((0, 4)))),
            ("bytes=4-", Some(Some((4, 10)))),
            ("bytes=-3", Some(Some((7, 10)))),
            ("bytes=-30", Some(Some((0, 10)))),
            ("bytes=8-99", Some(Some((8, 10)))),
            ("bytes=10-", Some(None)),
            ("bytes=-0", Some(None)),
            ("bytes=3-2", None),
            ("bytes=0-1,3-4", None),
            ("bytes=-", None),
            ("lines=0-1", None),
            ("bytes=x-1", None),
        ] {
            assert_eq!(part(range, 10), bounds, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Some(None));
    }
}
