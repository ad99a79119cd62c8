//! The server of faults does what it says, and what it reports is known.

use polylogue_core::ledger::Usage;
use polylogue_providers::Limits;
use polylogue_runtime::port::{CallError, Model};

use crate::support::{
    ask::{call, models_at, request},
    faults::{FaultServer, QUICK},
};

#[tokio::test]
async fn every_fault_is_an_error_and_every_reported_bill_is_known() {
    for model in ["openai/gpt-6.1-terra", "anthropic/claude-sonnet-5-5", "gemini/gemini-3-flash", "ollama/llama3.2"] {
        let reply = |_: &str, _: &_| ("{\"message\": \"All is well, and will be.\"}".to_owned(), String::new());
        let server = FaultServer::start(7, &QUICK, reply).await;
        let models = models_at(&server.base(), Limits::default());
        let mut billed = Usage::default();
        let (mut answered, mut failed) = (0, 0);
        for _ in 0..200 {
            let call = call(request(model));
            match models.answer(&call).await {
                Ok(reply) => {
                    answered += 1;
                    billed += reply.usage.unwrap();
                }
                Err(error) => {
                    failed += 1;
                    assert!(error.is_passing(), "{error:?}");
                    let limited = matches!(error, CallError::RateLimited { .. });
                    assert!(!limited || error.retry_after().is_none_or(|after| after.as_millis() == 1));
                    billed += call.deltas.take().usage.unwrap_or_default();
                }
            }
        }
        let books = server.books();
        assert_eq!((books.requests, books.answered), (200, answered));
        assert_eq!(books.failed.values().sum::<u64>(), failed);
        assert_eq!(books.failed.len(), 6, "every kind of fault happened: {books:?}");
        assert!(billed.input > 0 && billed.input < books.billed().input, "a hang-up is billed and not told: {model}");
    }
}
