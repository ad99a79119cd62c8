//! Keys go into one header and nowhere else.

use polylogue_core::event::CallFailure;
use polylogue_providers::{Limits, Prices, catalogue};
use polylogue_runtime::port::Model;
use serde_json::json;

use crate::{
    support::{
        ask::{KEY, call, models_at, request},
        server::{Answer, Server},
    },
    vendor,
};

#[tokio::test]
async fn no_error_and_no_debug_shows_a_key() {
    let echo = format!("Incorrect API key provided: {KEY}. You sent Bearer {KEY}.");
    let bodies = [
        json!({"error": {"message": echo, "type": "invalid_request_error", "code": "invalid_api_key"}}),
        json!({"type": "error", "error": {"type": "authentication_error", "message": echo}}),
        json!({"error": echo}),
        json!({"detail": echo}),
        json!({"detail": [{"loc": ["header", "authorization"], "msg": echo, "input": KEY}]}),
        json!({"error": {"message": "Incorrect API key provided: sk-test-****6789."}}),
    ];
    let statuses = [400, 401, 403, 429, 500, 503];
    for vendor in vendor::ALL {
        let answers = statuses.iter().flat_map(|status| bodies.iter().map(|body| Answer::json(*status, body)));
        let answers: Vec<Answer> = answers.collect();
        let count = answers.len();
        let server = Server::start(answers).await;
        let models = models_at(&server.base(), Limits::default());
        for _ in 0..count {
            let error = models.answer(&call(request(vendor.model))).await.unwrap_err();
            let failure = CallFailure::from(&error);
            let text = format!("{error} {error:?} {failure:?} {models:?}");
            // Ollama has no key here, so nothing there could know one.
            if vendor.model != vendor::OLLAMA.model {
                assert!(!text.contains("sk-test") && !text.contains("0123456789"), "{text}");
            }
        }
        assert_eq!(server.seen().len(), count);
    }
    let models = models_at("http://127.0.0.1:9", Limits::default());
    let listing = format!("{:?}", catalogue::list(&models, &Prices::default()));
    assert!(!listing.contains("sk-test"), "{listing}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let elsewhere = Server::start(vec![]).await;
    let redirect = Answer::json(307, &json!({})).with_header("location", &format!("{}/v1/x", elsewhere.base()));
    let server = Server::start(vec![redirect]).await;
    models_at(&server.base(), Limits::default()).answer(&call(request("openai/gpt-4o"))).await.unwrap_err();
    assert!(elsewhere.seen().is_empty());
}
