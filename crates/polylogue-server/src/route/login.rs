//! `/v1/login`: a token becomes a cookie, so that a browser's streams and audio pass the door too.

use std::time::Duration;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{sync::Mutex, time::sleep};

use crate::{
    app::App,
    door,
    error::{Code, ErrorBody, Refusal},
    json::Body,
    schema::described,
    token::as_cookie,
};

described!(taken: Login);

/// How long a browser keeps the cookie: thirty days.
const MAX_AGE_SECONDS: u64 = 30 * 24 * 60 * 60;

/// How long a wrong token is waited over.
const WAIT: Duration = Duration::from_millis(250);

/// Wrong tokens are waited over one after the other, whoever sends them: so they are bounded in number.
static WRONG: Mutex<()> = Mutex::const_new(());

/// Not `Debug`: a token is never shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LoginRequest")]
pub(super) struct Login {
    token: String,
}

/// Sign in with a token: the cookie counts wherever the header does
#[utoipa::path(post, path = "/v1/login", tag = "login", operation_id = "login", request_body = Login, responses(
    (status = 204, description = "The cookie is set; where the server wants no token, nothing is"),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn login(
    State(app): State<App>,
    headers: HeaderMap,
    Body(login): Body<Login>,
) -> Result<(StatusCode, HeaderMap), Refusal> {
    if !app.settings.has_tokens() {
        return Ok((StatusCode::NO_CONTENT, HeaderMap::new()));
    }
    if app.settings.let_in(login.token.trim()).is_none() {
        let _turn = WRONG.lock().await;
        sleep(WAIT).await;
        return Err(Refusal::new(Code::Unauthorized, "this is none of the server's tokens"));
    }
    Ok((StatusCode::NO_CONTENT, cookie(&headers, &as_cookie(login.token.trim()), MAX_AGE_SECONDS)))
}

/// Sign out: the cookie is taken back
#[utoipa::path(post, path = "/v1/logout", tag = "login", operation_id = "logout", responses(
    (status = 204, description = "The browser has no cookie any more"),
    (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody),
))]
pub(super) async fn logout(headers: HeaderMap) -> (StatusCode, HeaderMap) {
    (StatusCode::NO_CONTENT, cookie(&headers, "", 0))
}

fn cookie(request: &HeaderMap, value: &str, max_age: u64) -> HeaderMap {
    let is_https =
        request.get("x-forwarded-proto").is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
    let secure = if is_https { "; Secure" } else { "" };
    let name = door::COOKIE;
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age}{secure}");
    let cookie = HeaderValue::from_str(&cookie).expect("a token is written in hexadecimal");
    HeaderMap::from_iter([(header::SET_COOKIE, cookie)])
}
