//! A server that refuses a parameter is asked again without it, and is not sent it a second time.

use std::time::Duration;

use polylogue_core::setup::Sampling;
use polylogue_providers::Limits;
use polylogue_runtime::port::{CallError, Model};
use serde_json::{Value, json};

use crate::{
    support::{
        ask::{call, models_at, request, shape},
        server::{Answer, Server},
    },
    vendor,
};

fn refusing(param: &str) -> Answer {
    let message = format!("Unsupported parameter: '{param}' is not supported with this model.");
    let error =
        json!({"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"});
    Answer::json(400, &json!({"error": error}))
}

fn full(model: &str) -> polylogue_core::ask::Request {
    let sampling =
        Sampling { temperature: Some(0.5), max_output_tokens: None, stop: vec!["END".into()], ..Sampling::default() };
    polylogue_core::ask::Request { shape: Some(shape()), sampling, ..request(model) }
}

#[tokio::test]
async fn what_a_model_refuses_is_left_out_and_remembered() {
    let answers = vec![
        refusing("temperature"),
        refusing("stop"),
        refusing("max_tokens"),
        (vendor::OPENAI.stream)(&["one EN", "D two"]),
        (vendor::OPENAI.stream)(&["three"]),
        (vendor::OPENAI.stream)(&["four"]),
    ];
    let server = Server::start(answers).await;
    let models = models_at(&server.base(), Limits::default());
    let reply = models.answer(&call(full("lab/odd"))).await.unwrap();
    assert_eq!(&*reply.text, "one ", "a stop sequence that the server refuses is applied here");
    models.answer(&call(full("lab/odd"))).await.unwrap();
    models.answer(&call(full("lab/even"))).await.unwrap();
    let seen = server.seen();
    let has = |at: usize, name: &str| seen[at].body.get(name).is_some();
    let sent: Vec<[bool; 4]> = (0..seen.len())
        .map(|at| ["temperature", "stop", "max_tokens", "max_completion_tokens"].map(|name| has(at, name)))
        .collect();
    assert_eq!(
        sent,
        [
            [true, true, true, false],
            [false, true, true, false],
            [false, false, true, false],
            [false, false, false, true],
            [false, false, false, true], // the second ask knows
            [true, true, true, false],   // another model is another matter
        ]
    );
}

#[tokio::test]
async fn a_schema_mode_that_is_refused_falls_rung_by_rung() {
    let fastapi = json!({"detail": [{"type": "literal_error", "loc": ["body", "response_format", "type"],
        "msg": "Input should be 'text' or 'json_object'", "input": "json_schema"}]});
    let answers = vec![
        Answer::json(422, &fastapi),
        refusing("response_format"),
        (vendor::OPENAI.stream)(&["{\"message\": \"Hi\"}"]),
    ];
    let server = Server::start(answers).await;
    models_at(&server.base(), Limits::default()).answer(&call(full("lab/small"))).await.unwrap();
    let kinds: Vec<Value> = server.seen().iter().map(|seen| seen.body["response_format"]["type"].clone()).collect();
    assert_eq!(kinds, [json!("json_schema"), json!("json_object"), Value::Null]);
    let last = &server.seen()[2].body["messages"][0]["content"];
    assert!(last.as_str().unwrap().contains("JSON schema"), "{last}");
}

#[tokio::test]
async fn a_lesson_holds_for_an_hour_and_one_of_a_schema_for_its_request() {
    let message = "Invalid schema for response_format 'reply': 'oneOf' is not permitted.";
    let stream = || (vendor::OPENAI.stream)(&["{\"message\": \"Hi\"}"]);
    let answers = vec![
        refusing("temperature"),
        Answer::json(400, &json!({"error": {"message": message}})),
        stream(),
        stream(),
        refusing("temperature"),
        stream(),
    ];
    let server = Server::start(answers).await;
    let models = models_at(&server.base(), Limits::default());
    for _ in 0..2 {
        models.answer(&call(full("lab/odd"))).await.unwrap();
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3_600)).await;
    tokio::time::resume();
    models.answer(&call(full("lab/odd"))).await.unwrap();
    let sent: Vec<(bool, Value)> = server
        .seen()
        .iter()
        .map(|seen| (seen.body.get("temperature").is_some(), seen.body["response_format"]["type"].clone()))
        .collect();
    let (schema, object) = (json!("json_schema"), json!("json_object"));
    let expected =
        [(true, &schema), (false, &schema), (false, &object), (false, &schema), (true, &schema), (false, &schema)];
    assert_eq!(sent, expected.map(|(temperature, form)| (temperature, form.clone())));
}

#[tokio::test]
async fn every_vendor_s_way_of_refusing_is_understood() {
    let anthropic =
        |message: &str| json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
    let gemini = |message: &str| json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": message}});
    let cases = [
        (vendor::ANTHROPIC, anthropic("This model does not support the effort parameter."), "/output_config/effort"),
        (vendor::ANTHROPIC, anthropic("output_config.format: Extra inputs are not permitted"), "/output_config/format"),
        (
            vendor::ANTHROPIC,
            anthropic("cache_control: Extra inputs are not permitted"),
            "/messages/1/content/0/cache_control",
        ),
        (vendor::ANTHROPIC, anthropic("stop_sequences: Extra inputs are not permitted"), "/stop_sequences"),
        (vendor::GEMINI, gemini("Thinking level is not supported for this model."), "/generationConfig/thinkingConfig"),
        (
            vendor::GEMINI,
            gemini("Invalid JSON payload received. Unknown name \"responseJsonSchema\""),
            "/generationConfig/responseJsonSchema",
        ),
        (vendor::GEMINI, gemini("Developer instruction is not enabled for this model"), "/systemInstruction"),
        (vendor::OLLAMA, json!({"error": "format is not supported by this model"}), "/format"),
    ];
    for (vendor, refusal, pointer) in cases {
        let answers = vec![Answer::json(400, &refusal), (vendor.stream)(&["{\"message\": \"Hi\"}"])];
        let server = Server::start(answers).await;
        models_at(&server.base(), Limits::default()).answer(&call(full(vendor.model))).await.unwrap();
        let seen = server.seen();
        assert!(seen[0].body.pointer(pointer).is_some(), "{pointer}: {}", seen[0].body);
        assert!(seen[1].body.pointer(pointer).is_none(), "{pointer}: {}", seen[1].body);
    }
}

#[tokio::test]
async fn learning_has_a_bound_and_a_wrong_value_is_not_unlearned() {
    let params = ["temperature", "stop", "max_tokens", "max_completion_tokens", "response_format", "response_format"];
    let mut answers: Vec<Answer> = params.iter().map(|param| refusing(param)).collect();
    answers.push((vendor::OPENAI.stream)(&["too late"]));
    let server = Server::start(answers).await;
    let reply = models_at(&server.base(), Limits::default()).answer(&call(full("lab/odd"))).await;
    assert!(matches!(reply, Err(CallError::Rejected(_))), "{reply:?}");
    assert_eq!(server.seen().len(), 6);

    let wrong =
        json!({"error": {"message": "max_tokens is too large: 2048", "param": "max_tokens", "code": "invalid_value"}});
    let server = Server::start(vec![Answer::json(400, &wrong)]).await;
    let reply = models_at(&server.base(), Limits::default()).answer(&call(full("lab/odd"))).await;
    assert_eq!(reply, Err(CallError::Rejected("max_tokens is too large: 2048".to_owned())));
}

#[tokio::test]
async fn a_host_without_ollama_s_own_path_is_asked_by_the_compatible_one() {
    let no_path = Answer::json(404, &json!({"detail": "Not Found"}));
    let answers = vec![no_path, (vendor::OPENAI.stream)(&["one"]), (vendor::OPENAI.stream)(&["two"])];
    let server = Server::start(answers).await;
    let models = models_at(&server.base(), Limits::default());
    for text in ["one", "two"] {
        assert_eq!(&*models.answer(&call(full("ollama/any"))).await.unwrap().text, text);
    }
    let paths: Vec<String> = server.seen().iter().map(|seen| seen.path.clone()).collect();
    assert_eq!(paths, ["/api/chat", "/v1/chat/completions", "/v1/chat/completions"]);

    let no_model = Answer::json(404, &json!({"error": "model 'any' not found"}));
    let server = Server::start(vec![no_model]).await;
    let reply = models_at(&server.base(), Limits::default()).answer(&call(full("ollama/any"))).await;
    assert!(matches!(reply, Err(CallError::Unavailable(_))), "{reply:?}");
}
