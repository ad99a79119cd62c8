//! What vendors and servers really write, and what only looks like it.

use serde_json::{Value, json};

use super::*;

const NAMES: Names = &[
    ("temperature", &[Param::Temperature]),
    ("stop", &[Param::Stop]),
    ("max_tokens", &[Param::MaxTokens]),
    ("max_completion_tokens", &[Param::MaxCompletionTokens]),
    ("reasoning_effort", &[Param::Effort]),
    ("output_config.effort", &[Param::Effort]),
    ("effort", &[Param::Effort]),
    ("thinking", &[Param::Effort]),
    ("thinking level", &[Param::Effort]),
    ("output_config", &[Param::Effort, Param::Schema]),
    ("output_config.format", &[Param::Schema]),
    ("output format", &[Param::Schema]),
    ("response_format", &[Param::Schema, Param::JsonMode]),
    ("response format", &[Param::Schema, Param::JsonMode]),
    ("responseJsonSchema", &[Param::Schema]),
    ("json mode", &[Param::Schema]),
    ("format", &[Param::Schema]),
    ("stream", &[Param::Stream]),
    ("stream_options", &[Param::StreamUsage]),
    ("system role", &[Param::System]),
    ("messages[0].role", &[Param::System]),
    ("developer instruction", &[Param::System]),
    ("content", &[Param::CacheControl]),
    ("cache_control", &[Param::CacheControl]),
];

fn lesson(status: u16, body: &Value) -> Option<Lesson> {
    Fault::from_json(status, body, None).refuses(NAMES, Params::default())
}

fn said(message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}})
}

#[test]
fn what_is_refused_is_found_where_the_sentence_names_it() {
    let coded = |code: &str, param: &str, message: &str| json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}});
    let cases = [
        // OpenAI.
        (
            400,
            coded(
                "unsupported_parameter",
                "max_tokens",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            ),
            Param::MaxTokens,
        ),
        (
            400,
            coded(
                "unsupported_value",
                "temperature",
                "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
            ),
            Param::Temperature,
        ),
        (
            400,
            coded(
                "unsupported_value",
                "messages[0].role",
                "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            ),
            Param::System,
        ),
        (400, said("Unrecognized request argument supplied: reasoning_effort"), Param::Effort),
        (
            400,
            said(
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs",
            ),
            Param::Schema,
        ),
        // Anthropic.
        (400, said("temperature: Extra inputs are not permitted"), Param::Temperature),
        (400, said("`temperature` is deprecated for this model."), Param::Temperature),
        (400, said("This model does not support the effort parameter."), Param::Effort),
        (400, said("output_config.effort: Extra inputs are not permitted"), Param::Effort),
        (400, said("'claude-3-haiku-20240307' does not support output format."), Param::Schema),
        (400, said("messages.1.content.0.text.cache_control: Extra inputs are not permitted"), Param::CacheControl),
        // Gemini.
        (400, said("Thinking level is not supported for this model."), Param::Effort),
        (400, said("Budget 0 is invalid. This model only works in thinking mode."), Param::Effort),
        (
            400,
            said(
                "Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find field.",
            ),
            Param::Schema,
        ),
        (400, said("JSON mode is not enabled for models/gemma-3-27b-it"), Param::Schema),
        (400, said("Developer instruction is not enabled for models/gemma-3-27b-it"), Param::System),
        // Groq, DeepSeek, xAI, Mistral.
        (400, said("This model does not support response format `json_schema`. See supported models"), Param::Schema),
        (400, said("This response_format type is unavailable now"), Param::Schema),
        (
            400,
            json!({"code": "Client specified an invalid argument", "error": "Model grok-4 does not support parameter stop."}),
            Param::Stop,
        ),
        (400, said("Argument not supported on this model: stop"), Param::Stop),
        (
            422,
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}),
            Param::StreamUsage,
        ),
        // Servers of one's own.
        (
            422,
            json!({"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input should be 'text' or 'json_object'"}]}),
            Param::Schema,
        ),
        (
            400,
            json!({"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]"}),
            Param::StreamUsage,
        ),
        (
            400,
            said("\"response_format\" type must be one of \"text\" or \"json_object\", but got: json_schema"),
            Param::Schema,
        ),
        (
            500,
            said(
                "litellm.UnsupportedParamsError: openai does not support parameters: ['response_format'], for model=o1",
            ),
            Param::Schema,
        ),
        (
            500,
            said("Llama.create_chat_completion() got an unexpected keyword argument 'response_format'"),
            Param::Schema,
        ),
        (500, said("System role not supported"), Param::System),
        (400, said("messages.0.content: Input should be a valid string"), Param::CacheControl),
        (400, json!({"error": "format is not supported by this model"}), Param::Schema),
    ];
    for (status, body, param) in cases {
        assert_eq!(lesson(status, &body), Some(Lesson::of_the_model(param)), "{body}");
    }
}

#[test]
fn what_only_looks_like_a_refusal_is_none() {
    let coded = |code: &str, param: &str, message: &str| json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}});
    for (status, body) in [
        // The value is wrong, not the parameter: leaving it out would not be what was asked for.
        (
            400,
            coded(
                "invalid_value",
                "max_tokens",
                "max_tokens is too large: 900000. This model supports at most 16384 completion tokens",
            ),
        ),
        (400, coded("integer_above_max_value", "max_tokens", "Invalid 'max_tokens': integer above maximum value.")),
        (400, said("max_tokens: 900000 > 64000, which is the maximum allowed number of output tokens")),
        (400, said("temperature: Input should be less than or equal to 1")),
        (422, json!({"detail": [{"loc": ["body", "temperature"], "msg": "Input should be less than or equal to 1"}]})),
        (400, said("stop_sequences: each stop sequence must contain non-whitespace")),
        (400, said("stop: at most 4 sequences are allowed, more are not supported")),
        // Something else is not taken.
        (400, said("This model does not support image input")),
        (400, said("The image format is not supported. Send a PNG, or stop.")),
        (400, said("Country, region, or territory not supported")),
        (400, said("stopped supporting unsupported things")),
        (400, said("Tools are not supported while the temperature is set by the vendor")),
        (400, said("The file in content is not supported")),
        // Not about the request at all.
        (401, said("temperature: Extra inputs are not permitted")),
        (403, said("Unsupported parameter: 'stop' is not supported with this model.")),
        (429, said("temperature not supported")),
        (500, said("temperature not supported")),
        (503, coded("unsupported_parameter", "stop", "the parameter is not supported")),
    ] {
        assert_eq!(lesson(status, &body), None, "{body}");
    }
}

#[test]
fn a_schema_that_is_not_liked_says_nothing_of_the_next_one() {
    for message in [
        "Invalid schema for response_format 'reply': In context=('properties', 'to'), 'oneOf' is not permitted.",
        "output_config.format.schema: For 'string' type, property 'maxLength' is not supported",
        "The specified schema produces a constraint that has too many states for serving.",
    ] {
        let expected = Lesson { param: Param::Schema, is_of_the_model: false };
        assert_eq!(lesson(400, &said(message)), Some(expected), "{message}");
    }
}

#[test]
fn what_is_left_out_already_is_followed_by_the_next_rung() {
    let fault = Fault::from_json(400, &said("response_format is not supported"), None);
    for (without, expected) in [
        (&[][..], Some(Param::Schema)),
        (&[Param::Schema][..], Some(Param::JsonMode)),
        (&[Param::Schema, Param::JsonMode][..], None),
    ] {
        assert_eq!(fault.refuses(NAMES, Params::of(without)), expected.map(Lesson::of_the_model));
    }
    // As llama-cpp-python writes it, with the input and a place in its code.
    let message = "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), \
        'msg': \"Input should be 'text' or 'json_object'\", 'input': 'my prompt'}\n\n  File \"/srv/app.py\", line 376";
    let fault = Fault::from_json(500, &said(message), None);
    assert_eq!(fault.refuses(NAMES, Params::default()), Some(Lesson::of_the_model(Param::Schema)));
    assert!(!fault.message.contains("my prompt") && !fault.message.contains("/srv"), "{}", fault.message);
}
