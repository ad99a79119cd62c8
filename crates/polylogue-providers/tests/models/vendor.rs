//! The same conversation in every vendor's words: what a server of each sends in each situation.

use serde_json::{Value, json};

use crate::support::server::Answer;

/// A vendor, by the recorded form of its answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vendor {
    pub(crate) model: &'static str,
    /// A whole answer that was not streamed; `None` where there is no such thing.
    pub(crate) whole: Option<fn(&str) -> Value>,
    /// A streamed answer in these pieces.
    pub(crate) stream: fn(&[&str]) -> Answer,
    /// Frames before the first text and after the last.
    pub(crate) frame_counts: (usize, usize),
    /// A refusal of the model, and the words it says.
    pub(crate) refusal: fn() -> Answer,
    /// The body of an error, by situation.
    pub(crate) error: fn(Situation) -> (u16, Value),
    /// An error that comes in the middle of a stream.
    pub(crate) overloaded_in_stream: fn() -> Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    RateLimited,
    Overloaded,
    BadKey,
    ContextTooLong,
}

pub(crate) const ALL: [Vendor; 4] = [OPENAI, ANTHROPIC, GEMINI, OLLAMA];

fn event(name: Option<&str>, data: &Value) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

/// What every vendor counts for its answer: 100 in, of which 60 cached, and 20 out, of which 5 thinking.
pub(crate) const OPENAI: Vendor = Vendor {
    model: "openai/gpt-6.1-terra",
    whole: Some(|text| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-6.1-terra",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text, "refusal": null}, "finish_reason": "stop"}],
            "usage": openai_usage(),
        })
    }),
    stream: |texts| {
        let chunk = |delta: Value, finish: Value| {
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": null})
        };
        let mut pieces = vec![event(None, &chunk(json!({"role": "assistant", "content": ""}), Value::Null))];
        pieces.extend(texts.iter().map(|text| event(None, &chunk(json!({"content": text}), Value::Null))));
        pieces.push(event(None, &chunk(json!({}), json!("stop"))));
        pieces.push(event(None, &json!({"object": "chat.completion.chunk", "choices": [], "usage": openai_usage()})));
        pieces.push("data: [DONE]\n\n".to_owned());
        Answer::events(pieces)
    },
    frame_counts: (1, 3),
    refusal: || {
        let chunk = |delta: Value, finish: Value| {
            event(None, &json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
        };
        Answer::events(vec![
            chunk(json!({"refusal": "I cannot "}), Value::Null),
            chunk(json!({"refusal": "do that."}), Value::Null),
            chunk(json!({}), json!("stop")),
            event(None, &json!({"choices": [], "usage": openai_usage()})),
        ])
    },
    error: |situation| {
        let body = |kind: &str, code: &str, message: &str| json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
        match situation {
            Situation::RateLimited => {
                (429, body("tokens", "rate_limit_exceeded", "Rate limit reached for gpt-6.1-terra"))
            }
            Situation::Overloaded => (503, body("server_error", "overloaded", "That model is currently overloaded")),
            Situation::BadKey => (
                401,
                body("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-test-******6789."),
            ),
            Situation::ContextTooLong => (
                400,
                body(
                    "invalid_request_error",
                    "context_length_exceeded",
                    "Your input exceeds the context window of this model.",
                ),
            ),
        }
    },
    overloaded_in_stream: || {
        let error = json!({"error": {"message": "The server is overloaded", "type": "overloaded_error", "code": null}});
        Answer::events(vec![event(None, &error)])
    },
};

fn openai_usage() -> Value {
    json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 5},
    })
}

pub(crate) const ANTHROPIC: Vendor = Vendor {
    model: "anthropic/claude-sonnet-5-5",
    whole: Some(|text| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5",
            "content": [{"type": "thinking", "thinking": "", "signature": "x"}, {"type": "text", "text": text}],
            "stop_reason": "end_turn", "stop_sequence": null, "stop_details": null,
            "usage": {"input_tokens": 30, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10,
                "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 5}},
        })
    }),
    stream: |texts| Answer::events(anthropic_events(texts, &json!({"stop_reason": "end_turn", "stop_details": null}))),
    frame_counts: (6, 3),
    refusal: || {
        let details = json!({"type": "refusal", "category": "cyber", "explanation": "I cannot do that."});
        Answer::events(anthropic_events(&[], &json!({"stop_reason": "refusal", "stop_details": details})))
    },
    error: |situation| {
        let body = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
        match situation {
            Situation::RateLimited => (429, body("rate_limit_error", "This request would exceed your rate limit.")),
            Situation::Overloaded => (529, body("overloaded_error", "Overloaded")),
            Situation::BadKey => (401, body("authentication_error", "invalid x-api-key")),
            Situation::ContextTooLong => {
                (400, body("invalid_request_error", "prompt is too long: 1200000 tokens > 1000000 maximum"))
            }
        }
    },
    overloaded_in_stream: || {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        Answer::events(vec![event(Some("error"), &error)])
    },
};

fn anthropic_events(texts: &[&str], stopped: &Value) -> Vec<String> {
    let named = |data: Value| event(data["type"].as_str(), &data);
    let start = json!({"input_tokens": 30, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10, "output_tokens": 1});
    let mut pieces = vec![
        named(json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "content": [], "model": "claude-sonnet-5-5", "stop_reason": null, "usage": start}})),
        named(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        ),
        event(Some("ping"), &json!({"type": "ping"})),
        named(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}}),
        ),
        named(json!({"type": "content_block_stop", "index": 0})),
        named(json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}})),
    ];
    pieces.extend(texts.iter().map(|text| {
        named(json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text}}))
    }));
    pieces.push(named(json!({"type": "content_block_stop", "index": 1})));
    let usage = json!({"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 5}});
    pieces.push(named(json!({"type": "message_delta", "delta": stopped, "usage": usage})));
    pieces.push(named(json!({"type": "message_stop"})));
    pieces
}

pub(crate) const GEMINI: Vendor = Vendor {
    model: "gemini/gemini-3.8-flash",
    whole: Some(|text| {
        json!({
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": gemini_usage(), "modelVersion": "gemini-3.8-flash",
        })
    }),
    stream: |texts| {
        let content =
            |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]});
        let mut pieces = vec![event(None, &content(json!({"text": "Hm.", "thought": true})))];
        pieces.extend(texts.iter().map(|text| event(None, &content(json!({"text": text})))));
        let last = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": gemini_usage()});
        pieces.push(event(None, &last));
        Answer::events(pieces)
    },
    frame_counts: (1, 1),
    refusal: || {
        let blocked = json!({"candidates": [{"finishReason": "SAFETY", "finishMessage": "I cannot do that.", "index": 0}],
            "usageMetadata": gemini_usage()});
        Answer::events(vec![event(None, &blocked)])
    },
    error: |situation| {
        let body = |code: u16, status: &str, message: &str| json!({"error": {"code": code, "status": status, "message": message}});
        match situation {
            Situation::RateLimited => {
                (429, body(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota per minute."))
            }
            Situation::Overloaded => {
                (503, body(503, "UNAVAILABLE", "The model is overloaded. Please try again later."))
            }
            Situation::BadKey => {
                let mut body = body(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
                body["error"]["details"] =
                    json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
                (400, body)
            }
            Situation::ContextTooLong => (
                400,
                body(
                    400,
                    "INVALID_ARGUMENT",
                    "The input token count exceeds the maximum number of tokens allowed 1048576.",
                ),
            ),
        }
    },
    overloaded_in_stream: || {
        let error = json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}});
        Answer::events(vec![event(None, &error)])
    },
};

fn gemini_usage() -> Value {
    json!({"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 15, "thoughtsTokenCount": 5,
        "totalTokenCount": 120})
}

pub(crate) const OLLAMA: Vendor = Vendor {
    model: "ollama/llama3.2",
    whole: None,
    stream: |texts| {
        let line =
            |text: &str| json!({"model": "llama3.2", "message": {"role": "assistant", "content": text}, "done": false});
        let mut lines: Vec<Value> = texts.iter().map(|text| line(text)).collect();
        lines.push(json!({"model": "llama3.2", "message": {"role": "assistant", "content": ""}, "done": true,
            "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 20}));
        Answer::lines(&lines)
    },
    frame_counts: (0, 1),
    // Local models refuse in their own words; there is no sign for it.
    refusal: || Answer::lines(&[json!({"error": "content_filter: I cannot do that."})]),
    error: |situation| match situation {
        Situation::RateLimited => (429, json!({"error": "too many concurrent requests"})),
        Situation::Overloaded => {
            (503, json!({"error": "server busy, please try again.  maximum pending requests exceeded"}))
        }
        Situation::BadKey => (401, json!({"error": "unauthorized"})),
        Situation::ContextTooLong => (400, json!({"error": "the input length exceeds the context length"})),
    },
    overloaded_in_stream: || Answer::lines(&[json!({"error": "the server is overloaded"})]),
};
