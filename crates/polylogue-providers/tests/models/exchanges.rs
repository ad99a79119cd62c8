//! For every vendor, each way in which an exchange can go.

use std::{sync::Arc, time::Duration};

use polylogue_core::{ledger::Usage, text::reply};
use polylogue_providers::Limits;
use polylogue_runtime::port::{CallError, Model, Reply};
use serde_json::{Value, json};

use crate::{
    support::{
        ask::{Shown, call, call_watched, models_at, request, shape},
        server::{After, Answer, Server},
    },
    vendor::{self, Situation, Vendor},
};

/// What the recorded answers count, as far as the vendor counts it.
fn counted(vendor: &Vendor) -> Usage {
    let all = Usage { input: 100, output: 20, cached: 60, cache_written: 10, reasoning: 5, estimated: false };
    match vendor.model.split('/').next().unwrap() {
        "gemini" => Usage { cache_written: 0, ..all },
        "ollama" => Usage { input: 100, output: 20, ..Usage::default() },
        _ => all,
    }
}

async fn ask_once(vendor: &Vendor, answer: Answer) -> (Result<Reply, CallError>, Server) {
    let server = Server::start(vec![answer]).await;
    let models = models_at(&server.base(), Limits::default());
    (models.answer(&call(request(vendor.model))).await, server)
}

#[tokio::test]
async fn plain() {
    for vendor in vendor::ALL {
        let Some(whole) = vendor.whole else { continue };
        let (reply, _) = ask_once(&vendor, Answer::json(200, &whole("A place to return to."))).await;
        let expected =
            Reply { text: "A place to return to.".into(), usage: Some(counted(&vendor)), ..Reply::default() };
        assert_eq!(reply, Ok(expected), "{}", vendor.model);
    }
}

#[tokio::test]
async fn streamed_text_is_shown_as_it_arrives() {
    for vendor in vendor::ALL {
        let mut answer = (vendor.stream)(&["A place", " to return", " to."]).then(After::Pause);
        // Everything up to the first text comes at once; the server waits until that text was shown.
        let first: String = answer.pieces.drain(..=vendor.frame_counts.0).collect();
        answer.pieces.insert(0, first);
        let server = Server::start(vec![answer]).await;
        let shown = Shown::default();
        let (seen, go_on) = (shown.clone(), server.go_on());
        let watched = call_watched(request(vendor.model), move |text| {
            seen.push(text);
            go_on();
        });
        let reply = models_at(&server.base(), Limits::default()).answer(&watched).await;
        let expected =
            Reply { text: "A place to return to.".into(), usage: Some(counted(&vendor)), ..Reply::default() };
        assert_eq!(reply, Ok(expected), "{}", vendor.model);
        assert_eq!(shown.all(), ["A place", " to return", " to."], "{}", vendor.model);
    }
}

#[tokio::test]
async fn structured_and_structured_but_malformed() {
    for vendor in vendor::ALL {
        for (pieces, is_exact) in [
            (["{\"message\": \"Hi\", ", "\"final\": true}"], true),
            (["Here you go:\n```json\n{'message': 'Hi',", " 'final': True}"], false),
        ] {
            let server = Server::start(vec![(vendor.stream)(&pieces)]).await;
            let mut request = request(vendor.model);
            request.shape = Some(shape());
            let reply = models_at(&server.base(), Limits::default()).answer(&call(request)).await.unwrap();
            // The text goes to the ladder as it came: nothing here repairs.
            assert_eq!(&*reply.text, pieces.concat(), "{}", vendor.model);
            let reading = reply::read(&reply.text, &shape());
            assert_eq!(reading.value, Ok(json!({"message": "Hi", "final": true})), "{}", vendor.model);
            assert_eq!(reading.repairs.is_empty(), is_exact, "{}", vendor.model);
        }
    }
}

#[tokio::test]
async fn a_refusal_is_one_and_is_billed() {
    for vendor in vendor::ALL {
        let server = Server::start(vec![(vendor.refusal)()]).await;
        let call = call(request(vendor.model));
        let error = models_at(&server.base(), Limits::default()).answer(&call).await.unwrap_err();
        assert!(matches!(&error, CallError::Refused(why) if why.contains("I cannot do that.")), "{error:?}");
        let has_bill = vendor.model != vendor::OLLAMA.model;
        assert_eq!(call.deltas.take().usage.is_some(), has_bill, "{}", vendor.model);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_says_what_to_do() {
    for vendor in vendor::ALL {
        for status in [301, 302, 307, 308] {
            let elsewhere = Server::start(Vec::new()).await;
            let leads_to = format!("http://ada:pa55word@{}/v2?key=pa55word", elsewhere.address);
            let moved = Answer::json(status, &json!({"error": {"message": format!("Moved to {leads_to}")}}));
            let (reply, server) = ask_once(&vendor, moved.with_header("location", &leads_to)).await;
            let error = reply.unwrap_err();
            assert!(matches!(error, CallError::Unavailable(_)) && !error.is_passing(), "{error:?}");
            let told = error.to_string();
            assert!(told.contains("redirects") && told.contains("base_url"), "{told}");
            assert!(!told.contains("pa55word") && !told.contains("127.0.0.1"), "{told}");
            assert_eq!((server.seen().len(), elsewhere.seen().len()), (1, 0), "{}", vendor.model);
        }
    }
}

#[tokio::test]
async fn thoughts_that_came_to_nothing_are_charged() {
    let thought = "Hm, let me think about it for a while, and then for another.";
    let event = |event: Value| Answer::events(vec![format!("data: {event}\n\n")]);
    let chunk = |field: &str| json!({"choices": [{"index": 0, "delta": {field: thought, "content": null}}]});
    let thinking = json!({"type": "thinking_delta", "thinking": thought});
    for (model, answer) in [
        ("openai/o3", event(chunk("reasoning_content"))),
        ("openrouter/deepseek/deepseek-r1", event(chunk("reasoning"))),
        ("anthropic/claude-sonnet-5-5", event(json!({"type": "content_block_delta", "index": 0, "delta": thinking}))),
        ("ollama/qwen3", Answer::lines(&[json!({"message": {"content": "", "thinking": thought}, "done": false})])),
    ] {
        let server = Server::start(vec![answer.then(After::Cut)]).await;
        let call = call(request(model));
        models_at(&server.base(), Limits::default()).answer(&call).await.unwrap_err();
        let sent = call.ask.request.estimate();
        let used = call.deltas.take().used(sent);
        assert_eq!((used.input, used.output), (sent.input, 15), "{model}");
    }
}

#[tokio::test]
async fn errors_are_told_apart() {
    for vendor in vendor::ALL {
        for situation in [Situation::Overloaded, Situation::BadKey, Situation::ContextTooLong] {
            let (status, body) = (vendor.error)(situation);
            let (reply, _) = ask_once(&vendor, Answer::json(status, &body)).await;
            let error = reply.unwrap_err();
            let fits = match situation {
                Situation::RateLimited => matches!(error, CallError::RateLimited { .. }),
                Situation::Overloaded => matches!(error, CallError::Overloaded { .. }),
                Situation::BadKey => matches!(error, CallError::Unauthorized(_)),
                Situation::ContextTooLong => matches!(error, CallError::ContextTooLong(_)),
            };
            assert!(fits, "{} {situation:?}: {error:?}", vendor.model);
        }
        let (reply, _) = ask_once(&vendor, (vendor.overloaded_in_stream)()).await;
        assert!(matches!(reply, Err(CallError::Overloaded { .. })), "{}: {reply:?}", vendor.model);
    }
}

#[tokio::test]
async fn rate_limited_then_fine() {
    for vendor in vendor::ALL {
        let (status, body) = (vendor.error)(Situation::RateLimited);
        let limited = Answer::json(status, &body).with_header("retry-after", "7");
        let server = Server::start(vec![limited, (vendor.stream)(&["Fine."])]).await;
        let models = models_at(&server.base(), Limits::default());
        let error = models.answer(&call(request(vendor.model))).await.unwrap_err();
        assert!(matches!(error, CallError::RateLimited { .. }), "{}: {error:?}", vendor.model);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{}", vendor.model);
        assert_eq!(&*models.answer(&call(request(vendor.model))).await.unwrap().text, "Fine.");
        let seen = server.seen();
        assert_eq!(seen[0].text, seen[1].text, "the same request, byte for byte");
    }
}

#[tokio::test]
async fn a_stream_cut_anywhere_is_an_error_and_never_a_reply() {
    for vendor in vendor::ALL {
        let whole = (vendor.stream)(&["Half a ", "sentence."]);
        let (before, after) = vendor.frame_counts;
        assert_eq!(whole.pieces.len(), before + 2 + after, "{}", vendor.model);
        for pieces in 0..=before + 2 {
            for ending in [After::End, After::Cut] {
                let server = Server::start(vec![whole.clone().first(pieces).then(ending)]).await;
                let call = call(request(vendor.model));
                let reply = models_at(&server.base(), Limits::default()).answer(&call).await;
                assert!(matches!(reply, Err(CallError::Network(_))), "{} {pieces} {ending:?}: {reply:?}", vendor.model);
                let arrived = call.deltas.take();
                assert_eq!(arrived.text.is_empty(), pieces <= before, "what had arrived is kept");
                if vendor.model == vendor::ANTHROPIC.model && pieces > 0 {
                    assert_eq!(arrived.usage.unwrap().input, 100, "and so is the bill");
                }
            }
        }
        // A frame cut inside.
        let mut torn = whole.clone().first(before + 1);
        let last = torn.pieces.last_mut().unwrap();
        last.truncate(last.len() - 5);
        let (reply, _) = ask_once(&vendor, torn).await;
        assert!(matches!(reply, Err(CallError::Network(_))), "{}: {reply:?}", vendor.model);
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    for vendor in vendor::ALL {
        let event = |text: &str| Answer::events(vec![format!("data: {text}\n\n")]);
        let answers = match vendor.whole {
            None => vec![Answer::lines(&[json!({"hello": "there"})]), Answer::lines(&[json!("text")])],
            Some(whole) => vec![
                event("{\"hello\": \"there\"}"),
                event("{not json}"),
                event("[1, 2"),
                Answer::json(200, &json!({"hello": "there"})),
                Answer::json(200, &json!("text")),
                Answer::json(200, &whole("")),
                Answer { pieces: vec!["<html>".to_owned()], ..Answer::json(200, &json!({})) },
            ],
        };
        for answer in answers {
            let (reply, _) = ask_once(&vendor, answer.clone()).await;
            let fits = matches!(reply, Err(CallError::BadResponse(_) | CallError::Network(_)));
            assert!(fits, "{}: {answer:?} became {reply:?}", vendor.model);
        }
        let (reply, _) = ask_once(&vendor, Answer::events(vec![])).await;
        assert!(matches!(reply, Err(CallError::Network(_))), "{}: {reply:?}", vendor.model);
    }
}

#[tokio::test]
async fn stop_in_flight_closes_the_connection() {
    for vendor in vendor::ALL {
        for pieces in [0, vendor.frame_counts.0 + 1] {
            let answer = (vendor.stream)(&["Half a ", "sentence."]).first(pieces).then(After::Hang);
            let server = Server::start(vec![answer]).await;
            let shown = Arc::new(tokio::sync::Notify::new());
            let notify = shown.clone();
            let call = call_watched(request(vendor.model), move |_| notify.notify_one());
            let models = models_at(&server.base(), Limits::default());
            {
                let mut answering = models.answer(&call);
                let arrived = async {
                    if pieces > 0 {
                        shown.notified().await;
                    } else {
                        while server.seen().is_empty() {
                            tokio::task::yield_now().await;
                        }
                    }
                };
                tokio::select! {
                    reply = &mut answering => panic!("{}: {reply:?}", vendor.model),
                    () = arrived => {}
                }
            }
            server.client_left().await;
            let kept = if pieces > 0 { "Half a " } else { "" };
            assert_eq!(call.deltas.take().text, kept, "{}", vendor.model);
        }
    }
}

#[tokio::test]
async fn every_body_is_bounded_and_so_is_the_wait_after_its_end() {
    let tight = Limits { max_response_bytes: 2_000, ..Limits::default() };
    for vendor in vendor::ALL {
        let endless = (vendor.stream)(&["long "; 100]);
        let server = Server::start(vec![endless]).await;
        let reply = models_at(&server.base(), tight).answer(&call(request(vendor.model))).await;
        assert!(matches!(reply, Err(CallError::BadResponse(_))), "{}: {reply:?}", vendor.model);
    }
    // A server that has said everything but does not close is not waited for, and what it said counts.
    let finished = (vendor::OPENAI.stream)(&["Done."]).then(After::Hang);
    let server = Server::start(vec![finished]).await;
    let reply = models_at(&server.base(), tight).answer(&call(request(vendor::OPENAI.model))).await;
    assert_eq!(&*reply.unwrap().text, "Done.");
    // A port where nobody is.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = silent.local_addr().unwrap().to_string();
    drop(silent);
    let base = format!("http://ann:pa55word@{server}/v1");
    let reply = models_at(&base, tight).answer(&call(request(vendor::OPENAI.model))).await;
    let Err(CallError::Unreachable(why)) = &reply else { panic!("{reply:?}") };
    assert!(why.contains(&server) && !why.contains("pa55word") && !why.contains("/v1"), "{why}");
}
