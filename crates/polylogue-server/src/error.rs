//! The one form of every error, whatever raised it.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use polylogue_core::{Rejected, Timestamp, projection::CannotFork};
use polylogue_runtime::{
    HubError,
    port::{ArtifactError, Clock, JournalError, SystemClock},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::schema::described;

/// The codes of the public contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(rename = "ErrorCode")]
pub enum Code {
    InvalidConfig,
    CharacterLoadError,
    InvalidRequest,
    NotFound,
    Conflict,
    Unauthorized,
    TooLarge,
    RateLimited,
    ProviderError,
    Internal,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Code::InvalidConfig | Code::CharacterLoadError | Code::InvalidRequest => StatusCode::BAD_REQUEST,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Conflict => StatusCode::CONFLICT,
            Code::Unauthorized => StatusCode::UNAUTHORIZED,
            Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Code::ProviderError => StatusCode::BAD_GATEWAY,
            Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A request that is not granted, and why. The message is shown to the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    code: Code,
    message: String,
    context: Map<String, Value>,
    status: Option<StatusCode>,
    /// When the same request may succeed, where that is known.
    again_at: Option<Timestamp>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), context: Map::new(), status: None, again_at: None }
    }

    pub fn request(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::InvalidRequest, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::NotFound, message)
    }

    /// What went wrong inside goes to the log and not to the caller.
    pub fn internal(detail: impl std::fmt::Display) -> Refusal {
        tracing::error!(%detail, "a request failed inside");
        Refusal::new(Code::Internal, "something failed inside: the server's log says what, under this request's id")
    }

    /// What is needed cannot be used at the moment: the same request may well succeed later.
    fn unavailable(error: &dyn std::fmt::Display) -> Refusal {
        tracing::error!(%error, "a request could not be served");
        Refusal::new(Code::Internal, format!("{error}: try again")).with_status(StatusCode::SERVICE_UNAVAILABLE)
    }

    /// What is wrong with what was asked for, where that is why.
    pub(crate) fn of_the_request(&self) -> Option<&str> {
        matches!(self.code, Code::InvalidRequest | Code::InvalidConfig).then_some(&*self.message)
    }

    /// The same with a status that says more than the code's own.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Refusal {
        self.status = Some(status);
        self
    }

    /// The same with when it may be asked again.
    pub(crate) fn after(self, wait: std::time::Duration) -> Refusal {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Refusal { again_at: Some(SystemClock.now().plus_ms(wait)), ..self }
    }

    /// The same with what else programs are told.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Refusal {
        self.context.insert(key.to_owned(), value.into());
        self
    }
}

/// Every error, as it is sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    #[schemars(extend("const" = false))]
    success: bool,
    error: ErrorDetail,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ErrorDetail {
    code: Code,
    message: String,
    context: Map<String, Value>,
}

described!(sent: ErrorBody);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status.unwrap_or(self.code.status());
        let error = ErrorDetail { code: self.code, message: self.message, context: self.context };
        let mut response = (status, Json(ErrorBody { success: false, error })).into_response();
        match self.code {
            Code::Unauthorized if status == StatusCode::UNAUTHORIZED => {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ if status == StatusCode::SERVICE_UNAVAILABLE || self.code == Code::RateLimited => {
                let seconds = self.again_at.map_or(1, |at| at.since(SystemClock.now()).div_ceil(1_000).max(1));
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            _ => {}
        }
        response
    }
}

impl From<HubError> for Refusal {
    fn from(error: HubError) -> Refusal {
        let code = match &error {
            HubError::NoSuchSession(_) => Code::NotFound,
            HubError::Rejected(rejected) => of_rejected(rejected),
            HubError::Running
            | HubError::NotRunning
            | HubError::Elsewhere
            | HubError::Unheard
            | HubError::NotStopped => Code::Conflict,
            HubError::Journal(JournalError::Fenced { .. }) => Code::Conflict,
            HubError::Journal(error @ JournalError::Unavailable(_)) => return Refusal::unavailable(error),
            HubError::DaySpent { until, .. } | HubError::ShareSpent { until, .. } => {
                let again_at = Some(*until);
                return Refusal { again_at, ..Refusal::new(Code::RateLimited, error.to_string()) };
            }
            HubError::Busy(_) => Code::RateLimited,
            HubError::BadSetup(_) | HubError::CannotFork(CannotFork::BadChange(_)) => Code::InvalidConfig,
            HubError::CannotFork(CannotFork::Rejected(rejected)) => of_rejected(rejected),
            HubError::CannotFork(
                CannotFork::NoSuchRecord(..)
                | CannotFork::Complete(..)
                | CannotFork::Unread(_)
                | CannotFork::NoLine(_)
                | CannotFork::ReadsOtherwise(_),
            ) => Code::InvalidRequest,
            HubError::CannotFork(CannotFork::NotAJournal(_))
            | HubError::NotAJournal(_)
            | HubError::Journal(_)
            | HubError::Broken => {
                return Refusal::internal(error);
            }
        };
        Refusal::new(code, error.to_string())
    }
}

/// Whether what was said is wrong, or only the moment.
fn of_rejected(rejected: &Rejected) -> Code {
    match rejected {
        Rejected::EmptyMessage | Rejected::NotInCast(_) => Code::InvalidRequest,
        Rejected::TooLong(..) => Code::TooLarge,
        Rejected::BadSetup(_) => Code::InvalidConfig,
        Rejected::Ended(_)
        | Rejected::NotAsked(_)
        | Rejected::NoSuchClip(_)
        | Rejected::NotToNarrate(_)
        | Rejected::NotYourTurn(_)
        | Rejected::NotAwaited(_)
        | Rejected::NotPassedOver(_)
        | Rejected::Paused
        | Rejected::Begun
        | Rejected::NotForOthers
        | Rejected::NoNotes
        | Rejected::TooManyDirections(_)
        | Rejected::Unread(_)
        | Rejected::KeyUsed
        | Rejected::Complete(_)
        | Rejected::StillAtLimit(_) => Code::Conflict,
    }
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Refusal {
        match &error {
            JournalError::Unavailable(_) => Refusal::unavailable(&error),
            _ => Refusal::internal(error),
        }
    }
}

impl From<ArtifactError> for Refusal {
    fn from(error: ArtifactError) -> Refusal {
        match &error {
            ArtifactError::Missing => Refusal::not_found(error.to_string()),
            // A key or a bucket that is wrong is somebody's to mend: the request itself is good.
            ArtifactError::Unavailable(_) | ArtifactError::Failed(_) => Refusal::unavailable(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use polylogue_core::money::Money;

    use super::*;

    #[test]
    fn who_is_refused_for_a_while_is_told_for_how_long() {
        let until = SystemClock.now().plus_ms(3_600_000);
        for (error, least) in [(HubError::DaySpent { limit: Money::ZERO, until }, 3_500), (HubError::Busy(1), 1)] {
            let response = Refusal::from(error).into_response();
            let seconds: u64 = response.headers()[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
            assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
            assert!((least..=least + 100).contains(&seconds), "{seconds}");
        }
    }
}
