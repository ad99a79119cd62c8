//! A good answer is kept, whatever its provider says of the usage; and that it broke off is told.

use polylogue_providers::Limits;
use polylogue_runtime::port::{Model, Reply};
use serde_json::{Value, json};

use crate::{
    support::{
        ask::{call, models_at, request},
        server::{Answer, Server},
    },
    vendor,
};

async fn ask(model: &str, answer: Answer) -> Reply {
    let server = Server::start(vec![answer]).await;
    let models = models_at(&server.base(), Limits::default());
    models.answer(&call(request(model))).await.unwrap_or_else(|error| panic!("{model}: {error}"))
}

/// The answer with every count of tokens in it replaced.
fn with_counts(mut answer: Answer, count: &Value) -> Answer {
    for piece in &mut answer.pieces {
        let Some(start) = piece.find('{') else { continue };
        let mut document: Value = serde_json::from_str(piece[start..].trim()).unwrap();
        assert!(!document.is_null());
        replace(&mut document, count);
        let end = piece[start..].trim_end().len() + start;
        piece.replace_range(start..end, &document.to_string());
    }
    answer
}

fn replace(value: &mut Value, count: &Value) {
    let is_count = |name: &str, value: &Value| {
        let name = name.to_lowercase();
        value.is_number() && (name.contains("token") || name.contains("eval_count"))
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if is_count(name, value) {
                    *value = count.clone();
                }
                replace(value, count);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, count)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn a_usage_that_counts_nothing_costs_no_answer() {
    for vendor in vendor::ALL {
        for count in [json!(-7), json!("many"), json!("12"), json!(12.5), json!(1e30), json!(u64::MAX), json!([1])] {
            let streamed = with_counts((vendor.stream)(&["A place", " to return to."]), &count);
            let whole = vendor.whole.map(|whole| Answer::json(200, &whole("A place to return to.")));
            for answer in [streamed].into_iter().chain(whole.map(|whole| with_counts(whole, &count))) {
                let reply = ask(vendor.model, answer).await;
                // Without a usage it is estimated by those who asked.
                let expected = Reply { text: "A place to return to.".into(), ..Reply::default() };
                assert_eq!(reply, expected, "{} {count}", vendor.model);
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_at_the_output_limit_says_so() {
    for vendor in vendor::ALL {
        let whole = (vendor.stream)(&["A place", " to return to."]);
        assert!(!ask(vendor.model, whole.clone()).await.is_full, "{}", vendor.model);
        let mut full = whole;
        for (complete, cut) in [
            ("\"finish_reason\":\"stop\"", "\"finish_reason\":\"length\""),
            ("\"stop_reason\":\"end_turn\"", "\"stop_reason\":\"max_tokens\""),
            ("\"finishReason\":\"STOP\"", "\"finishReason\":\"MAX_TOKENS\""),
            ("\"done_reason\":\"stop\"", "\"done_reason\":\"length\""),
        ] {
            full.pieces.iter_mut().for_each(|piece| *piece = piece.replace(complete, cut));
        }
        let reply = ask(vendor.model, full).await;
        assert_eq!((&*reply.text, reply.is_full), ("A place to return to.", true), "{}", vendor.model);
        assert!(reply.usage.is_some(), "{}", vendor.model);
    }
}
