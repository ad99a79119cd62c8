//! What a server says when it does not answer, and which error of the port that is.
//!
//! One reader for every vendor: their error bodies differ, what can be done about them does not. Only the
//! server's own message is taken over, never the part of the request that some servers echo.

mod refusal;

use std::time::{Duration, SystemTime};

use polylogue_runtime::port::CallError;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::secret::Secret;
pub(crate) use refusal::Lesson;

/// Characters of a server's message that are shown.
const MAX_MESSAGE_CHARS: usize = 400;

/// The longest wait that is believed. What a server asks for beyond it is cut to it.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// An answer that is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The machine-readable words: type, code, status, in lower case.
    words: Vec<String>,
    /// The parameter that the server blames, as it is named on the wire.
    param: Option<String>,
    retry_after: Option<Duration>,
}

impl Fault {
    /// From a response that is no success.
    pub(crate) fn from_response(status: u16, headers: &HeaderMap, body: &[u8], key: Option<&Secret>) -> Fault {
        let json = serde_json::from_slice(body).unwrap_or(Value::Null);
        let mut fault = Fault::from_json(status, &json, key);
        fault.retry_after = retry_after(headers, SystemTime::now()).or(fault.retry_after);
        fault
    }

    /// From an error in the middle of a stream, where there is no status.
    pub(crate) fn from_json(status: u16, body: &Value, key: Option<&Secret>) -> Fault {
        // Gemini wraps it in a list.
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let (detail_param, detail) = detail(body);
        let message = error.as_str().or_else(|| error["message"].as_str()).map(str::to_owned).or(detail);
        let mut words: Vec<String> = ["type", "code", "status"]
            .iter()
            .filter_map(|name| error[*name].as_str())
            .chain(error.pointer("/details/error_code").and_then(Value::as_str))
            .map(str::to_lowercase)
            .collect();
        let mut retry_after = None;
        for detail in error["details"].as_array().into_iter().flatten() {
            words.extend(detail["reason"].as_str().map(str::to_lowercase));
            retry_after = retry_after.or(detail["retryDelay"].as_str().and_then(seconds));
        }
        // A stream says the status inside the error, if at all.
        let status = if status > 0 { status } else { error["code"].as_u64().unwrap_or(0) as u16 };
        let message = message.map(without_echo).unwrap_or_else(|| match status {
            0 => "no reason is given".to_owned(),
            status => format!("HTTP status {status}"),
        });
        let message = key.map_or_else(|| message.clone(), |key| key.scrub(&message));
        let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
        let param = error["param"].as_str().map(str::to_owned).or(detail_param);
        Fault { status, message, words, param, retry_after }
    }

    /// Whether the machine-readable words contain one of these. Messages speak of billing for other reasons too.
    fn is_called(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.words.iter().any(|word| word.contains(part)))
    }

    fn says(&self, parts: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        self.is_called(parts) || parts.iter().any(|part| message.contains(part))
    }

    /// Whether the server does not know the path, which is something else than not knowing the model.
    pub(crate) fn is_no_such_path(&self) -> bool {
        matches!(self.status, 404 | 405) && !self.says(&["model"])
    }
}

/// A message without what some Python servers append to it: the input that they did not like, and where in
/// their code that was.
fn without_echo(message: String) -> String {
    let end = ["'input'", "\n\n", "\n  File "].iter().filter_map(|mark| message.find(mark)).min();
    message[..end.unwrap_or(message.len())].trim_end().to_owned()
}

/// FastAPI's `detail`: a text, or a list of places and problems. Its `input` is the request and stays out.
fn detail(body: &Value) -> (Option<String>, Option<String>) {
    match &body["detail"] {
        Value::String(text) => (None, Some(text.clone())),
        Value::Array(problems) => {
            let of = |problem: &Value| {
                let place: Vec<&str> =
                    problem["loc"].as_array().into_iter().flatten().filter_map(Value::as_str).skip(1).collect();
                Some((place.join("."), problem["msg"].as_str()?.to_owned()))
            };
            let found: Vec<(String, String)> = problems.iter().filter_map(of).collect();
            let message = found.iter().map(|(at, what)| format!("{at}: {what}")).collect::<Vec<_>>().join("; ");
            (found.first().map(|(at, _)| at.clone()), (!message.is_empty()).then_some(message))
        }
        _ => (None, body["message"].as_str().map(str::to_owned)),
    }
}

impl From<Fault> for CallError {
    fn from(fault: Fault) -> CallError {
        const CONTEXT: [&str; 12] = [
            "context_length_exceeded",
            "exceed_context_size",
            "context length",
            "context window",
            "context size",
            "maximum context",
            "prompt is too long",
            "input is too long",
            "too many tokens",
            "input token count",
            "maximum number of tokens allowed",
            "request_too_large",
        ];
        const KEY: [&str; 5] =
            ["authentication_error", "invalid_api_key", "api_key_invalid", "api key not valid", "unauthenticated"];
        const QUOTA: [&str; 3] = ["insufficient_quota", "billing", "spend_limit"];
        const REFUSED: [&str; 5] = [
            "content_policy",
            "content_filter",
            "content management policy",
            "prohibited_content",
            "input was flagged",
        ];
        let Fault { status, retry_after, .. } = fault;
        let message = fault.message.clone();
        if (300..400).contains(&status) {
            // Neither where it leads nor what the server says of it: an address may carry a secret.
            CallError::Unavailable(format!(
                "the provider's address redirects (HTTP status {status}), and a key is not sent on: set base_url to \
                 the address that it leads to"
            ))
        } else if fault.says(&REFUSED) {
            CallError::Refused(message)
        } else if matches!(status, 401 | 403) || fault.says(&KEY) {
            CallError::Unauthorized(message)
        } else if status == 402 || fault.is_called(&QUOTA) || fault.says(&["credit balance"]) {
            CallError::Rejected(message)
        } else if status == 413 || (status < 429 && fault.says(&CONTEXT)) {
            CallError::ContextTooLong(message)
        } else if status == 429 || fault.says(&["rate_limit", "resource_exhausted"]) {
            CallError::RateLimited { retry_after, message }
        } else if matches!(status, 503 | 529) || fault.says(&["overloaded"]) {
            CallError::Overloaded { retry_after, message }
        } else if status >= 500 && fault.says(&CONTEXT) {
            CallError::ContextTooLong(message)
        } else if !(400..500).contains(&status) {
            CallError::BadResponse(message)
        } else if status == 404 {
            CallError::Unavailable(format!("the provider does not have it: {message}"))
        } else if status == 408 {
            CallError::Network(message)
        } else {
            CallError::Rejected(message)
        }
    }
}

/// When a server says to come back: in milliseconds, in seconds, or by a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return wait(ms / 1_000.0);
    }
    let after = text("retry-after")?;
    seconds(after).or_else(|| {
        let date = httpdate::parse_http_date(after).ok()?;
        Some(date.duration_since(now).unwrap_or_default().min(MAX_RETRY_AFTER))
    })
}

/// `12`, `1.5` or `12s`.
fn seconds(text: &str) -> Option<Duration> {
    wait(text.strip_suffix('s').unwrap_or(text).parse().ok()?)
}

fn wait(seconds: f64) -> Option<Duration> {
    let bounded = seconds.min(MAX_RETRY_AFTER.as_secs_f64());
    (bounded >= 0.0).then(|| Duration::from_secs_f64(bounded))
}

#[cfg(test)]
mod tests;
