//! The ladder, rung by rung, on what models really send.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn envelope() -> Shape {
    Shape::Object(vec![
        Field::required("message", Shape::Text { max_chars: None }),
        Field::optional(
            "handoff",
            Shape::Object(vec![
                Field::required("to", Shape::Choice(vec!["gpt".into(), "claude".into()])),
                Field::required("task", Shape::Text { max_chars: Some(20) }),
            ]),
        ),
        Field::optional("final", Shape::Bool),
    ])
}

#[test]
fn a_good_reply_needs_no_repair() {
    let reading =
        read(r#" {"message": "Hi {there}", "handoff": {"to": "gpt", "task": "Go on."}, "final": false} "#, &envelope());
    let value = json!({"message": "Hi {there}", "handoff": {"to": "gpt", "task": "Go on."}, "final": false});
    assert_eq!(reading, Reading { value: Ok(value), repairs: vec![] });
}

#[test]
fn each_rung_is_climbed_and_named() {
    use Repair::*;
    let hi = json!({"message": "Hi"});
    let cases: &[(&str, Value, &[Repair])] = &[
        ("```json\n{\"message\": \"Hi\"}\n```", hi.clone(), &[Fence]),
        ("```\n{\"message\": \"Hi\"}", hi.clone(), &[Fence]),
        ("Sure! Here it is: {\"message\": \"Hi\"} Hope that helps.", hi.clone(), &[Prose]),
        ("<think>{\"message\": \"no\"}</think>{\"message\": \"Hi\"}", hi.clone(), &[Thinking]),
        ("still thinking</think>\n{\"message\": \"Hi\"}", hi.clone(), &[Thinking]),
        ("{'message': 'Hi'}", hi.clone(), &[Quotes]),
        ("{“message”: “Hi”}", hi.clone(), &[Quotes]),
        ("{message: \"Hi\"}", hi.clone(), &[BareWord]),
        ("{\"message\": \"Hi\",}", hi.clone(), &[Comma]),
        ("{\"message\": \"Hi\" \"final\": true}", json!({"message": "Hi", "final": true}), &[Comma]),
        ("{\"message\": \"Hi\" // greet\n}", hi.clone(), &[Comment]),
        ("{\"message\": \"Hi\"", hi.clone(), &[Truncated]),
        ("{\"message\": \"Hi", hi.clone(), &[Truncated]),
        ("{\"message\": \"Hi\", \"final\": tr", hi.clone(), &[Truncated, EmptyField]),
        ("{\"message\": \"Hi\", \"handoff\": {\"to\":", hi.clone(), &[Truncated, EmptyField]),
        ("{\"message\": \"one\ntwo\"}", json!({"message": "one\ntwo"}), &[RawNewline]),
        (
            "{\"message\": \"She said \"no\", then left.\"}",
            json!({"message": "She said \"no\", then left."}),
            &[InnerQuote],
        ),
        (
            "{'message': 'It's done', 'final': True}",
            json!({"message": "It's done", "final": true}),
            &[Quotes, InnerQuote, BareWord],
        ),
        ("{\"message\": \"Hi\"} {\"message\": \"Again\"}", hi.clone(), &[Prose, FirstOfSeveral]),
        ("{\"reply\": {\"message\": \"Hi\"}}", hi.clone(), &[Nested]),
        ("[{\"message\": \"Hi\"}]", hi.clone(), &[Prose]),
        ("{\"message\": \"Hi\", \"handoff\": null, \"final\": null}", hi.clone(), &[EmptyField]),
        ("{\"message\": \"Hi\", \"mood\": \"glad\"}", hi.clone(), &[UnknownField]),
        ("{\"Message\": \"Hi\"}", hi.clone(), &[Choice]),
        ("{\"message\": \"Hi\", \"final\": \"True\"}", json!({"message": "Hi", "final": true}), &[Type]),
        (
            "{\"message\": \"Hi\", \"handoff\": {\"to\": \"Claude\", \"task\": \"Go on.\"}}",
            json!({"message": "Hi", "handoff": {"to": "claude", "task": "Go on."}}),
            &[Choice],
        ),
        (
            "{\"message\": \"Hi\", \"handoff\": {\"to\": \"gpt\", \"task\": \"A task of more than twenty letters\"}}",
            json!({"message": "Hi", "handoff": {"to": "gpt", "task": "A task of more than"}}),
            &[Cut],
        ),
        ("{\"message\": \"\\u00e9\\ud83d\\ude00\",}", json!({"message": "é😀"}), &[Comma]),
        ("Use {braces} like this: {\"message\": \"Hi\"}", hi.clone(), &[Prose]),
    ];
    for (text, value, repairs) in cases {
        let reading = read(text, &envelope());
        assert_eq!(reading.value.as_ref(), Ok(value), "{text}");
        assert_eq!(reading.repairs, *repairs, "{text}");
    }
}

#[test]
fn what_cannot_be_repaired_says_why() {
    for (text, why) in [
        ("", "there is no JSON object in the reply"),
        ("Once upon a time", "there is no JSON object in the reply"),
        ("{}", "there is no JSON object in the reply"),
        ("{\"text\": \"Hi\"}", "`message` is missing"),
        ("{\"message\": \"  \"}", "`message` must be a text that is not empty"),
        ("{\"message\": 3}", "`message` must be a text that is not empty"),
        (
            "{\"message\": \"Hi\", \"handoff\": {\"to\": \"bob\", \"task\": \"x\"}}",
            "`handoff.to` must be one of gpt, claude",
        ),
        ("{\"message\": \"Hi\", \"handoff\": \"gpt\"}", "`handoff` must be an object"),
        ("{\"message\": \"Hi\", \"handoff\": {\"to\": \"gpt\"}}", "`handoff.task` is missing"),
        ("{\"message\": \"Hi\", \"handoff\": {\"to\": \"gpt\"", "`handoff.task` is missing"),
        ("{\"message\": \"Hi\", \"final\": 7}", "`final` must be true or false"),
    ] {
        assert_eq!(read(text, &envelope()).value.unwrap_err().to_string(), why, "{text}");
    }
}

#[test]
fn a_reply_can_be_read_while_it_arrives() {
    for (partial, seen) in [
        ("", None),
        ("Once upon", Some("Once upon")),
        ("{", None),
        ("{\"mess", None),
        ("{\"message\": \"", Some("")),
        ("{\"message\": \"Once \\\"up\\\"", Some("Once \"up\"")),
        ("{\"message\": \"Once\", \"final\": tr", Some("Once")),
    ] {
        assert_eq!(preview(partial).as_deref(), seen, "{partial}");
    }
}

#[test]
fn the_schema_says_what_the_rule_says() {
    assert_eq!(
        envelope().schema(),
        json!({
            "type": "object",
            "properties": {
                "message": {"type": "string", "minLength": 1},
                "handoff": {
                    "type": "object",
                    "properties": {
                        "to": {"type": "string", "enum": ["gpt", "claude"]},
                        "task": {"type": "string", "minLength": 1, "maxLength": 20},
                    },
                    "required": ["to", "task"],
                    "additionalProperties": false,
                },
                "final": {"type": "boolean"},
            },
            "required": ["message"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn size_and_depth_are_bounded() {
    let deep = format!("{{\"message\": {}", "[".repeat(200_000));
    assert!(read(&deep, &envelope()).value.is_err());
    let objects = "{\"a\":".repeat(100_000);
    assert!(read(&objects, &envelope()).value.is_err());
    let long = format!("{{\"message\": \"{}", "é".repeat(MAX_BYTES));
    assert_eq!(read(&long, &envelope()).repairs, [Repair::TooLong, Repair::Truncated]);
    let quotes = format!("{{'{}", "\",a".repeat(60_000));
    assert!(read(&quotes, &envelope()).value.is_err());
}

/// Pieces that steer random text towards the interesting places.
fn jsonish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just("\"".to_owned()),
        Just("'".to_owned()),
        Just("“".to_owned()),
        Just("\\".to_owned()),
        Just(":".to_owned()),
        Just(",".to_owned()),
        Just("\n".to_owned()),
        Just("```".to_owned()),
        Just("\"message\"".to_owned()),
        Just("final".to_owned()),
        Just("handoff".to_owned()),
        Just("\\ud83d".to_owned()),
        Just("</think>".to_owned()),
        Just("/*".to_owned()),
        Just("//".to_owned()),
        Just("true".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_without_panic_and_what_fits_fits_again(text in jsonish()) {
        if let Ok(value) = read(&text, &envelope()).value {
            let again = read(&value.to_string(), &envelope());
            prop_assert_eq!(again, Reading { value: Ok(value), repairs: vec![] });
        }
    }

    #[test]
    fn any_message_survives_strict_json(message in ".*[a-z].*") {
        let text = json!({"message": &message}).to_string();
        prop_assert_eq!(read(&text, &envelope()).value, Ok(json!({"message": message})));
    }
}

#[test]
fn a_number_is_one_of_those_that_are_allowed() {
    let shape = Shape::Object(vec![Field::required("slot", Shape::Number(vec![2, 3]))]);
    for (said, number, repairs) in [
        ("2", Some(2), vec![]),
        ("\"2\"", Some(2), vec![Repair::Type]),
        ("\"slot-3\"", Some(3), vec![Repair::Type]),
        ("3.0", Some(3), vec![Repair::Type]),
        ("1", None, vec![]),
        ("-2", None, vec![]),
        ("\"-2\"", None, vec![]),
        ("\"2 or 3\"", None, vec![]),
        ("2.5", None, vec![]),
        ("null", None, vec![]),
        ("99999999999999999999", None, vec![]),
    ] {
        let reading = read(&format!("{{\"slot\": {said}}}"), &shape);
        assert_eq!(reading.value.clone().ok().map(|value| value["slot"].clone()), number.map(Value::from), "{said}");
        assert_eq!(reading.repairs, repairs, "{said}");
        let problem = reading.value.err().map(|problem| problem.to_string());
        assert!(problem.is_none_or(|problem| problem == "`slot` must be one of 2, 3"), "{said}");
    }
}
