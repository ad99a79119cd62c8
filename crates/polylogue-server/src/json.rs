//! JSON bodies: bounded in size and time, and every failure in the form of [`Refusal`].

use axum::{
    body::to_bytes,
    extract::{FromRequest, Request},
    http::{StatusCode, header},
};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{
    app::App,
    error::{Code, Refusal},
};

/// A body of JSON.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        // A page elsewhere can make a browser send a form, but not JSON without being allowed to.
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Refusal::request("the body must be JSON: send `content-type: application/json`")
                .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let limit = app.settings.max_body_bytes;
        let too_large = || Refusal::new(Code::TooLarge, format!("the body is over {limit} bytes"));
        let announced = request.headers().get(header::CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let bytes = match timeout(app.settings.read_timeout, to_bytes(request.into_body(), limit)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) if is_limit(&error) => return Err(too_large()),
            Ok(Err(_)) => return Err(Refusal::request("the body broke off")),
            Err(_) => {
                return Err(
                    Refusal::request("the body did not arrive in time").with_status(StatusCode::REQUEST_TIMEOUT)
                );
            }
        };
        serde_json::from_slice(&bytes).map(Body).map_err(|error| Refusal::request(format!("the body: {error}")))
    }
}

fn is_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.to_string().contains("length limit"))
}
