//! The doctor's question.

use polylogue_providers::{
    Limits,
    catalogue::{Caching, Structured, probe},
};
use polylogue_runtime::port::CallError;

use crate::{
    support::{
        ask::models_at,
        server::{Answer, Server},
    },
    vendor::{self, Situation},
};

#[tokio::test]
async fn a_probe_tells_what_worked() {
    let cases = [
        (vendor::OPENAI, "{\"answer\": \"yes\"}", Structured::Exact, Caching::Worked { cached_tokens: 60 }),
        (vendor::ANTHROPIC, "Sure: {\"answer\": \"Yes\"}", Structured::Repaired, Caching::Worked { cached_tokens: 60 }),
        (vendor::OLLAMA, "Of course it is.", Structured::Failed, Caching::NotSeen),
    ];
    for (vendor, text, structured, caching) in cases {
        let server = Server::start(vec![(vendor.stream)(&[text]), (vendor.stream)(&[text])]).await;
        let models = models_at(&server.base(), Limits::default());
        let found = probe(&models, &vendor.model.parse().unwrap()).await.unwrap();
        assert_eq!((found.structured, found.caching), (structured, caching), "{}", vendor.model);
        assert!(!found.round_trip.is_zero());
        let seen = server.seen();
        assert_eq!(seen[0].text, seen[1].text);
    }
    let (status, body) = (vendor::OPENAI.error)(Situation::BadKey);
    let server = Server::start(vec![Answer::json(status, &body)]).await;
    let found = probe(&models_at(&server.base(), Limits::default()), &vendor::OPENAI.model.parse().unwrap()).await;
    assert!(matches!(found, Err(CallError::Unauthorized(_))), "{found:?}");
}
