//! Error bodies as the vendors and servers really write them.

use serde_json::json;

use super::*;

#[test]
fn every_fault_is_what_a_caller_can_act_on() {
    let openai = |kind: &str, code: &str, message: &str| json!({"error": {"message": message, "type": kind, "code": code, "param": null}});
    let anthropic = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    let gemini = |code: u16, status: &str, message: &str| json!([{"error": {"code": code, "status": status, "message": message}}]);
    let after = Some(Duration::from_secs(7));
    let cases = [
        (401, openai("invalid_request_error", "invalid_api_key", "Incorrect API key"), "Unauthorized"),
        (401, anthropic("authentication_error", "invalid x-api-key"), "Unauthorized"),
        (
            400,
            json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
            "details": [{"reason": "API_KEY_INVALID"}]}}),
            "Unauthorized",
        ),
        (403, gemini(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers"), "Unauthorized"),
        (429, openai("requests", "rate_limit_exceeded", "Rate limit reached"), "RateLimited"),
        (429, anthropic("rate_limit_error", "This request would exceed your rate limit"), "RateLimited"),
        (429, openai("insufficient_quota", "insufficient_quota", "You exceeded your current quota"), "Rejected"),
        (400, anthropic("invalid_request_error", "Your credit balance is too low"), "Rejected"),
        (
            429,
            gemini(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            "RateLimited",
        ),
        (
            403,
            json!({"error": {"code": 403, "message": "Your input was flagged", "metadata": {"flagged_input": "x"}}}),
            "Refused",
        ),
        (529, anthropic("overloaded_error", "Overloaded"), "Overloaded"),
        (0, anthropic("overloaded_error", "Overloaded"), "Overloaded"),
        (503, gemini(503, "UNAVAILABLE", "The model is overloaded."), "Overloaded"),
        (500, anthropic("api_error", "Internal server error"), "BadResponse"),
        (502, Value::Null, "BadResponse"),
        (
            400,
            openai(
                "invalid_request_error",
                "context_length_exceeded",
                "This model's maximum context length is 128000 tokens.",
            ),
            "ContextTooLong",
        ),
        (
            400,
            anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            "ContextTooLong",
        ),
        (
            400,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
            ),
            "ContextTooLong",
        ),
        (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size"}}),
            "ContextTooLong",
        ),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), "ContextTooLong"),
        (400, openai("invalid_request_error", "content_policy_violation", "Your request was rejected"), "Refused"),
        (404, openai("invalid_request_error", "model_not_found", "The model `gpt-9` does not exist"), "Unavailable"),
        (404, json!({"error": "model 'nope' not found"}), "Unavailable"),
        (400, json!({"object": "error", "message": "bad thing"}), "Rejected"),
        (
            422,
            json!({"detail": [{"loc": ["body", "messages"], "msg": "Field required", "input": {"secret": "prompt"}}]}),
            "Rejected",
        ),
    ];
    for (status, body, expected) in cases {
        let fault = Fault::from_json(status, &body, None);
        let error = CallError::from(Fault { retry_after: after, ..fault });
        assert!(format!("{error:?}").starts_with(expected), "{body} became {error:?}");
        assert!(!error.to_string().contains("prompt\""), "{error}");
    }
}

#[test]
fn a_server_may_say_when_to_come_back_in_any_way() {
    let now = httpdate::parse_http_date("Sun, 15 Nov 2026 20:00:00 GMT").unwrap();
    for (name, value, expected) in [
        ("retry-after", "12", Some(12_000)),
        ("retry-after", "1.5", Some(1_500)),
        ("retry-after", "Sun, 15 Nov 2026 20:01:00 GMT", Some(60_000)),
        ("retry-after", "Sun, 15 Nov 2026 19:00:00 GMT", Some(0)),
        ("retry-after", "999999999", Some(3_600_000)),
        ("retry-after", "-1", None),
        ("retry-after", "soon", None),
        ("retry-after-ms", "250", Some(250)),
    ] {
        let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
        assert_eq!(retry_after(&headers, now), expected.map(Duration::from_millis), "{name}: {value}");
    }
    let both = HeaderMap::from_iter([
        ("retry-after".parse().unwrap(), "9".parse().unwrap()),
        ("retry-after-ms".parse().unwrap(), "100".parse().unwrap()),
    ]);
    assert_eq!(retry_after(&both, now), Some(Duration::from_millis(100)));
    let body = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}]}});
    assert_eq!(CallError::from(Fault::from_json(429, &body, None)).retry_after(), Some(Duration::from_millis(3_500)));
}

#[test]
fn an_echoed_key_and_an_endless_message_are_cut() {
    let key = Secret::new("sk-proj-abcdefghijklmnop").unwrap();
    let body = json!({"error": {"message": format!("Incorrect API key provided: sk-proj-abcdefghijklmnop. {}", "x".repeat(9_000))}});
    let fault = Fault::from_json(401, &body, Some(&key));
    assert!(!fault.message.contains("sk-proj"));
    assert_eq!(fault.message.chars().count(), MAX_MESSAGE_CHARS);
}
